package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
)

// Owner says which run made a place of tables, a keyspace or a namespace of the engine, by the marks of its tables.
type Owner struct {
	Namespace string // of the run
	Tables    int
	Foreign   string // a table without a mark, or of another run; "" if there is none
}

// Add adds a table with the namespace that its mark has.
func (o *Owner) Add(table, namespace string, marked bool) {
	switch {
	case !marked || o.Tables > 0 && o.Foreign == "" && namespace != o.Namespace:
		o.Foreign = table
	case o.Foreign == "":
		o.Namespace = namespace
	}
	o.Tables++
}

// Owners are places of tables by their names, which all begin with drivers.Prefix.
type Owners map[string]*Owner

// Of returns the owner of a place, which it adds if it is new.
func (all Owners) Of(place string) *Owner {
	if all[place] == nil {
		all[place] = new(Owner)
	}
	return all[place]
}

// Namespaces returns those of all runs, sorted.
func (all Owners) Namespaces() []string {
	names := make(map[string]bool)
	for _, o := range all {
		if o.Tables > 0 && o.Foreign == "" && o.Namespace != "" {
			names[o.Namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Drop drops the places of a namespace. A killed run may have left one without tables. A place with the namespace in
// its name that has tables of somebody else is an error, and left alone. what is the engine's word for a place.
func Drop(
	g *Gate, what, namespace string, owners func() (Owners, error), drop func(place string, o *Owner) error,
) error {
	return g.During("drop", func() error {
		if g.ReadOnly {
			return drivers.ErrReadOnly
		}
		all, err := owners()
		errs := []error{err}
		for _, place := range slices.Sorted(maps.Keys(all)) {
			o, err := all[place], error(nil)
			named := namespace != "" && strings.HasPrefix(place, drivers.Prefix+namespace+"_")
			switch {
			case o.Tables > 0 && o.Foreign == "" && o.Namespace == namespace, o.Tables == 0 && named:
				err = drop(place, o)
			case o.Foreign != "" && named:
				err = fmt.Errorf("table %s: %w, so the %s is left alone", o.Foreign, drivers.ErrForeign, what)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("drop %s %s: %w", what, place, err))
			}
		}
		return errors.Join(errs...)
	})
}
