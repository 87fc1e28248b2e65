package schemas

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

//go:embed *.yaml
var bundled embed.FS

// BundledNames returns the names of the schemas that mailbench brings along,
// in alphabetical order, without their variants.
func BundledNames() []string {
	return slices.DeleteFunc(bundledFiles(), func(name string) bool { return BaseOf(name) != "" })
}

// BundledVariants returns the names of the variants of a schema that mailbench
// brings along, in alphabetical order.
func BundledVariants(base string) []string {
	return slices.DeleteFunc(bundledFiles(), func(name string) bool { return BaseOf(name) != base })
}

// bundledFiles returns the names of the embedded files, without ".yaml".
func bundledFiles() []string {
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

// Withdrawn are variants of earlier versions of mailbench, with the reason and the remedy.
var Withdrawn = map[string]string{
	"james@one-family": "it was withdrawn on 2026-11-27, and its data on HBase cannot be read; its values are in " +
		"docs/internals/decisions/0009-one-family.md; load the messages again as james",
}

// Bundled returns the schema of that name that mailbench brings along. The
// file is named for its schema.
func Bundled(name string) (*Schema, error) {
	file := name + ".yaml"
	src, err := bundled.ReadFile(file)
	if why := Withdrawn[name]; why != "" {
		return nil, fmt.Errorf("schema %s: %s", name, why)
	}
	if err != nil {
		known := bundledFiles()
		if base := BaseOf(name); slices.Contains(known, base) {
			known = BundledVariants(base)
		}
		return nil, strict.Unknown("schema", name, known...)
	}
	return Parse(path.Join("schemas", file), src)
}

// engineName is an engine that a schema file names, in native or in hints.
type engineName struct {
	name, where string
	at          *yaml.Node
}

// CheckEngines reports engines that the file names and that are not known. Parse does not
// know which engines there are. The error is of type [Errors].
func (s *Schema) CheckEngines(known []string) error {
	faults := strict.Decoder{File: s.File}
	for _, e := range s.engines {
		if !slices.Contains(known, e.name) {
			faults.Unknown(e.at, "engine", e.name, e.where, known)
		}
	}
	return faults.Errs.Sorted()
}

// Errors of a schema file, each with its place in the file.
type (
	Pos    = strict.Pos
	Error  = strict.Error
	Errors = strict.Errors
)
