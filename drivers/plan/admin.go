package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Admin creates, inspects, compares and drops the tables of schemas, in the same way on every engine. A store of an
// engine on the network embeds it. The tables of a schema are in a place: a keyspace of Cassandra, a namespace of
// Oracle, or the HBase tables whose names begin alike.
type Admin struct {
	Entry     *Gate
	Kind      string // of the places that Owners returns: "keyspace"
	Namespace string // drivers.Options
	Keyspace  string // drivers.Options: the place of every schema; "" if not given
	// LayoutSettings decide under which keys rows are stored, so a store that only reads needs them to be equal.
	LayoutSettings []string
	Parallel       int // the number of places that are dropped in parallel; 0 is 1

	// Find reads the place of a schema's tables, which need not be mailbench's. To inspect, the schema has no tables.
	Find func(ctx context.Context, s *schemas.Schema) (Place, error)
	// Owners returns the owner of each place that has mailbench's prefix.
	Owners func(ctx context.Context) (Owners, error)
	// Remove drops a place. Left says what that leaves on the engine's disks; nil: nothing.
	Remove func(ctx context.Context, place string, o *Owner) error
	Left   func() string
}

// Place is the place of a schema's tables. It embeds Found.
type Place interface {
	State() *Found
	// Create returns the statements that create what is missing, and what runs them. It returns an error if
	// Apply does not create that.
	Create(missing []schemas.Difference) (statements []string, run func(context.Context) error, err error)
	// Compare compares the tables with the schema.
	Compare(ctx context.Context) (*drivers.Comparison, error)
	// Use has sessions run the schema's patterns on the tables.
	Use()
	// NotThere is the error for a place that does not exist.
	NotThere(ctx context.Context) error
}

// Found says which tables a place has.
type Found struct {
	Name       string          // "keyspace mailbench_james"
	Want, Have *schemas.Schema // as Stored and Inspect return them
	Absent     bool            // there is no such place, and Have is empty
	// Foreign is an error if mailbench did not create all of the tables, for this schema and namespace.
	Foreign error
}

// State implements Place.
func (f *Found) State() *Found { return f }

// NamespaceOf returns the namespace that the marks of a schema's tables name: that of Keyspace, if it is one of
// mailbench's (mailbench_NAMESPACE_SCHEMA), else Namespace. schema is as the engine has it in names.
func (a *Admin) NamespaceOf(schema string) string {
	if own, ok := strings.CutPrefix(a.Keyspace, drivers.Prefix); ok {
		if before, ok := strings.CutSuffix(own, "_"+schema); ok {
			return before
		}
	}
	return a.Namespace
}

// Apply implements drivers.Store. Several clients may apply one schema at the same time: whatever creates something
// passes if it is there, and at the end each client compares the tables.
func (a *Admin) Apply(ctx context.Context, s *schemas.Schema) error {
	return a.Entry.During("apply schema "+s.Name, func() error {
		p, err := a.Find(ctx, s)
		if err != nil {
			return err
		}
		switch f := p.State(); {
		case !a.Entry.ReadOnly:
			p, err = a.create(ctx, s, p)
		case f.Absent:
			err = p.NotThere(ctx)
		default:
			if err = drivers.Readable(f.Want, f.Have, a.LayoutSettings); err != nil {
				err = fmt.Errorf("%s: %w", f.Name, err)
			}
		}
		if err == nil {
			p.Use()
		}
		return err
	})
}

// create creates what is missing, and returns the place as it is afterwards.
func (a *Admin) create(ctx context.Context, s *schemas.Schema, p Place) (Place, error) {
	statements, run, err := missing(p)
	if err != nil || len(statements) == 0 {
		return p, err
	}
	if err := run(ctx); err != nil {
		return nil, err
	}
	if p, err = a.Find(ctx, s); err != nil {
		return nil, err
	}
	if statements, _, err = missing(p); err == nil && len(statements) > 0 {
		line, _, _ := strings.Cut(statements[0], "\n")
		err = fmt.Errorf("somebody else dropped it while it was being created; missing: %s", line)
	}
	return p, err
}

