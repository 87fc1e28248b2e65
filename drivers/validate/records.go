package validate

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// record is what the join needs to know of a tuple, or of several successive tuples of
// one side with the same digest.
type record struct {
	digest digest
	rule   int
	at     bool // its rows are those that are referred to or counted
	bad    bool // the stored text is no number
	rows   int64
	number int64
	where  []byte // the row's key, as people read it; the first row's if there are several
}

// The flags of a record.
const (
	flagAt = 1 << iota
	flagBad
)

// appendRecord appends a record as files store it.
func appendRecord(dst []byte, r *record) []byte {
	dst = append(dst, r.digest[:]...)
	flags := byte(0)
	if r.at {
		flags |= flagAt
	}
	if r.bad {
		flags |= flagBad
	}
	dst = binary.AppendUvarint(append(dst, flags), uint64(r.rule))
	dst = binary.AppendUvarint(dst, uint64(r.rows))
	dst = binary.AppendVarint(dst, r.number)
	dst = binary.AppendUvarint(dst, uint64(len(r.where)))
	return append(dst, r.where...)
}

var errRecord = errors.New("a file of records is damaged")

// nextRecord takes the first record off b. It shares b.
func nextRecord(b []byte) (r record, rest []byte, err error) {
	if len(b) < len(r.digest)+1 {
		return r, nil, errRecord
	}
	r.digest = digest(b)
	flags := b[len(r.digest)]
	r.at, r.bad = flags&flagAt != 0, flags&flagBad != 0
	b = b[len(r.digest)+1:]
	var fields [4]int64
	for i := range fields {
		n := 0
		if i == 2 {
			fields[i], n = binary.Varint(b)
		} else {
			var u uint64
			u, n = binary.Uvarint(b)
			fields[i] = int64(u)
		}
		if n <= 0 {
			return r, nil, errRecord
		}
		b = b[n:]
	}
	r.rule, r.rows, r.number = int(fields[0]), fields[1], fields[2]
	if fields[3] < 0 || fields[3] > int64(len(b)) {
		return r, nil, errRecord
	}
	r.where = b[:fields[3]:fields[3]]
	return r, b[fields[3]:], nil
}

// shardsOf is how many files one byte of the digest divides records into.
const shardsOf = 64

// shards are files of records. Many workers may write at once.
type shards struct {
	dir   string
	level int // byte of the digest that divides the records
	bytes *atomic.Int64
	files [shardsOf]struct {
		mu sync.Mutex
		f  *os.File
		w  *bufio.Writer
	}
}

func newShards(dir string, level int, bytes *atomic.Int64) *shards {
	return &shards{dir: dir, level: level, bytes: bytes}
}

func (s *shards) name(i int) string {
	return filepath.Join(s.dir, "records-"+strconv.Itoa(s.level)+"-"+strconv.Itoa(i))
}

// write writes b, which appendRecord made, to the file that d selects.
func (s *shards) write(d *digest, b []byte) error {
	i := int(d[s.level]) % shardsOf
	x := &s.files[i]
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.f == nil {
		f, err := os.OpenFile(s.name(i), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return fmt.Errorf("write records: %w", err)
		}
		x.f, x.w = f, bufio.NewWriterSize(f, 16<<10)
	}
	s.bytes.Add(int64(len(b)))
	if _, err := x.w.Write(b); err != nil {
		return fmt.Errorf("write records: %w", err)
	}
	return nil
}

// close ends all files.
func (s *shards) close() (err error) {
	for i := range s.files {
		x := &s.files[i]
		if x.f == nil {
			continue
		}
		err = errors.Join(err, x.w.Flush(), x.f.Close())
		x.f, x.w = nil, nil
	}
	if err != nil {
		return fmt.Errorf("write records: %w", err)
	}
	return nil
}

// divide writes the records of a file to further files, by the next byte of their
// digest.
func (s *shards) divide(name string) (err error) {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read records: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var b []byte // bytes that were read and are not yet written
	buf := make([]byte, 256<<10)
	for {
		n, rerr := f.Read(buf)
		b = append(b, buf[:n]...)
		rest := b
		for len(rest) > 0 {
			r, next, err := nextRecord(rest)
			if errors.Is(err, errRecord) && rerr == nil {
				break // the record's end is not yet read
			}
			if err != nil {
				return err
			}
			if err := s.write(&r.digest, rest[:len(rest)-len(next)]); err != nil {
				return err
			}
			rest = next
		}
		b = b[:copy(b, rest)]
		if errors.Is(rerr, io.EOF) {
			return nil
		}
		if rerr != nil {
			return fmt.Errorf("read records: %w", rerr)
		}
	}
}

