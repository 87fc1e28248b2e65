package validate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	rawpebble "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/schemas"
)

// Journal holds what a check has read: how each table was divided, which parts were read, what was found in them,
// and the records of their rows. It is a Pebble database, in which a part follows its records.
// A journal with a file survives its process, so that another process can resume the check: the file says what
// the journal is of, and the folder next to it has the database.
type Journal struct {
	file   string // "" if nothing is to survive the process
	folder string
	fs     vfs.FS // nil: that of the disk
	db     *rawpebble.DB
	fault  func() error // the first write that failed
	unlock func() error
	round  uint32 // number of the process: records of a part that an earlier one began and did not end do not count

	mu    sync.Mutex
	plans []*partition
}

// journalFormat is the first field of a journal's file.
const journalFormat = "mailbench.validate/4"

// Of says what a journal is of. Only a check of the same place, schema and sample resumes it.
type Of struct {
	Format string  `json:"format"`
	Store  string  `json:"store"`            // such as "cassandra, keyspace shop"
	Tables string  `json:"tables,omitempty"` // what only these tables have, see drivers.Identified
	Schema string  `json:"schema"`
	Text   string  `json:"schema_sha256"` // of the schema as Format writes it
	Sample float64 `json:"sample"`
	Seed   uint64  `json:"seed"`
}

// partition is how a table was divided.
type partition struct {
	Table  string   `json:"table"`
	Static bool     `json:"static,omitempty"`
	Of     int      `json:"of"`               // parts, of which some are read
	Ranges []string `json:"ranges,omitempty"` // of those, see drivers.Splitter

	number uint32
	done   map[uint32]*donePart
}

// donePart is a part that was read to its end.
type donePart struct {
	Round    uint32    `json:"round"` // the process that read it
	Rows     int64     `json:"rows"`
	Bytes    int64     `json:"bytes"`
	Findings []Finding `json:"findings,omitempty"`
}

// The first byte of a key. The rest is a number of a partition; numbers of a partition and a part; or what
// reader.write makes of a record.
const (
	roundKey = 'n'
	planKey  = 'p'
	doneKey  = 'd'
)

