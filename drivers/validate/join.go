package validate

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	rawpebble "github.com/cockroachdb/pebble/v2"
)

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

// recordOf says which process read the part that a record is of.
type recordOf struct{ round, plan, part uint32 }

// recordKey is the first byte of a record's key. Its digest and its side follow, so that the database sorts the
// rows with the same variables next to each other, those that are referred to or counted first.
const recordKey = 'r'

// lastOf is the length of the rest of a key: recordOf, and the number of the record in its part.
const lastOf = 16

func appendRecordKey(dst []byte, r *record, of recordOf, n uint32) []byte {
	dst = append(append(dst, recordKey), r.digest[:]...)
	dst = append(dst, flag(r.own))
	for _, x := range []uint32{of.round, of.plan, of.part, n} {
		dst = binary.BigEndian.AppendUint32(dst, x)
	}
	return dst
}

func appendRecord(dst []byte, r *record) []byte {
	dst = binary.AppendUvarint(append(dst, flag(r.bad)), uint64(r.rule))
	dst = binary.AppendUvarint(dst, uint64(r.rows))
	return append(binary.AppendVarint(dst, r.number), r.where...)
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

var errRecord = errors.New("a record is damaged")

// parseRecord returns the record of an entry. It shares the value.
func parseRecord(key, value []byte) (r record, of recordOf, err error) {
	const side = 1 + len(r.digest)
	if len(key) != side+1+lastOf || len(value) == 0 {
		return r, of, errRecord
	}
	r.digest, r.own, r.bad = digest(key[1:]), key[side] == 1, value[0] == 1
	last := key[side+1:]
	of = recordOf{binary.BigEndian.Uint32(last), binary.BigEndian.Uint32(last[4:]), binary.BigEndian.Uint32(last[8:])}
	value = value[1:]
	rule, n := binary.Uvarint(value)
	rows, k := binary.Uvarint(value[max(n, 0):])
	number, l := binary.Varint(value[max(n, 0)+max(k, 0):])
	if n <= 0 || k <= 0 || l <= 0 {
		return r, of, errRecord
	}
	r.rule, r.rows, r.number, r.where = int(rule), int64(rows), number, value[n+k+l:]
	return r, of, nil
}

// recording writes the records of one part to the journal.
type recording struct {
	journal *Journal
	of      recordOf
	batch   *rawpebble.Batch
	n       uint32
	key     []byte
	value   []byte
}

// mostBatch bounds the memory of records that are not yet in the database.
const mostBatch = 256 << 10

func (w *recording) write(r *record) error {
	if w.batch == nil {
		w.batch = w.journal.db.NewBatch()
	}
	w.key, w.value = appendRecordKey(w.key[:0], r, w.of, w.n), appendRecord(w.value[:0], r)
	w.n++
	if err := w.batch.Set(w.key, w.value, nil); err != nil || w.batch.Len() < mostBatch {
		return err
	}
	return w.flush(false)
}

func (w *recording) flush(synced bool) error {
	b := w.batch
	w.batch = nil
	return w.journal.commit(b, synced)
}

// end notes that the part was read to its end. It is on the disk with its records, or not at all.
func (w *recording) end(d *donePart) error {
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if w.batch == nil {
		w.batch = w.journal.db.NewBatch()
	}
	key := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{doneKey}, w.of.plan), w.of.part)
	if err := errors.Join(w.batch.Set(key, b, nil), w.flush(true)); err != nil {
		return err
	}
	w.journal.mu.Lock()
	defer w.journal.mu.Unlock()
	w.journal.plans[w.of.plan].done[w.of.part] = d
	return nil
}

// group is what the records of one rule with the same variables add up to.
type group struct {
	digest digest
	rule   *rule // nil: there is none yet
	own    int64 // rows that declare the rule
	others int64 // rows that are referred to or counted
	sum    int64 // the recount over these
	first  []byte
	other  []byte // the first rows of each side, in the order of their text
}

// join compares the records of all rows with the same variables.
func (c *check) join(ctx context.Context) error {
	var g group
	n := 0
	err := c.Journal.each([]byte{recordKey}, func(key, value []byte) error {
		r, of, err := parseRecord(key, value)
		if err != nil || !c.Journal.counts(of) {
			return err
		}
		if n++; n%countEvery == 0 {
			c.progress("", int(r.digest[0]), 256)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if r.rule < 0 || r.rule >= len(c.rules) {
			return errRecord
		}
		if g.rule == nil || g.digest != r.digest {
			c.compared(&g)
			g = group{digest: r.digest, rule: c.rules[r.rule], first: g.first[:0], other: g.other[:0]}
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
	if !r.own {
		if g.others == 0 || bytes.Compare(r.where, g.other) < 0 {
			g.other = append(g.other[:0], r.where...)
		}
		g.others += r.rows
		g.sum += r.number
		return
	}
	if g.own == 0 || bytes.Compare(r.where, g.first) < 0 {
		g.first = append(g.first[:0], r.where...)
	}
	g.own += r.rows
	if g.rule.count == nil {
		return
	}
	what := g.rule.count.Column.Name
	switch {
	case r.bad:
		c.found.add(g.rule.key, 1, 0, 0, fmt.Sprintf("%s: %s is no number", r.where, what))
	case r.number != g.sum:
		c.found.add(g.rule.key, 1, 0, abs(r.number-g.sum),
			fmt.Sprintf("%s: %s is %d, counted %d", r.where, what, r.number, g.sum))
	}
}

// compared adds what is wrong with a group of which all rows were added.
func (c *check) compared(g *group) {
	switch r := g.rule; {
	case r == nil:
	case r.ref != nil && g.own > 0 && g.others == 0:
		c.found.add(r.key, g.own, 1, 0, missing(r, g.first, g.own))
	case r.zero() && g.own == 0 && g.sum != 0:
		c.found.add(r.key, 1, 0, abs(g.sum), fmt.Sprintf("no %s for %s: %d counted", r.count.Column.Name, g.other, g.sum))
	}
}

// missing names the first of the rows that refer to a row that is not there.
func missing(r *rule, where []byte, rows int64) string {
	if rows > 1 {
		return fmt.Sprintf("%s and %d more: no row of %s", where, rows-1, r.join.To.Name)
	}
	return fmt.Sprintf("%s: no row of %s", where, r.join.To.Name)
}

func abs(n int64) int64 { return max(n, -n) }
