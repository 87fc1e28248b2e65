package validate

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	rawpebble "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mailbench/mailbench/drivers/pebble"
)

// records are the records of a check: a Pebble database that it makes and removes.
type records struct {
	db      *rawpebble.DB
	fault   func() error  // the first write that failed
	written atomic.Uint64 // records
}

// openRecords opens a database in a new folder ("": in memory), with tables of so many bytes in memory.
func openRecords(folder string, memory int64) (*records, error) {
	o := &rawpebble.Options{
		FormatMajorVersion: rawpebble.FormatNewest, DisableWAL: true,
		MemTableSize: uint64(memory), MemTableStopWritesThreshold: 2, CacheSize: 3 * memory,
		L0StopWritesThreshold: 1000,
	}
	if folder == "" {
		o.FS = vfs.NewMem()
	}
	db, fault, err := pebble.OpenGuarded("the database of records", folder, o)
	if err != nil {
		return nil, fmt.Errorf("open the database of records: %w", err)
	}
	return &records{db: db, fault: fault}, nil
}

// size is how many bytes the records have on disk.
func (s *records) size() int64 { return int64(s.db.Metrics().DiskSpaceUsage()) }

// record is what the join needs to know of a tuple, or of several successive tuples of
// one side with the same digest.
type record struct {
	digest digest
	rule   int
	own    bool // its rows declare the rule; else they are referred to or counted
	bad    bool // the stored text is no number
	rows   int64
	number int64
	where  []byte // the row's key, as people read it; the first row's if there are several
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// recordKey is the first byte of all keys.
const recordKey = 'r'

// mostBatch bounds the memory of records that are not yet in the database.
const mostBatch = 256 << 10

// write writes a record. After recordKey, its key has its digest and its side, so that the database sorts the rows with
// the same variables next to each other, those that are referred to or counted first. A number makes it the only one.
func (r *reader) write(x *record) error {
	r.entry = append(append(append(r.entry[:0], recordKey), x.digest[:]...), flag(x.own))
	r.entry = binary.BigEndian.AppendUint64(r.entry, r.records.written.Add(1))
	r.value = binary.AppendUvarint(append(r.value[:0], flag(x.bad)), uint64(x.rule))
	r.value = binary.AppendUvarint(r.value, uint64(x.rows))
	r.value = append(binary.AppendVarint(r.value, x.number), x.where...)
	if r.batch == nil {
		r.batch = r.records.db.NewBatch()
	}
	if err := r.batch.Set(r.entry, r.value, nil); err != nil || r.batch.Len() < mostBatch {
		return err
	}
	return r.commit()
}

// commit writes the records of the batch, if there are any.
func (r *reader) commit() error {
	if r.batch == nil {
		return nil
	}
	b := r.batch
	r.batch = nil
	err := b.Commit(rawpebble.NoSync)
	if fault := r.records.fault(); fault != nil {
		err = fault
	}
	if err = errors.Join(err, b.Close()); err != nil {
		return fmt.Errorf("write records: %w", err)
	}
	return nil
}

// parseRecord returns the record that write wrote. It shares the value.
func parseRecord(key, value []byte) (r record) {
	key = key[1:]
	r.digest = digest(key)
	r.own, r.bad = key[len(r.digest)] == 1, value[0] == 1
	value = value[1:]
	rule, n := binary.Uvarint(value)
	rows, k := binary.Uvarint(value[n:])
	number, l := binary.Varint(value[n+k:])
	r.rule, r.rows, r.number, r.where = int(rule), int64(rows), number, value[n+k+l:]
	return r
}

// group is what the records of one rule with the same variables add up to.
type group struct {
	digest digest
	rule   *rule  // nil: there is none yet
	own    int64  // rows that declare the rule
	others int64  // rows that are referred to or counted
	sum    int64  // the recount over these
	where  []byte // the first row, in the order of their text; only a group of one side is named by it
}

// join compares the records of all rows with the same variables.
func (c *check) join(ctx context.Context) error {
	var g group
	n := 0
	err := pebble.Each(ctx, c.records.db, string(recordKey), func(key, value []byte) error {
		r := parseRecord(key, value)
		if n++; n%countEvery == 0 {
			c.progress("", int(r.digest[0]), 256)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if g.rule == nil || g.digest != r.digest {
			c.compared(&g)
			g = group{digest: r.digest, rule: c.rules[r.rule], where: g.where[:0]}
		}
		c.add(&g, &r)
		return nil
	})
	if err != nil {
		return fmt.Errorf("compare references and counts: %w", err)
	}
	c.compared(&g)
	return nil
}

// add adds a record to its group. Each stored number is compared by itself; the group has all rows that it counts.
func (c *check) add(g *group, r *record) {
	if g.own+g.others == 0 || bytes.Compare(r.where, g.where) < 0 {
		g.where = append(g.where[:0], r.where...)
	}
	if !r.own {
		g.others += r.rows
		g.sum += r.number
		return
	}
	g.own += r.rows
	switch {
	case !g.rule.counts():
	case r.bad:
		c.found.add(g.rule.about, 1, 0, 0, fmt.Sprintf("%s: %s is no number", r.where, g.rule.Column.Name))
	case r.number != g.sum:
		c.found.add(g.rule.about, 1, 0, abs(r.number-g.sum),
			fmt.Sprintf("%s: %s is %d, counted %d", r.where, g.rule.Column.Name, r.number, g.sum))
	}
}

// compared adds what is wrong with a group of which all rows were added.
func (c *check) compared(g *group) {
	switch r := g.rule; {
	case r == nil:
	case !r.counts() && g.own > 0 && g.others == 0:
		more := ""
		if g.own > 1 {
			more = fmt.Sprintf(" and %d more", g.own-1)
		}
		c.found.add(r.about, g.own, 1, 0, fmt.Sprintf("%s%s: no row of %s", g.where, more, r.To.Name))
	case r.zero() && g.own == 0 && g.sum != 0:
		c.found.add(r.about, 1, 0, abs(g.sum), fmt.Sprintf("no %s for %s: %d counted", r.Column.Name, g.where, g.sum))
	}
}

func abs(n int64) int64 { return max(n, -n) }
