package launch

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/mailbench/mailbench/drivers/private"
)

// Engine is an engine that can be started: its constants, and what differs between engines.
type Engine struct {
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
	// anyNode means that clients connect to all nodes; else they connect to the first.
	anyNode bool

	// layOut returns an instance's processes in the order in which they start.
	layOut func(port, count int) []Node
	// command writes a node's configuration and returns how it is started.
	command func(in *Instance, n *Node) (command, error)
	// probe checks once whether the nodes of an instance serve. All of them must be
	// running.
	probe func(ctx context.Context, in *Instance, nodes []*Node) error
}

// command is a java command line without java itself, the class path and the flags of all
// processes of the engine, which config/NAME.flags has.
type command struct {
	flags []string
	main  string
	args  []string
}

var engines = []Engine{cassandra, hbase}

// Engines returns the engines that can be started.
func Engines() []Engine { return slices.Clone(engines) }

func find(name string) (*Engine, error) {
	var known []string
	for i := range engines {
		if engines[i].Name == name {
			return &engines[i], nil
		}
		known = append(known, engines[i].Name)
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

// configFile returns an embedded file.
func configFile(name string) string {
	text, err := configFiles.ReadFile("config/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}
