package pebble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// The catalog is space 0. "schema/NAME" holds a schema's first key space (two
// bytes), the first after it (two bytes), and its tables in the schema language;
// "opened" how often the store was opened (eight bytes).
const (
	schemaKey = "\x00\x00schema/"
	openedKey = "\x00\x00opened"
)

// schemaKeys are the keys of all schemas.
var schemaKeys = pebble.IterOptions{LowerBound: []byte(schemaKey), UpperBound: []byte("\x00\x00schema0")}

// elementBits is the number of low bits of a list element's number; they count appends since
// the store was opened. The high bits count how often it was opened. So numbers ascend without
// a stored counter of appends.
const elementBits = 40

// nextElement returns the number of the next element of a list.
func (s *Store) nextElement() uint64 { return s.elements.Add(1) }

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
	if fault := s.fault(); fault != nil {
		return fault
	}
	return err
}

// Apply implements drivers.Store.
func (s *Store) Apply(_ context.Context, sch *schemas.Schema) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return fmt.Errorf("apply schema %s: %w", sch.Name, drivers.ErrClosed)
	}
	if err := s.apply(sch); err != nil {
		return fmt.Errorf("apply schema %s: %w", sch.Name, err)
	}
	return nil
}

// apply lays out the tables in the order of the catalog, so a schema file may have
// another order.
func (s *Store) apply(sch *schemas.Schema) error {
	if err := drivers.Portable(sch); err != nil {
		return err
	}
	key := []byte(schemaKey + sch.Name)
	data, err := find(s.db, key, nil)
	if err != nil {
		return err
	}
	if data == nil {
		if s.gate.ReadOnly {
			return s.absent(sch.Name)
		}
		if data, err = s.allot(stored(sch)); err != nil {
			return err
		}
	}
	space, there, err := s.readEntry(data)
	if err != nil {
		return err
	}
	if s.gate.ReadOnly {
		err = drivers.Readable(stored(sch), stored(there))
	} else {
		err = drivers.Conflict(schemas.Diff(stored(sch), stored(there)))
	}
	if err != nil {
		return err
	}
	laid := make(map[*schemas.Table]*table, len(sch.Tables))
	for _, as := range there.Tables {
		if t := sch.Table(as.Name); t != nil { // a store that is only read may have more tables
			if laid[t], err = newTable(t, as, space); err != nil {
				return err
			}
			laid[t].guarded = s.guard(laid[t])
		}
		space += uint16(spacesOf(as))
	}
	if !s.gate.ReadOnly {
		if err := s.putSynced(key, data); err != nil {
			return err
		}
	}
	s.tables.Add(sch, laid)
	return nil
}

// guard returns the value of the table's field guarded. All layouts of the same stored table
// share it.
func (s *Store) guard(t *table) *atomic.Bool {
	g := s.guarded[t.rows.space]
	if g == nil {
		g = new(atomic.Bool)
		g.Store(t.rows.collections+t.statics.collections+len(t.values) > 0)
		s.guarded[t.rows.space] = g
	}
	return g
}

// readEntry reads the catalog's entry of a schema: its first key space, and its tables
// in the order of their spaces.
func (s *Store) readEntry(data []byte) (space uint16, there *schemas.Schema, err error) {
	if len(data) < 4 {
		return 0, nil, errors.New("the data directory's catalog is damaged")
	}
	there, err = schemas.Parse(s.dir+": catalog", data[4:])
	return binary.BigEndian.Uint16(data), there, err
}

// allot returns the catalog's entry of a new schema. Its key spaces follow those of all
// other schemas.
func (s *Store) allot(sch *schemas.Schema) ([]byte, error) {
	it, err := s.db.NewIter(&schemaKeys)
	if err != nil {
		return nil, err
	}
	first := 1
	for ok := it.First(); ok; ok = it.Next() {
		if v, err := it.ValueAndErr(); err == nil && len(v) >= 4 {
			first = max(first, int(binary.BigEndian.Uint16(v[2:])))
		}
	}
	if err := it.Close(); err != nil {
		return nil, err
	}
	next := first
	for _, t := range sch.Tables {
		next += spacesOf(t)
	}
	if next > math.MaxUint16 {
		return nil, errors.New("no key spaces are left; use another data directory")
	}
	entry := binary.BigEndian.AppendUint16(nil, uint16(first))
	entry = binary.BigEndian.AppendUint16(entry, uint16(next))
	return append(entry, schemas.Format(sch)...), nil
}

// absent is the error for a schema that the catalog lacks. It names those that it has.
func (s *Store) absent(schema string) error {
	e := &drivers.AbsentError{What: "schema", Name: schema, Where: "in data directory " + s.dir}
	it, err := s.db.NewIter(&schemaKeys)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		e.There = append(e.There, string(it.Key()[len(schemaKey):]))
	}
	if err := it.Close(); err != nil {
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

// Inspect implements drivers.Store.
func (s *Store) Inspect(_ context.Context, name string) (*schemas.Schema, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	sch, err := s.inspect(name)
	if err != nil {
		return nil, fmt.Errorf("inspect schema %s: %w", name, err)
	}
	return sch, nil
}

func (s *Store) inspect(name string) (*schemas.Schema, error) {
	if s.db == nil {
		return nil, drivers.ErrClosed
	}
	data, err := find(s.db, []byte(schemaKey+name), nil)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, fmt.Errorf("it is not in data directory %s", s.dir)
	}
	_, there, err := s.readEntry(data)
	if err != nil {
		return nil, err
	}
	return stored(there), nil
}

// Compare implements drivers.Comparer. It compares only the catalog, which says all about a
// table.
func (s *Store) Compare(_ context.Context, sch *schemas.Schema) (*drivers.Comparison, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := &drivers.Comparison{Where: "data folder " + s.dir}
	there := &schemas.Schema{Name: sch.Name}
	if s.db == nil {
		return nil, fmt.Errorf("compare schema %s: %w", sch.Name, drivers.ErrClosed)
	}
	data, err := find(s.db, []byte(schemaKey+sch.Name), nil)
	if err != nil {
		return nil, fmt.Errorf("compare schema %s: %w", sch.Name, err)
	}
	if data == nil {
		c.Unseen = append(c.Unseen, fmt.Sprintf("No schema %s in %s.", sch.Name, s.dir))
	} else if _, there, err = s.readEntry(data); err != nil {
		return nil, fmt.Errorf("compare schema %s: %w", sch.Name, err)
	}
	c.Drifts = drivers.Drifts(schemas.Diff(stored(sch), stored(there)))
	for i := range c.Drifts {
		c.Drifts[i].Fix = []string{"# its tables cannot be altered: load the data into a new folder, by a run with --data"}
	}
	return c, nil
}
