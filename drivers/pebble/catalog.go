package pebble

import (
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

// countElements makes the numbers of elements begin above all earlier ones.
func (s *Store) countElements() error {
	data, err := find(s.db, []byte(openedKey), nil)
	if err != nil {
		return err
	}
	var n uint64
	if len(data) == 8 {
		n = binary.BigEndian.Uint64(data)
	}
	s.elements.Store((n + 1) << elementBits)
	return s.putSynced([]byte(openedKey), binary.BigEndian.AppendUint64(nil, n+1))
}

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
	if entry == nil {
		if s.gate.ReadOnly {
			return s.absent(ctx, sch.Name)
		}
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
			laid[t].guarded = s.guard(laid[t])
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

// guard returns the value of the table's field guarded. All layouts of the same stored table
// share it.
func (s *Store) guard(t *table) *atomic.Bool {
	g := s.guarded[t.rows.space]
	if g == nil {
		g = new(atomic.Bool)
		g.Store(t.rows.collections+t.statics.collections > 0 || t.plain)
		s.guarded[t.rows.space] = g
	}
	return g
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

// each yields the keys with a prefix, in order, with their values.
func each(ctx context.Context, r pebble.Reader, prefix string, yield func(key, value []byte) error) error {
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
	err := each(ctx, s.db, schemaKey, func(_, value []byte) error {
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

// absent is the error for a schema that the catalog lacks. It names those that it has.
func (s *Store) absent(ctx context.Context, schema string) error {
	e := &drivers.AbsentError{What: "schema", Name: schema, Where: "in data directory " + s.dir}
	err := each(ctx, s.db, schemaKey, func(key, _ []byte) error {
		e.There = append(e.There, string(key[len(schemaKey):]))
		return nil
	})
	if err != nil {
		return err
	}
	return e
}

// Stored implements drivers.Store.
func (s *Store) Stored(sch *schemas.Schema) (*schemas.Schema, error) { return stored(sch), nil }

// stored returns the part of a schema that the engine keeps: all except hints and what keeps does not.
func stored(sch *schemas.Schema) *schemas.Schema {
	own := schemas.Canonical(sch)
	for _, t := range own.Tables {
		t.Hints = nil
		t.Indexes = slices.DeleteFunc(t.Indexes, func(x *schemas.Index) bool { return !keeps(x) })
	}
	return own
}

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

// Compare implements drivers.Comparer. It compares only the catalog, which has all of a table.
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
