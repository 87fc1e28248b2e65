package main

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

// allModels is the list of models.
func allModels() []models.Model {
	return []models.Model{
		elasticinbox.Model(), james.Model(), datastax.Model(), oracle.Model(), conversation.Model(),
	}
}

// allEngines is the list of engines.
func allEngines() []drivers.Engine {
	return []drivers.Engine{pebble.Engine(), cassandra.Engine(), hbase.Engine(), null.Engine()}
}

func pickModels(names []string) ([]models.Model, error) {
	return pick("model", names, allModels(), func(m models.Model) string { return m.Name })
}

func pickEngines(names []string) ([]drivers.Engine, error) {
	return pick("engine", names, allEngines(), func(e drivers.Engine) string { return e.Name })
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
