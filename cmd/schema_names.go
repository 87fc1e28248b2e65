package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/plainfile"
)

// pickModels returns the models of the names given. A name that looks like a file names a schema
// file of a variant. "all" is all models without their variants. It is an error if a schema
// names an engine that does not exist.
func (r registry) pickModels(names []string) ([]models.Model, error) {
	picked, err := r.pickNamed(names)
	if err != nil {
		return nil, err
	}
	for _, m := range picked {
		s, err := m.Schema()
		if err == nil {
			err = s.CheckEngines(r.engineNames())
		}
		if err != nil {
			return nil, fmt.Errorf("schema of model %s: %w", m.Name, err)
		}
	}
	return picked, nil
}

func (r registry) pickNamed(names []string) ([]models.Model, error) {
	if len(names) == 1 && names[0] == "all" {
		return r.models, nil
	}
	known, names := r.models, slices.Clone(names)
	if slices.ContainsFunc(names, func(name string) bool { return !r.isModel(name) }) {
		known = r.withVariants()
	}
	for i, name := range names {
		if !isFile(name) {
			continue
		}
		v, err := r.variant(name)
		if err != nil {
			return nil, err
		}
		names[i] = v.Name
		known = append(slices.DeleteFunc(known, func(m models.Model) bool { return m.Name == v.Name }), v)
	}
	return pick("model", names, known, func(m models.Model) string { return m.Name })
}

// isModel reports whether a model that is not a variant has the name.
func (r registry) isModel(name string) bool {
	return slices.ContainsFunc(r.models, func(m models.Model) bool { return m.Name == name })
}

// schemas reads the schemas of the names given: models, or files if a name looks like a file.
// Without names, or with "all", it reads the schemas of all models, but not of their variants.
func (r registry) schemas(names []string) ([]*schemas.Schema, error) {
	if len(names) == 0 {
		names = []string{"all"}
	}
	if len(names) == 1 && names[0] == "all" {
		names = nil
		for _, m := range r.models {
			names = append(names, m.Name)
		}
	}
	var read []*schemas.Schema
	for _, name := range names {
		s, err := r.schema(name)
		if err != nil {
			return nil, err
		}
		read = append(read, s)
	}
	return read, nil
}

// schema reads the schema of a model, or a schema file if the name looks like one.
func (r registry) schema(name string) (*schemas.Schema, error) {
	if isFile(name) {
		return r.schemaFile(name)
	}
	if name == "all" {
		return nil, usagef("expected one model or schema file, found %q", name)
	}
	if !slices.Contains(r.modelNames(), name) {
		if _, err := os.Stat(name); err == nil {
			return nil, usagef("unknown model %q; the file of that name is ./%s", name, name)
		}
		return nil, usage(unknown("model", name, append(r.modelNames(), "or a file NAME.yaml")))
	}
	models, err := r.pickModels([]string{name})
	if err != nil {
		return nil, err
	}
	s, err := models[0].Schema()
	if err != nil {
		return nil, fmt.Errorf("schema of model %s: %w", name, err)
	}
	return s, nil
}

// isFile reports whether a name on the command line looks like a file's.
func isFile(name string) bool { return strings.ContainsAny(name, `./\`) }

// schemaFile reads a schema file. A variant is read with its base: a model's schema, or a file
// whose name is relative to the variant's folder.
func (r registry) schemaFile(file string) (*schemas.Schema, error) {
	if strings.EqualFold(filepath.Ext(file), ".cql") {
		return nil, usagef("%s is CQL; \"mailbench schema import --cql %s -o NAME.yaml\" makes a schema of it", file, file)
	}
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
