package schemas

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"github.com/mailbench/mailbench/schemas/strict"
)

//go:embed *.yaml
var bundled embed.FS

// BundledNames returns the names of the schemas that mailbench brings along,
// in alphabetical order.
func BundledNames() []string {
	entries, err := bundled.ReadDir(".")
	if err != nil {
		panic(err) // the embedded root is always there
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".yaml"); ok {
			names = append(names, name)
		}
	}
	return names
}

// Bundled returns the schema of that name that mailbench brings along. The
// file is named for its schema.
func Bundled(name string) (*Schema, error) {
	file := name + ".yaml"
	src, err := bundled.ReadFile(file)
	if err != nil {
		known := BundledNames()
		if near := strict.Nearest(name, known); near != "" {
			return nil, fmt.Errorf("unknown schema %q; did you mean %q?", name, near)
		}
		return nil, fmt.Errorf("unknown schema %q; expected one of %s", name, strings.Join(known, ", "))
	}
	return Parse(path.Join("schemas", file), src)
}
