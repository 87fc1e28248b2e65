package cmd

import (
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/engines"
	"github.com/mailbench/mailbench/drivers/null"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/conversation"
	"github.com/mailbench/mailbench/models/datastax"
	"github.com/mailbench/mailbench/models/elasticinbox"
	"github.com/mailbench/mailbench/models/james"
	"github.com/mailbench/mailbench/models/oracle"
	"github.com/mailbench/mailbench/schemas"
)

// registry is what a command line can choose from.
type registry struct {
	models   []models.Model
	variants []models.Model // variants of models, besides the bundled ones; "all" does not include them
	engines  []drivers.Engine
	floor    drivers.Engine // engine that mailbench's own cost is measured on
}

// bundled is mailbench's own registry, with further models and variants at its end, or in the
// place of the bundled model of the same name. A new model is one line here. A new engine is one
// line in drivers/engines.
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
		floor:   null.Engine(),
	}
	for _, m := range more {
		at := slices.IndexFunc(r.models, func(o models.Model) bool { return o.Name == m.Name })
		switch {
		case at >= 0:
			r.models[at] = m
		case schemas.BaseOf(m.Name) == "":
			r.models = append(r.models, m)
		default:
			r.variants = append(r.variants, m)
		}
	}
	return r
}

// withVariants returns each model, followed by its variants. It reads the schemas of all
// bundled variants, which takes tens of milliseconds.
func (r registry) withVariants() []models.Model {
	var all []models.Model
	for _, m := range r.models {
		bundled, err := m.Variants()
		if err != nil {
			panic(err) // an embedded file has a fault, which tests would find
		}
		all = append(append(all, m), bundled...)
		for _, v := range r.variants {
			if schemas.BaseOf(v.Name) == m.Name {
				all = append(all, v)
			}
		}
	}
	return all
}

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

func (r registry) pickEngines(names []string) ([]drivers.Engine, error) {
	if len(names) == 1 && names[0] == "all" {
		return r.engines, nil
	}
	return pick("engine", names, r.engines, func(e drivers.Engine) string { return e.Name })
}

// pick returns the entries of the names given, in that order.
func pick[T any](what string, names []string, all []T, nameOf func(T) string) ([]T, error) {
	known := make([]string, len(all))
	for i, t := range all {
		known[i] = nameOf(t)
	}
	var picked []T
	for i, name := range names {
		at := slices.Index(known, name)
		switch {
		case name == "all":
			return nil, usagef("%s all must be the only one named", what)
		case at < 0:
			return nil, usage(unknown(what, name, append(known, "all")))
		case slices.Contains(names[:i], name):
			return nil, usagef("%s %s is named twice", what, name)
		}
		picked = append(picked, all[at])
	}
	if len(picked) == 0 {
		return nil, usagef("no %s named", what)
	}
	return picked, nil
}
