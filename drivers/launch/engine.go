package launch

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/mailbench/mailbench/drivers/private"
)

// engine is what launch must know about an engine.
type engine interface {
	facts() Facts
	// nodes returns an instance's processes in the order in which they start.
	nodes(port, count int) []Node
	// contact picks the nodes' addresses that clients connect to.
	contact(nodes []Node) []string
	// command writes a node's configuration and returns how it is started.
	command(in *Instance, n *Node) (command, error)
	// probe checks once whether the nodes of an instance serve. All of them must be
	// running.
	probe(ctx context.Context, in *Instance, nodes []*Node) error
}

// Facts are constants of an engine.
type Facts struct {
	Name     string
	Port     int    // usual first port
	Unit     string // unit of Config.Nodes: "node"
	Nodes    string // describes Config.Nodes in a help text
	MinNodes int    // least Config.Nodes; 0 is one process
	MaxNodes int

	version  string // the version that its pom fetches
	sums     string // the list of its jars
	download string // the approximate size of its jars
	protocol string // protocol of the addresses of Contact
	shell    string // the engine's own client, which takes a host and a port
	heap     int64  // usual heap of a process
	// overhead is the memory of a process outside its heap, in bytes.
	overhead int64
	// patience is how long a process may take to end by itself.
	patience time.Duration
	// oneByOne means that a node starts only when those before it serve.
	oneByOne bool
}

// command is a java command line without java itself and the class path.
type command struct {
	flags []string
	main  string
	args  []string
}

var engines = []engine{cassandra{}, hbase{}}

// Engines returns the engines that can be started.
func Engines() []Facts {
	all := make([]Facts, len(engines))
	for i, e := range engines {
		all[i] = e.facts()
	}
	return all
}

func find(name string) (engine, error) {
	var known []string
	for _, e := range engines {
		if e.facts().Name == name {
			return e, nil
		}
		known = append(known, e.facts().Name)
	}
	return nil, usagef("no engine %q to start; expected one of %s", name, strings.Join(known, ", "))
}

//go:embed config
var configFiles embed.FS

var templates = template.Must(template.ParseFS(configFiles, "config/*"))

// writeConfig renders an embedded template to a file of the folder.
func writeConfig(dir, name, tmpl string, data any) (string, error) {
	path := filepath.Join(dir, name)
	f, err := private.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC) // it may hold a key
	if err != nil {
		return "", err
	}
	if err := templates.ExecuteTemplate(f, tmpl, data); err != nil {
		f.Close()
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return path, f.Close()
}

// flagsOf returns the flags of java that all processes of an engine have, from config/NAME.flags.
func flagsOf(engine string) (flags []string) {
	for line := range strings.Lines(configFile(engine + ".flags")) {
		if !strings.HasPrefix(line, "#") {
			flags = append(flags, strings.Fields(line)...)
		}
	}
	return flags
}

// configFile returns an embedded file.
func configFile(name string) string {
	text, err := configFiles.ReadFile("config/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}