// missing returns the statements that create what a place lacks. It returns an error if the place differs in any
// other way.
func missing(p Place) (statements []string, run func(context.Context) error, err error) {
	f := p.State()
	if err = f.Foreign; err == nil {
		var changes []schemas.Difference
		if changes, err = drivers.Missing(f.Want, f.Have); err == nil {
			statements, run, err = p.Create(changes)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return statements, run, nil
}

// Inspect implements drivers.Store.
func (a *Admin) Inspect(ctx context.Context, name string) (*schemas.Schema, error) {
	return Call(a.Entry, "inspect schema "+name, func() (*schemas.Schema, error) {
		p, err := a.Find(ctx, &schemas.Schema{Name: name})
		if err != nil {
			return nil, err
		}
		f := p.State()
		if len(f.Have.Tables) == 0 {
			return nil, fmt.Errorf("there is no %s with tables", f.Name)
		}
		if a.Keyspace == "" && f.Foreign != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, f.Foreign)
		}
		return f.Have, nil
	})
}

// Compare implements drivers.Store.
func (a *Admin) Compare(ctx context.Context, s *schemas.Schema) (c *drivers.Comparison, err error) {
	err = a.Entry.During("compare schema "+s.Name, func() error {
		p, err := a.Find(ctx, s)
		if err == nil {
			c, err = p.Compare(ctx)
		}
		return err
	})
	return c, err
}

// Namespaces implements drivers.Admin.
func (a *Admin) Namespaces(ctx context.Context) ([]drivers.Namespace, error) {
	return Call(a.Entry, "list namespaces", func() ([]drivers.Namespace, error) {
		all, err := a.Owners(ctx)
		return all.Namespaces(), err
	})
}

// Drop implements drivers.Admin. It drops the places of the namespace. A killed run may have left one without tables.
// A place with the namespace in its name that has tables of somebody else is an error, and left alone.
func (a *Admin) Drop(ctx context.Context) (left string, err error) {
	return Call(a.Entry, "drop", func() (left string, err error) {
		if a.Entry.ReadOnly {
			return "", drivers.ErrReadOnly
		}
		all, err := a.Owners(ctx)
		if err != nil {
			return "", err
		}
		places := slices.Sorted(maps.Keys(all))
		InOrder(len(places), max(1, a.Parallel), func(i int) error {
			o, named := all[places[i]], a.Namespace != "" && strings.HasPrefix(places[i], drivers.Prefix+a.Namespace+"_")
			switch {
			case o.Tables > 0 && o.Foreign == "" && o.Name == a.Namespace, o.Tables == 0 && named:
				return a.Remove(ctx, places[i], o)
			case o.Foreign != "" && named:
				return fmt.Errorf("table %s: %w, so the %s is left alone", o.Foreign, drivers.ErrForeign, a.Kind)
			}
			return nil
		}, func(i int, failed error) bool {
			if failed != nil {
				err = errors.Join(err, fmt.Errorf("drop %s %s: %w", a.Kind, places[i], failed))
			}
			return true
		})
		if a.Left != nil {
			left = a.Left()
		}
		return left, err
	})
}

// PlaceName returns how the names of a schema's tables, or of their place, begin: mailbench_NAMESPACE_SCHEMA, or
// mailbench_SCHEMA without a namespace.
func PlaceName(namespace, schema string) string {
	if namespace != "" {
		namespace += "_"
	}
	return drivers.Prefix + namespace + schema
}

// Identifier turns a name of the language into letters, digits and underscores: "users.folder" becomes users_folder,
// "james@one-lwt" james_one_lwt.
func Identifier(name string) string {
	return strings.NewReplacer(".", "_", "-", "_", "@", "_").Replace(name)
}

