package pebble

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// The catalog is space 0. "schema/NAME" holds a schema's first key space (two
// bytes), the first after it (two bytes), and its tables in the schema language;
// "opened" how often the store was opened (eight bytes).
const (
	schemaKey = "\x00\x00schema/"
	openedKey = "\x00\x00opened"
)

// elementBits is the number of low bits of a list element's number; they count appends since
// the store was opened. The high bits count how often it was opened. So numbers ascend without
// a stored counter of appends.
const elementBits = 40

func (s *Store) putSynced(key, value []byte) error {
	err := s.db.Set(key, value, pebble.Sync)
	if fault := s.fs.fault(); fault != nil {
		return fault
	}
	return err
}

// during calls do with the database open, and one of the locks of mu.
func (s *Store) during(l sync.Locker, what string, do func() error) error {
	l.Lock()
	defer l.Unlock()
	err := drivers.ErrClosed
	if s.db != nil {
		err = do()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Apply implements drivers.Store.
func (s *Store) Apply(ctx context.Context, sch *schemas.Schema) error {
	return s.during(&s.mu, "apply schema "+sch.Name, func() error { return s.apply(ctx, sch) })
}

// apply lays out the tables in the order of the catalog, so a schema file may have
// another order.
func (s *Store) apply(ctx context.Context, sch *schemas.Schema) error {
	if err := drivers.Portable(sch); err != nil {
		return err
	}
	entry, err := s.entry(sch.Name)
	if err != nil {
		return err
	}
	switch {
	case entry == nil && s.gate.ReadOnly:
		e := &drivers.AbsentError{What: "schema", Name: sch.Name, Where: "in data directory " + s.dir}
		return cmp.Or(Each(ctx, s.db, schemaKey, func(key, _ []byte) error {
			e.There = append(e.There, string(key[len(schemaKey):]))
			return nil
		}), error(e))
	case entry == nil:
		if entry, err = s.allot(ctx, stored(sch)); err != nil {
			return err
		}
	}
	if s.gate.ReadOnly {
		err = drivers.Readable(stored(sch), stored(entry.schema), nil)
	} else {
		err = drivers.Conflict(schemas.Diff(stored(sch), stored(entry.schema)))
	}
	if err == nil {
		err = s.layOut(sch, entry)
	}
	if err != nil || s.gate.ReadOnly {
		return err
	}
	return s.putSynced([]byte(schemaKey+sch.Name), entry.data)
}

// layOut lays out the tables of a schema over the key spaces of an entry, and has statements use them. The entry of a
// store that is only read may have more tables.
func (s *Store) layOut(sch *schemas.Schema, e *entryOf) (err error) {
	laid, space := make(map[*schemas.Table]*table, len(sch.Tables)), e.space
	for _, as := range e.schema.Tables {
		if t := sch.Table(as.Name); t != nil {
			if laid[t], err = newTable(t, as, space); err != nil {
				return err
			}
			own := laid[t]
			if s.guarded[space] == nil { // all layouts of the same stored table share it
				s.guarded[space] = new(atomic.Bool)
				s.guarded[space].Store(own.rows.collections+own.statics.collections > 0 || own.plain)
			}
			own.guarded = s.guarded[space]
		}
		space += uint16(spacesOf(as))
	}
	s.tables.Add(sch, laid)
	return nil
}

// offline returns a store without files that has a schema as the first one in its data folder.
func offline(sch *schemas.Schema) (*Store, error) {
	if err := drivers.Portable(sch); err != nil {
		return nil, err
	}
	s := &Store{guarded: make(map[uint16]*atomic.Bool)}
	if err := s.layOut(sch, &entryOf{space: 1, schema: stored(sch)}); err != nil {
		return nil, fmt.Errorf("schema %s: %w", sch.Name, err)
	}
	return s, nil
}

var errCatalog = errors.New("the data directory's catalog is damaged")

// entryOf is the catalog's entry of a schema: its first key space, and its tables in the order of their spaces.
type entryOf struct {
	data   []byte
	space  uint16
	schema *schemas.Schema
}

// entry reads the entry of a schema; nil if there is none.
func (s *Store) entry(name string) (*entryOf, error) {
	data, err := find(s.db, []byte(schemaKey+name), nil)
	if data == nil || err != nil {
		return nil, err
	}
	if len(data) < 4 {
		return nil, errCatalog
	}
	e := &entryOf{data: data, space: binary.BigEndian.Uint16(data)}
	e.schema, err = schemas.ParseStored(s.dir+": catalog", data[4:])
	return e, err
}

// Each yields the keys with a prefix, in order, with their values.
func Each(ctx context.Context, r pebble.Reader, prefix string, yield func(key, value []byte) error) error {
	it, err := r.NewIterWithContext(ctx, &pebble.IterOptions{
		LowerBound: []byte(prefix), UpperBound: keys.Successor([]byte(prefix)),
	})
	if err != nil {
		return err
	}
	for ok := it.First(); ok && err == nil; ok = err == nil && it.Next() {
		var value []byte
		if value, err = it.ValueAndErr(); err == nil {
			err = yield(it.Key(), value)
		}
	}
	if err == nil {
		err = it.Error()
	}
	return closeAfter(it, err)
}

// allot returns the catalog's entry of a new schema. Its key spaces follow those of all
// other schemas.
func (s *Store) allot(ctx context.Context, sch *schemas.Schema) (*entryOf, error) {
	first := 1
	err := Each(ctx, s.db, schemaKey, func(_, value []byte) error {
		if len(value) < 4 {
			return errCatalog
		}
		first = max(first, int(binary.BigEndian.Uint16(value[2:])))
		return nil
	})
	next := first
	for _, t := range sch.Tables {
		next += spacesOf(t)
	}
	if next > math.MaxUint16 && err == nil {
		err = errors.New("no key spaces are left; use another data directory")
	}
	data := binary.BigEndian.AppendUint16(nil, uint16(first))
	data = binary.BigEndian.AppendUint16(data, uint16(next))
	return &entryOf{append(data, schemas.Format(sch)...), uint16(first), sch}, err
}

// Stored implements drivers.Store.
func (s *Store) Stored(sch *schemas.Schema) (*schemas.Schema, error) { return stored(sch), nil }

// stored returns the part of a schema that the engine keeps: all except hints and what keeps does not.
func stored(sch *schemas.Schema) *schemas.Schema { return plan.Stored(sch, keeps) }

// keeps reports whether the engine keeps an index: one over key columns and plain ones that are no
// collections and no counters.
func keeps(x *schemas.Index) bool {
	return !slices.ContainsFunc(x.Columns, func(c schemas.IndexColumn) bool {
		return c.Column.Role == schemas.Static || c.Column.Type.Collection() || c.Column.Type.Kind == schemas.Counter
	})
}

// Inspect implements drivers.Store.
func (s *Store) Inspect(_ context.Context, name string) (sch *schemas.Schema, err error) {
	err = s.during(s.mu.RLocker(), "inspect schema "+name, func() error {
		e, err := s.entry(name)
		if err == nil && e == nil {
			err = fmt.Errorf("it is not in data directory %s", s.dir)
		}
		if err == nil {
			sch = stored(e.schema)
		}
		return err
	})
	return sch, err
}

// Compare implements drivers.Store. It compares only the catalog, which has all of a table.
func (s *Store) Compare(_ context.Context, sch *schemas.Schema) (c *drivers.Comparison, err error) {
	err = s.during(s.mu.RLocker(), "compare schema "+sch.Name, func() error {
		e, err := s.entry(sch.Name)
		if err != nil {
			return err
		}
		c = &drivers.Comparison{Where: "data folder " + s.dir}
		if e == nil {
			c.Unseen = append(c.Unseen, fmt.Sprintf("No schema %s in %s.", sch.Name, s.dir))
			e = &entryOf{schema: &schemas.Schema{Name: sch.Name}}
		}
		c.Drifts = drivers.Shell{Comment: "#"}.Drifts(sch, schemas.Diff(stored(sch), stored(e.schema)),
			func(schemas.Difference) []string {
				return []string{"# its tables cannot be altered: load the data into a new folder, by a run with --data"}
			})
		return nil
	})
	return c, err
}

// family is a set of columns with one key: the plain columns with the primary key, or the
// static columns with the partition key. A column is named by its position in columns.
type family struct {
	path
	cells       uint16 // the key space of the elements of its collections
	columns     []*schemas.Column
	collections int       // number of columns that are collections
	scalars     []operand // the others, of a row as append takes it
}

// table is a table's layout.
type table struct {
	key     []*schemas.Column
	rows    family
	statics family
	indexes []*path
	plain   bool // some index has plain columns
	// guarded is true if some writes to the table read first. Then every write to a
	// row takes its lock.
	guarded *atomic.Bool
}

// spacesOf is how many key spaces a table takes.
func spacesOf(t *schemas.Table) int { return 4 + len(t.Indexes) }

// newTable lays out a table over the spaces from first on. Columns and indexes have the
// order with which the table was created.
func newTable(t, created *schemas.Table, first uint16) (*table, error) {
	tb := &table{key: t.Key()}
	order := make(keys.Columns, len(tb.key))
	for i, c := range tb.key {
		order[i] = keys.Column{Kind: c.Type.Kind, Desc: c.Desc, At: i}
	}
	if n := max(len(created.Columns), len(created.Static)); n > maxColumns {
		return nil, fmt.Errorf("table %s: %d columns; at most %d can be stored", t.Name, n, maxColumns)
	}
	tb.rows = newFamily(first, order, inOrder(t, created.Columns))
	tb.statics = newFamily(first+2, order[:len(t.Partition)], inOrder(t, created.Static))
	for _, x := range t.Indexes {
		if !keeps(x) {
			continue
		}
		i := slices.IndexFunc(created.Indexes, func(c *schemas.Index) bool { return c.Name == x.Name })
		if i < 0 {
			continue // a store opened read-only may lack it
		}
		var cols keys.Columns
		for _, c := range x.Columns {
			from := slices.Index(tb.key, c.Column)
			if from < 0 {
				from = len(tb.key) + slices.Index(tb.rows.columns, c.Column)
			}
			cols = append(cols, keys.Column{Kind: c.Column.Type.Kind, Desc: c.Desc, At: from})
		}
		for i, k := range order {
			if !slices.ContainsFunc(cols, func(c keys.Column) bool { return c.At == i }) {
				cols = append(cols, k)
			}
		}
		p := newPath(x.Name, first+4+uint16(i), cols, !x.OverKeys())
		tb.indexes, tb.plain = append(tb.indexes, &p), tb.plain || p.plain
	}
	return tb, nil
}

// index returns the table's index of that name, or nil.
func (tb *table) index(name string) *path {
	if i := slices.IndexFunc(tb.indexes, func(x *path) bool { return x.name == name }); i >= 0 {
		return tb.indexes[i]
	}
	return nil
}

// column returns the column of the table that a key column is.
func (tb *table) column(c keys.Column) *schemas.Column {
	if c.At < len(tb.key) {
		return tb.key[c.At]
	}
	return tb.rows.columns[c.At-len(tb.key)]
}

// inOrder returns the table's columns in the order of others. It returns a column of others
// itself if the table has none of that name.
func inOrder(t *schemas.Table, others []*schemas.Column) []*schemas.Column {
	cs := make([]*schemas.Column, len(others))
	for i, c := range others {
		if cs[i] = t.Column(c.Name); cs[i] == nil {
			cs[i] = c
		}
	}
	return cs
}

func newFamily(first uint16, order keys.Columns, cols []*schemas.Column) family {
	f := family{path: newPath("", first, order, false), cells: first + 1, columns: cols}
	for i, c := range cols {
		if c.Type.Collection() {
			f.collections++
		} else {
			f.scalars = append(f.scalars, operand{i, len(order) + i})
		}
	}
	return f
}
