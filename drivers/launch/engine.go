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
)

// engine is what launch has to know of one engine.
type engine interface {
	facts() Facts
	// nodes lays out an instance's processes, in the order in which they are
	// started.
	nodes(port, count int) []Node
	// contact picks the nodes' addresses that clients connect to.
	contact(nodes []Node) []string
	// command writes a node's configuration and returns how it is started.
	command(in *Instance, n *Node) (command, error)
	// probe tries once whether these nodes, all of them running, serve.
	probe(ctx context.Context, nodes []Node) error
}

// Facts are constants of an engine.
type Facts struct {
	Name     string
	Port     int    // usual first port
	Unit     string // what Config.Nodes counts
	Nodes    string // says it with its engine, for a help text
	MinNodes int    // of Config.Nodes; 0 is one process
	MaxNodes int

	version  string // of what its pom fetches
	download string // how much that is, about
	protocol string // what Contact speaks
	shell    string // the engine's own client, which takes a host and a port
	heap     int64  // usual heap of a process
	// overhead is what a process takes beside its heap, in bytes.
	overhead int64
	// patience is how long a process may take to end by itself.
	patience time.Duration
	// oneByOne: a node is started when those before it serve.
	oneByOne bool
}

// command is a java command line, less the java and the class path.
type command struct {
	flags []string
	main  string
	args  []string
}

var engines = []engine{cassandra{}, hbase{}}

// Engines are the engines that can be started.
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
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	if err := templates.ExecuteTemplate(f, tmpl, data); err != nil {
		f.Close()
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return path, f.Close()
}

// opens and exports are flags of java's module system: packages that the
// unnamed module, which holds the engine, may reach into.
func opens(packages ...string) []string   { return forAll("--add-opens", packages) }
func exports(packages ...string) []string { return forAll("--add-exports", packages) }

func forAll(flag string, packages []string) []string {
	var flags []string
	for _, p := range packages {
		flags = append(flags, flag, p+"=ALL-UNNAMED")
	}
	return flags
}
