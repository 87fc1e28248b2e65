package cmd

import (
	"slices"
	"strings"

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

func (r registry) pickEngines(names []string) ([]drivers.Engine, error) {
	if len(names) == 1 && names[0] == "all" {
		return r.engines, nil
	}
	return pick("engine", names, r.engines, func(e drivers.Engine) string { return e.Name })
}

// able are the engines that can do something.
func (r registry) able(can func(e *drivers.Engine) bool) (all []drivers.Engine) {
	for i := range r.engines {
		if can(&r.engines[i]) {
			all = append(all, r.engines[i])
		}
	}
	return all
}

// engineOf returns the engine that --engine names, one of those that can do something.
func (r registry) engineOf(name string, can func(e *drivers.Engine) bool) (e drivers.Engine, err error) {
	able := r.able(can)
	names := slices.DeleteFunc(namesOf(able), func(n string) bool { return n == r.floor.Name })
	switch {
	case name == "":
		return e, usagef("no engine named; add --engine %s", alternatives(names))
	case name == "all":
		return e, usagef("--engine: expected one engine, found all")
	case !slices.Contains(namesOf(able), name) && slices.Contains(r.engineNames(), name):
		return e, usagef("--engine %s: it does not support this; name one of %s", name, strings.Join(names, ", "))
	}
	return pickOne(name, able)
}

// pickOne returns the engine of that name.
func pickOne(name string, all []drivers.Engine) (e drivers.Engine, err error) {
	at := slices.IndexFunc(all, func(e drivers.Engine) bool { return e.Name == name })
	if at < 0 {
		return e, usage(unknown("engine", name, namesOf(all)))
	}
	return all[at], nil
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

// modelNames returns the names of all models and variants.
func (r registry) modelNames() []string {
	var names []string
	for _, m := range r.models {
		names = append(append(names, m.Name), schemas.BundledVariants(m.Name)...)
		for _, v := range r.variants {
			if schemas.BaseOf(v.Name) == m.Name {
				names = append(names, v.Name)
			}
		}
	}
	return names
}

func (r registry) engineNames() []string { return namesOf(r.engines) }

func namesOf(engines []drivers.Engine) (names []string) {
	for _, e := range engines {
		names = append(names, e.Name)
	}
	return names
}
