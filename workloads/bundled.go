package workloads

import (
	"embed"
	"path"
	"strings"

	"github.com/mailbench/mailbench/schemas/strict"
)

//go:embed *.yaml
var bundled embed.FS

// BundledNames returns the names of the workloads embedded in mailbench, in alphabetical order.
func BundledNames() []string {
	entries, err := bundled.ReadDir(".")
	if err != nil {
		panic(err) // the embedded root is always there
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	return names
}

// Bundled returns the embedded workload of that name, with overrides as for [Parse].
func Bundled(name string, overrides ...string) (*Workload, error) {
	file := name + ".yaml"
	src, err := bundled.ReadFile(file)
	if err != nil {
		return nil, strict.Unknown("workload", name, append(BundledNames(), "or a file NAME.yaml")...)
	}
	return Parse(path.Join("workloads", file), src, overrides...)
}
