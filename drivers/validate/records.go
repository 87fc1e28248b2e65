package validate

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
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
