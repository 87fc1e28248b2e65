package cmd

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/plainfile"
)

// mostText is how many bytes a workload or schema file may have.
const mostText = 32 << 20

// isFile reports whether a name on the command line looks like a file's.
func isFile(name string) bool { return strings.ContainsAny(name, `./\`) }

// schemaFile reads a schema file. A variant is read with its base: a model's schema, or a file
// whose name is relative to the variant's folder.
func (r registry) schemaFile(file string) (*schemas.Schema, error) {
	s, err := readSchema(file, func(base string) (*schemas.Schema, error) {
		if !isFile(base) {
			return r.schema(base)
		}
		return readSchema(filepath.Join(filepath.Dir(file), base), func(string) (*schemas.Schema, error) {
			return nil, fmt.Errorf("%s is a variant itself; expected a schema that is not a variant", base)
		})
	})
	if err != nil {
		return nil, err
	}
	if err := s.CheckEngines(r.engineNames()); err != nil {
		return nil, usage(err)
	}
	return s, nil
}

// readSchema reads a schema file. Find returns the base of a variant.
func readSchema(file string, find func(name string) (*schemas.Schema, error)) (*schemas.Schema, error) {
	src, err := plainfile.Read(file, mostText)
	if err != nil {
		return nil, missing(fmt.Errorf("read schema: %w", err))
	}
	s, err := schemas.ParseWith(file, src, find)
	if err != nil {
		return nil, usage(err)
	}
	return s, nil
}

// variant returns the variant of a model that a schema file describes.
func (r registry) variant(file string) (models.Model, error) {
	s, err := r.schemaFile(file)
	if err != nil {
		return models.Model{}, err
	}
	base := schemas.BaseOf(s.Name)
	at := slices.IndexFunc(r.models, func(m models.Model) bool { return m.Name == base })
	if at < 0 {
		return models.Model{}, usagef("%s is the schema %s, which no model runs; expected a variant (\"variant of: "+
			"MODEL\"); \"mailbench models new\" begins a model", file, s.Name)
	}
	return r.models[at].Variant(func() (*schemas.Schema, error) { return r.schemaFile(file) })
}
