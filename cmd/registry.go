package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/engines"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/conversation"
	"github.com/mailbench/mailbench/models/datastax"
	"github.com/mailbench/mailbench/models/elasticinbox"
	"github.com/mailbench/mailbench/models/james"
	"github.com/mailbench/mailbench/models/oracle"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/strict"
)

// nullEngine is the engine that stores nothing.
const nullEngine = "null"

// registry is what a command line can choose from.
type registry struct {
	models   []models.Model
	variants []models.Model // of models; "all" does not include them
	engines  []drivers.Engine
}

// bundled is mailbench's own registry, with more models and variants. A new model is one line here. A new
// engine is one line in drivers/engines.
func bundled(more ...models.Model) registry {
	r := registry{
		models: []models.Model{
			elasticinbox.Model(),
			james.Model(),
			datastax.Model(),
			oracle.Model(),
			conversation.Model(),
		},
		engines: engines.All(),
	}
	var variants []models.Model
	for _, m := range more {
		if schemas.BaseOf(m.Name) == "" {
			r.models = with(r.models, m)
		} else {
			variants = append(variants, m)
		}
	}
	for _, m := range r.models {
		r.variants = append(r.variants, m.Variants()...)
	}
	for _, v := range variants {
		r.variants = with(r.variants, v)
	}
	return r
}

// with returns the models with one more, in place of that of its name.
func with(all []models.Model, m models.Model) []models.Model {
	at := index(all, m.Name)
	if at < 0 {
		return append(slices.Clip(all), m)
	}
	all = slices.Clone(all)
	all[at] = m
	return all
}

// index is the place of the model of that name, or -1.
func index(all []models.Model, name string) int {
	return slices.IndexFunc(all, func(m models.Model) bool { return m.Name == name })
}

// withVariants returns each model, followed by its variants.
func (r registry) withVariants() (all []models.Model) {
	for _, m := range r.models {
		all = append(all, m)
		for _, v := range r.variants {
			if schemas.BaseOf(v.Name) == m.Name {
				all = append(all, v)
			}
		}
	}
	return all
}

func pickEngines(names []string, all []drivers.Engine) ([]drivers.Engine, error) {
	return pick("engine", names, all, func(e drivers.Engine) string { return e.Name })
}

// able are the engines that can do something.
func (r registry) able(can func(e *drivers.Engine) bool) []drivers.Engine {
	return slices.DeleteFunc(slices.Clone(r.engines), func(e drivers.Engine) bool { return !can(&e) })
}

// engineOf returns the engine that --engine names, one of those that can do something.
func (r registry) engineOf(name string, can func(e *drivers.Engine) bool) (e drivers.Engine, err error) {
	able := r.able(can)
	names := slices.DeleteFunc(namesOf(able), func(n string) bool { return n == nullEngine })
	switch {
	case name == "":
		return e, usagef("no engine named; add --engine %s", alternatives(names))
	case !slices.Contains(namesOf(able), name) && slices.Contains(r.engineNames(), name):
		return e, usagef("--engine %s: it does not support this; name one of %s", name, strings.Join(names, ", "))
	}
	return pickOne(name, able)
}

// pickOne returns the engine of that name.
func pickOne(name string, all []drivers.Engine) (e drivers.Engine, err error) {
	at := slices.IndexFunc(all, func(e drivers.Engine) bool { return e.Name == name })
	if at < 0 {
		return e, usage(strict.Unknown("engine", name, namesOf(all)...))
	}
	return all[at], nil
}

// pick returns the entries of the names given, in that order, or all if the only name is all.
func pick[T any](what string, names []string, all []T, nameOf func(T) string) ([]T, error) {
	if len(names) == 1 && names[0] == "all" {
		return all, nil
	}
	known, picked := mapped(all, nameOf), []T(nil)
	for i, name := range names {
		at := slices.Index(known, name)
		switch {
		case name == "all":
			return nil, usagef("%s all must be the only one named", what)
		case at < 0:
			return nil, usage(strict.Unknown(what, name, append(known, "all")...))
		case slices.Contains(names[:i], name):
			return nil, usagef("%s %s is named twice", what, name)
		}
		picked = append(picked, all[at])
	}
	return picked, nil
}