// OpenJournal opens a journal of a check of the schema, or begins one. It sets the fields Format, Schema and
// Text of what the journal is of. No other process can open it until it is closed.
func OpenJournal(file string, of Of, s *schemas.Schema) (*Journal, error) {
	of.Format, of.Schema, of.Text = journalFormat, s.Name, fmt.Sprintf("%x", sha256.Sum256(schemas.Format(s)))
	if of.Sample >= 1 {
		of.Seed = 0 // nothing is drawn
	}
	head, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer head.Close()
	empty, err := of.check(head)
	if err != nil {
		return nil, err
	}
	j := &Journal{file: file, folder: file + ".records"}
	if err := os.MkdirAll(j.folder, 0o700); err != nil {
		return nil, err
	}
	if j.unlock, err = private.Lock(filepath.Join(j.folder, "lock")); err != nil {
		return nil, err
	}
	if empty {
		err = json.NewEncoder(head).Encode(of)
		err = errors.Join(err, head.Sync())
	}
	if err == nil {
		err = j.open(defaultMemory)
	}
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// check returns an error if a file is not a journal's, or is of another check. An empty file is a new journal's.
func (of Of) check(file io.Reader) (empty bool, err error) {
	b, err := io.ReadAll(io.LimitReader(file, 1<<20))
	if err != nil || len(b) == 0 {
		return true, err
	}
	var have Of
	switch err := json.Unmarshal(b, &have); {
	case err != nil || have.Format == "":
		return false, errors.New("line 1: it was not written by schema validate --resume")
	case have.Format != journalFormat:
		return false, fmt.Errorf("line 1: another version of mailbench wrote it (%s)", have.Format)
	case have.Store != of.Store:
		return false, fmt.Errorf("line 1: it is of %s, not of %s", have.Store, of.Store)
	case have.Tables != of.Tables:
		return false, fmt.Errorf("line 1: it is of %s of another cluster, or of tables that were re-created since", have.Store)
	case have.Schema != of.Schema:
		return false, fmt.Errorf("line 1: it is of schema %s, not of %s", have.Schema, of.Schema)
	case have.Text != of.Text:
		return false, fmt.Errorf("line 1: schema %s was changed since", have.Schema)
	case have != of:
		return false, fmt.Errorf("line 1: it is of a sample of %g with seed %d, not of %g with %d", have.Sample, have.Seed,
			of.Sample, of.Seed)
	}
	return false, nil
}

// open opens the database, with tables of so many bytes in memory, and reads what earlier processes have read.
func (j *Journal) open(memory int64) (err error) {
	o := &rawpebble.Options{
		FormatMajorVersion: rawpebble.FormatNewest, DisableWAL: j.file == "",
		MemTableSize: uint64(memory), MemTableStopWritesThreshold: 2, CacheSize: 3 * memory,
		L0StopWritesThreshold: 1000, FS: j.fs,
	}
	j.db, j.fault, err = pebble.OpenGuarded("the database of records", j.folder, o)
	if rawpebble.IsCorruptionError(err) {
		return fmt.Errorf("it is damaged: %w", err)
	} else if err != nil {
		return fmt.Errorf("open the database of records: %w", err)
	}
	err = j.each(planKey, func(_, value []byte) error {
		p := &partition{number: uint32(len(j.plans)), done: map[uint32]*donePart{}}
		j.plans = append(j.plans, p)
		return json.Unmarshal(value, p)
	})
	err = errors.Join(err, j.each(doneKey, func(key, value []byte) error {
		d := &donePart{}
		plan, part := binary.BigEndian.Uint32(key[1:]), binary.BigEndian.Uint32(key[5:])
		if int(plan) >= len(j.plans) || int(part) >= len(j.plans[plan].Ranges) {
			return errors.New("a part of no table")
		}
		j.plans[plan].done[part] = d
		return json.Unmarshal(value, d)
	}), j.each(roundKey, func(_, value []byte) error {
		j.round = binary.BigEndian.Uint32(value) + 1
		return nil
	}))
	if err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	return j.set([]byte{roundKey}, binary.BigEndian.AppendUint32(nil, j.round))
}

// each calls yield for all entries whose keys begin with prefix, in the order of the keys.
func (j *Journal) each(prefix byte, yield func(key, value []byte) error) error {
	return pebble.Each(context.Background(), j.db, string(prefix), yield)
}

// set writes an entry to the disk.
func (j *Journal) set(key, value []byte) error {
	b := j.db.NewBatch()
	return errors.Join(b.Set(key, value, nil), j.commit(b, true))
}

// commit writes a batch, together with all before it to the disk if a journal is to survive and synced is set.
func (j *Journal) commit(b *rawpebble.Batch, synced bool) error {
	o := rawpebble.NoSync
	if synced && j.file != "" {
		o = rawpebble.Sync
	}
	err := b.Commit(o)
	if fault := j.fault(); fault != nil {
		err = fault
	}
	if err = errors.Join(err, b.Close()); err != nil {
		return fmt.Errorf("write records: %w", err)
	}
	return nil
}

// size is how many bytes the journal has on disk.
func (j *Journal) size() int64 { return int64(j.db.Metrics().DiskSpaceUsage()) }

// Close closes the journal, and leaves it to the next process.
func (j *Journal) Close() (err error) {
	if j.db != nil {
		err = j.db.Close()
	}
	if j.unlock != nil {
		err = errors.Join(err, j.unlock())
	}
	return err
}

// Remove closes the journal and removes the file and its records.
func (j *Journal) Remove() error {
	return errors.Join(j.Close(), os.RemoveAll(j.folder), os.Remove(j.file))
}

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

// mostBatch bounds the memory of records that are not yet in the database.
const mostBatch = 256 << 10

// write writes a record of the part that is read.
func (r *reader) write(x *record) error {
	r.entry = append(append(append(r.entry[:0], recordKey), x.digest[:]...), flag(x.own))
	for _, n := range []uint32{r.of.round, r.of.plan, r.of.part, r.written} {
		r.entry = binary.BigEndian.AppendUint32(r.entry, n)
	}
	r.value = binary.AppendUvarint(append(r.value[:0], flag(x.bad)), uint64(x.rule))
	r.value = binary.AppendUvarint(r.value, uint64(x.rows))
	r.value = append(binary.AppendVarint(r.value, x.number), x.where...)
	r.written++
	if r.batch == nil {
		r.batch = r.Journal.db.NewBatch()
	}
	if err := r.batch.Set(r.entry, r.value, nil); err != nil || r.batch.Len() < mostBatch {
		return err
	}
	return r.commit(false)
}

// commit writes the records of the batch, together with all before them to the disk if synced is set.
func (r *reader) commit(synced bool) error {
	b := r.batch
	r.batch = nil
	return r.Journal.commit(b, synced)
}

// end notes that the part was read to its end. If that is on the disk, so are the records before it.
func (r *reader) end() error {
	b, err := json.Marshal(r.part)
	if err != nil {
		return fmt.Errorf("note a part: %w", err)
	}
	key := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{doneKey}, r.of.plan), r.of.part)
	if r.batch == nil {
		r.batch = r.Journal.db.NewBatch()
	}
	if err = errors.Join(r.batch.Set(key, b, nil), r.commit(true)); err != nil {
		return err
	}
	r.Journal.mu.Lock()
	defer r.Journal.mu.Unlock()
	r.Journal.plans[r.of.plan].done[r.of.part] = r.part
	return nil
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
	err := c.Journal.each(recordKey, func(key, value []byte) error {
		r, of, err := parseRecord(key, value)
		if err != nil || int(of.plan) >= len(c.Journal.plans) {
			return err
		}
		if d := c.Journal.plans[of.plan].done[of.part]; d == nil || d.Round != of.round {
			return nil // an earlier process did not read that part to its end
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