// lookup finds the row that a row of a sample refers to.
type lookup struct {
	session drivers.Session
	stmt    drivers.Statement
	side    *side // compiled for the rows that the look-up reads
	keys    []keyText
	args    []drivers.Value
	tuples  tuples
	buf     []byte
	found   bool // whether the last look-up found the row
}

// keyText makes one column of a key from the variables of a reference.
type keyText struct {
	column *schemas.Column
	parts  []schemas.TemplatePart
	tail   string
	slots  []int
	buf    []byte
}

// lookupOf returns the beginning of the other row's key, as far as it follows from
// the variables, or nil if that is not at least its partition.
func lookupOf(r *rule) []keyText {
	if r.ref == nil {
		return nil
	}
	names := r.join.Names()
	to := r.join.To
	var keys []keyText
	for _, c := range to.Key() {
		i := slices.IndexFunc(r.join.At, func(m schemas.Match) bool { return m.Column == c })
		if i < 0 {
			break
		}
		t := &r.join.At[i].Template
		k := keyText{column: c, parts: t.Parts, tail: t.Tail}
		for _, p := range t.Parts {
			k.slots = append(k.slots, slices.Index(names, p.Name))
		}
		if slices.Contains(k.slots, -1) {
			break
		}
		keys = append(keys, k)
	}
	if len(keys) < len(to.Partition) {
		return nil
	}
	return keys
}

// prepareLookups prepares the look-ups of all references that can be looked up.
func (r *reader) prepareLookups(ctx context.Context) error {
	r.lookups = make([]*lookup, len(r.sides))
	for i, s := range r.sides {
		keys := lookupOf(s.rule)
		if keys == nil {
			continue
		}
		p := &schemas.Pattern{Name: "look-up:" + s.key.name, Kind: schemas.Slice, Table: s.join.To}
		for _, k := range keys {
			p.By = append(p.By, k.column)
		}
		if len(keys) == len(p.Table.Key()) {
			p.Kind = schemas.Get
		}
		for _, m := range s.join.At {
			p.Columns = append(p.Columns, m.Column)
		}
		stmt, err := r.store.Prepare(ctx, p)
		if err != nil {
			return err
		}
		session, err := tolerant(r.store)
		if err != nil {
			return err
		}
		r.lookups[i] = &lookup{
			session: r.Pace.Session(session), stmt: stmt, side: newSide(s.rule, true, p.Columns), keys: keys,
			args: make([]drivers.Value, len(keys)),
		}
	}
	return nil
}

// errFound ends a look-up.
var errFound = errors.New("found")

// lookUp looks up the row that the tuple of a side refers to.
func (r *reader) lookUp(ctx context.Context, i int, t *tuple) error {
	l := r.lookups[i]
	if l == nil {
		return nil
	}
	l.found = false
	for k := range l.keys {
		v, ok := l.keys[k].value(t)
		if !ok {
			return nil // no row can have such a key
		}
		l.args[k] = v
	}
	want := r.pending[i].digest
	err := l.session.Read(ctx, l.stmt, l.args, func(row []drivers.Value) error {
		l.tuples.of(l.side, row, func(t *tuple) {
			var d digest
			d, l.buf = digestOf(l.side.rule, t, l.buf)
			l.found = l.found || d == want
		})
		if l.found {
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}

// value makes the key column's value from the variables. ok is false if their text
// is no value of its type.
func (k *keyText) value(t *tuple) (v drivers.Value, ok bool) {
	k.buf = k.buf[:0]
	for i, p := range k.parts {
		k.buf = append(append(k.buf, p.Before...), t.texts[k.slots[i]]...)
	}
	k.buf = append(k.buf, k.tail...)
	kind, text := k.column.Type.Kind, string(k.buf)
	switch kind {
	case schemas.Text, schemas.Blob:
		return drivers.Bytes(kind, k.buf), true
	case schemas.UUID, schemas.TimeUUID:
		u, ok := parseUUID(text)
		return drivers.ID(kind, u), ok
	case schemas.Boolean:
		return drivers.Boolean(text == "true"), text == "true" || text == "false"
	}
	bits := 64
	if kind == schemas.Int {
		bits = 32
	}
	n, err := strconv.ParseInt(text, 10, bits)
	return drivers.Number(kind, n), err == nil
}

// parseUUID parses the form of 36 characters.
func parseUUID(text string) (u [16]byte, ok bool) {
	if len(text) != 36 {
		return u, false
	}
	at := 0
	for i := 0; i < len(text); {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if text[i] != '-' {
				return u, false
			}
			i++
			continue
		}
		b, err := strconv.ParseUint(text[i:i+2], 16, 8)
		if err != nil {
			return u, false
		}
		u[at] = byte(b)
		at++
		i += 2
	}
	return u, true
}
