package cmd

import (
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/hbase"
	"github.com/mailbench/mailbench/drivers/null"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/conversation"
	"github.com/mailbench/mailbench/models/datastax"
	"github.com/mailbench/mailbench/models/elasticinbox"
	"github.com/mailbench/mailbench/models/james"
	"github.com/mailbench/mailbench/models/oracle"
)

// registry is what a command line can choose from.
type registry struct {
	models  []models.Model
	engines []drivers.Engine
	floor   drivers.Engine // the harness floor is measured on it
}

// bundled is mailbench's own registry, with further models at its end. A new model
// or engine is one line here.
func bundled(more ...models.Model) registry {
	return registry{
		models: append([]models.Model{
			elasticinbox.Model(),
			james.Model(),
			datastax.Model(),
			oracle.Model(),
			conversation.Model(),
		}, more...),
		engines: []drivers.Engine{
			pebble.Engine(),
			cassandra.Engine(),
			hbase.Engine(),
			null.Engine(),
		},
		floor: null.Engine(),
	}
}

func (r registry) pickModels(names []string) ([]models.Model, error) {
	return pick("model", names, r.models, func(m models.Model) string { return m.Name })
}

func (r registry) pickEngines(names []string) ([]drivers.Engine, error) {
	return pick("engine", names, r.engines, func(e drivers.Engine) string { return e.Name })
}

// pick returns the entries of the names given, in that order; "all" is all of them.
func pick[T any](what string, names []string, all []T, nameOf func(T) string) ([]T, error) {
	if len(names) == 1 && names[0] == "all" {
		return all, nil
	}
	known := make([]string, len(all))
	for i, t := range all {
		known[i] = nameOf(t)
	}
	var picked []T
	for i, name := range names {
		at := slices.Index(known, name)
		switch {
		case name == "all":
			return nil, usagef("%s all stands by itself, without others", what)
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