// modelNames returns the names of all models and variants.
func (r registry) modelNames() []string { return mapped(r.withVariants(), nameOf) }

func (r registry) engineNames() []string { return namesOf(r.engines) }

func namesOf(engines []drivers.Engine) []string {
	return mapped(engines, func(e drivers.Engine) string { return e.Name })
}

// mapped has for each of all what of makes of it.
func mapped[T, U any](all []T, of func(T) U) []U {
	made := make([]U, len(all))
	for i, one := range all {
		made[i] = of(one)
	}
	return made
}

// pickModels returns the models of the names given. A name that looks like a file names a schema
// file of a variant. "all" is all models without their variants. It is an error if a schema
// names an engine that does not exist.
func (r registry) pickModels(names []string) ([]models.Model, error) {
	names = slices.Clone(names)
	for i, name := range names {
		if !isFile(name) {
			continue
		}
		v, err := r.variantOf(func() (*schemas.Schema, error) { return r.schemaFile(name) })
		if err != nil {
			return nil, err
		}
		r.variants, names[i] = with(r.variants, v), v.Name
	}
	known := r.withVariants()
	if slices.Equal(names, []string{"all"}) {
		known = r.models
	}
	picked, err := pick("model", names, known, nameOf)
	if err != nil {
		return nil, err
	}
	for _, m := range picked {
		s, err := schemaOf(m)
		if err != nil {
			return nil, err
		}
		if err := s.CheckEngines(r.engineNames()); err != nil {
			return nil, fmt.Errorf("schema of model %s: %w", m.Name, err)
		}
	}
	return picked, nil
}

func schemaOf(m models.Model) (*schemas.Schema, error) {
	s, err := m.Schema()
	if err != nil {
		return nil, fmt.Errorf("schema of model %s: %w", m.Name, err)
	}
	return s, nil
}

func nameOf(m models.Model) string { return m.Name }

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
		return nil, usage(strict.Unknown("model", name, append(r.modelNames(), "or a file NAME.yaml")...))
	}
	models, err := r.pickModels([]string{name})
	if err != nil {
		return nil, err
	}
	return schemaOf(models[0])
}

// isFile reports whether a name on the command line looks like a file's.
func isFile(name string) bool { return strings.ContainsAny(name, `./\`) }

// schemaFile reads a schema file. A variant is read with its base: a model's schema, or a file
// whose name is relative to the variant's folder.
func (r registry) schemaFile(file string) (*schemas.Schema, error) {
	if strings.EqualFold(filepath.Ext(file), ".cql") {
		return nil, usagef("%s is CQL; \"mailbench schema lint --cql %s\" checks it, \"schema import\" creates a schema of it", file, file)
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
	return s, usage(s.CheckEngines(r.engineNames()))
}

// readSchema reads a schema file. Find returns the base of a variant.
func readSchema(file string, find func(name string) (*schemas.Schema, error)) (*schemas.Schema, error) {
	hint := fmt.Sprintf("\"mailbench schema import --cql FILE -o %s\" creates one", file)
	if strings.Contains(file, "@") {
		hint = "a variant is a schema file that begins with \"extends: MODEL\""
	}
	src, err := readText("schema", file, hint)
	if err != nil {
		return nil, err
	}
	s, err := schemas.ParseWith(file, src, find)
	return s, usage(err)
}

// variantOf returns the model on a schema that is a variant of its own.
func (r registry) variantOf(read func() (*schemas.Schema, error)) (models.Model, error) {
	s, err := read()
	if err != nil {
		return models.Model{}, err
	}
	at := index(r.models, schemas.BaseOf(s.Name))
	if at < 0 {
		return models.Model{}, usagef("%s is the schema %s, which no model runs; expected a variant (\"extends: "+
			"MODEL\"); \"mailbench models new\" begins a model", s.File, s.Name)
	}
	return r.models[at].Variant(read)
}