// Stored returns a schema as an engine stores it that has no hints, and those indexes that it keeps.
func Stored(s *schemas.Schema, keeps func(*schemas.Index) bool) *schemas.Schema {
	own := schemas.Canonical(s)
	for _, t := range own.Tables {
		t.Hints = nil
		t.Indexes = slices.DeleteFunc(t.Indexes, func(x *schemas.Index) bool { return !keeps(x) })
	}
	return own
}

// Mark is what the mark of every table says.
type Mark struct {
	Namespace string `json:"namespace,omitempty"`
	Schema    string `json:"schema"`
	Table     string `json:"table"` // its name in the schema
}

// IsIn reports whether the mark is that of a table in the place. If not, somebody has copied the table to it.
func (m Mark) IsIn(place string) bool {
	return strings.EqualFold(place, PlaceName(m.Namespace, Identifier(m.Schema))) // Oracle's names have no case
}

// Own notes the mark of a table, which is to be that of a namespace and a schema.
func (f *Found) Own(table string, has Mark, marked bool, namespace, schema string) {
	switch {
	case f.Foreign != nil:
	case !marked:
		f.Foreign = fmt.Errorf("table %s: %w", table, drivers.ErrForeign)
	case has.Schema != schema || has.Namespace != namespace:
		f.Foreign = fmt.Errorf("table %s is that of schema %s in the namespace %q", table, has.Schema, has.Namespace)
	}
}

// markPrefix begins the comment of each table that mailbench created. A keyspace or namespace is
// mailbench's if all of its tables have it.
const markPrefix = "mailbench "

// MarkText returns the comment that marks a table as mailbench's. It holds what the engine cannot say of a table; all
// else is read from the engine.
func MarkText(mark any) string {
	var b strings.Builder
	b.WriteString(markPrefix)
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // keeps map<text,bigint> readable
	if err := e.Encode(mark); err != nil {
		panic(err) // strings, numbers and maps of them can always be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// ReadMark reads a table's comment into mark, which has the fields of Mark and those of its engine. It returns false if
// mailbench did not write the comment, or somebody has changed it so that it makes no sense.
func ReadMark(comment string, mark any) bool {
	var m Mark
	text, ok := strings.CutPrefix(comment, markPrefix)
	ok = ok && json.Unmarshal([]byte(text), &m) == nil && m.Schema != "" && m.Table != ""
	return ok && json.Unmarshal([]byte(text), mark) == nil
}

// Owner says which run made a place, by the marks of its tables: its namespace, as far as it is in this place.
type Owner struct {
	drivers.Namespace
	Foreign string // a table without a mark, or of another run; "" if there is none
}

// Add adds a table with the namespace that its mark has.
func (o *Owner) Add(table, namespace string, marked bool) {
	switch {
	case !marked || o.Tables > 0 && o.Foreign == "" && namespace != o.Name:
		o.Foreign = table
	case o.Foreign == "":
		o.Name = namespace
	}
	o.Tables++
}

// Owners are the owners of places by their names, which all begin with drivers.Prefix.
type Owners map[string]*Owner

// Of returns the owner of a place, which it adds if it is new.
func (all Owners) Of(place string) *Owner {
	if all[place] == nil {
		all[place] = new(Owner)
	}
	return all[place]
}

// Namespaces returns those of all runs.
func (all Owners) Namespaces() []drivers.Namespace {
	runs := make(map[string]drivers.Namespace)
	for _, o := range all {
		if o.Tables == 0 || o.Foreign != "" || o.Name == "" {
			continue
		}
		n, seen := runs[o.Name]
		if n.Name = o.Name; !seen || o.Since.Before(n.Since) {
			n.Since = o.Since
		}
		n.Tables += o.Tables
		switch {
		case !seen:
			n.Bytes = o.Bytes
		case n.Bytes == nil || o.Bytes == nil: // not reported of one is not reported of all
			n.Bytes = nil
		default:
			sum := *n.Bytes + *o.Bytes
			n.Bytes = &sum
		}
		runs[o.Name] = n
	}
	return slices.Collect(maps.Values(runs))
}
