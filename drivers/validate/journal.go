package validate

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/schemas"
)

// Journal is a file that says which parts of tables a check has read, with what was found in them, so
// that another process can go on with it. Records of these parts are in a folder beside it. It is a
// list of JSON values, one a line; a line that is broken off counts for nothing.
type Journal struct {
	name  string
	mu    sync.Mutex
	file  *os.File
	plans []*partition
	// unlock gives the journal to other processes.
	unlock func() error
}

// journalFormat is the first field of a journal.
const journalFormat = "mailbench.validate/1"

// Of says what a journal is of. A check goes on with that of the same place, schema and sample only.
type Of struct {
	Format string  `json:"format"`
	Store  string  `json:"store"`            // such as "cassandra, keyspace shop"
	Tables string  `json:"tables,omitempty"` // what only these tables have, see drivers.Identified
	Schema string  `json:"schema"`
	Text   string  `json:"schema_sha256"` // of the schema as Format writes it
	Sample float64 `json:"sample"`
	Seed   uint64  `json:"seed"`
}

// partition is how a table was divided, as the journal has it.
type partition struct {
	Table  string   `json:"table"`
	Static bool     `json:"static,omitempty"`
	Of     int      `json:"of"`     // parts, of which those of Ranges are read
	Ranges []string `json:"ranges"` // see drivers.Ranger
	done   map[int]donePart
}

// donePart is a part that was read to its end. Table is the number of its partition.
type donePart struct {
	Table    int       `json:"table"`
	Part     int       `json:"part"`
	Rows     int64     `json:"rows"`
	Bytes    int64     `json:"bytes"`
	Records  bool      `json:"records,omitempty"` // there is a file of them
	Findings []Finding `json:"findings,omitempty"`
}

// line is one line of a journal, after the first.
type line struct {
	Plan *partition `json:"plan,omitempty"`
	Done *donePart  `json:"done,omitempty"`
}

// OpenJournal opens a journal of a check of the schema, or begins one. The fields Format, Schema and Text
// of what it is of are set here. No other process can open it until it is closed.
func OpenJournal(name string, of Of, s *schemas.Schema) (*Journal, error) {
	of.Format, of.Schema, of.Text = journalFormat, s.Name, fmt.Sprintf("%x", sha256.Sum256(schemas.Format(s)))
	if of.Sample >= 1 {
		of.Seed = 0 // nothing is drawn
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	j := &Journal{name: name, file: file}
	if err := j.open(of); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// open takes the lock, and reads what the last one wrote that had it.
func (j *Journal) open(of Of) (err error) {
	if err := of.check(j.file); err != nil {
		return err
	}
	if err := os.MkdirAll(j.folder(), 0o700); err != nil {
		return err
	}
	if j.unlock, err = private.Lock(filepath.Join(j.folder(), "lock")); err != nil {
		return err
	}
	if _, err := j.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	b, err := io.ReadAll(io.LimitReader(j.file, mostJournal))
	if err != nil {
		return err
	}
	if len(b) == 0 {
		return j.append(of)
	}
	whole, err := j.read(b)
	if err != nil {
		return err
	}
	return j.file.Truncate(whole)
}

// check returns an error if a file is no journal, or one of another check. An empty file is a new journal.
func (of Of) check(file io.Reader) error {
	b, err := io.ReadAll(io.LimitReader(file, mostHead))
	if err != nil || len(b) == 0 {
		return err
	}
	text, _, _ := bytes.Cut(b, []byte("\n"))
	if err := checkHead(text, of); err != nil {
		return fmt.Errorf("line 1: %w", err)
	}
	return nil
}

// mostHead bounds the first line.
const mostHead = 1 << 20

// mostJournal bounds the file that is read.
const mostJournal = 1 << 30

// read reads the lines of a journal, and returns how many bytes the whole ones have.
func (j *Journal) read(b []byte) (whole int64, err error) {
	for n := 1; len(b) > 0; n++ {
		text, rest, ended := bytes.Cut(b, []byte("\n"))
		if !ended && n > 1 {
			break // the process ended while it wrote
		}
		if n > 1 {
			if err := j.take(text); err != nil {
				return 0, fmt.Errorf("line %d: %w", n, err)
			}
		}
		whole, b = whole+int64(len(text))+1, rest
	}
	return whole, nil
}

// checkHead refuses a journal of another check.
func checkHead(text []byte, want Of) error {
	var have Of
	if err := json.Unmarshal(text, &have); err != nil || have.Format != journalFormat {
		return errors.New("it was not written by schema validate --resume")
	}
	switch {
	case have.Store != want.Store:
		return fmt.Errorf("it is of %s, not of %s", have.Store, want.Store)
	case have.Tables != want.Tables:
		return fmt.Errorf("it is of %s of another cluster, or of tables that were made anew since", have.Store)
	case have.Schema != want.Schema:
		return fmt.Errorf("it is of schema %s, not of %s", have.Schema, want.Schema)
	case have.Text != want.Text:
		return fmt.Errorf("schema %s was changed since", have.Schema)
	case have != want:
		return fmt.Errorf("it is of a sample of %g with seed %d, not of %g with %d",
			have.Sample, have.Seed, want.Sample, want.Seed)
	}
	return nil
}

func (j *Journal) take(text []byte) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	switch d := l.Done; {
	case l.Plan != nil:
		l.Plan.done = make(map[int]donePart)
		j.plans = append(j.plans, l.Plan)
	case d == nil, d.Table < 0, d.Table >= len(j.plans), d.Part < 0, d.Part >= len(j.plans[d.Table].Ranges):
		return errors.New("it is damaged: a part of no table")
	default:
		j.plans[d.Table].done[d.Part] = *d
	}
	return nil
}

// append writes a value as a line, to the disk.
func (j *Journal) append(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.Write(append(b, '\n')); err != nil {
		return err
	}
	return j.file.Sync()
}

// plan returns the number of a table's partition, or -1.
func (j *Journal) plan(scan *schemas.Pattern) int {
	for i, p := range j.plans {
		if p.Table == scan.Table.Name && p.Static == scan.Static {
			return i
		}
	}
	return -1
}

// divided notes how a table was divided.
func (j *Journal) divided(scan *schemas.Pattern, of int, ranges []string) (plan int, err error) {
	p := &partition{Table: scan.Table.Name, Static: scan.Static, Of: of, Ranges: ranges, done: make(map[int]donePart)}
	j.plans = append(j.plans, p)
	return len(j.plans) - 1, j.append(line{Plan: p})
}

// finished notes that a part was read. Its records are on the disk.
func (j *Journal) finished(d donePart) error {
	if err := j.append(line{Done: &d}); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.plans[d.Table].done[d.Part] = d
	return nil
}

func (j *Journal) folder() string { return j.name + ".records" }

func (j *Journal) records(plan, part int) string {
	return filepath.Join(j.folder(), strconv.Itoa(plan)+"-"+strconv.Itoa(part))
}

// Close closes the file, and leaves it to the next process.
func (j *Journal) Close() error {
	err := j.file.Close()
	if j.unlock != nil {
		err = errors.Join(err, j.unlock())
	}
	return err
}

// Remove removes the file and its records.
func (j *Journal) Remove() error {
	return errors.Join(j.Close(), os.RemoveAll(j.folder()), os.Remove(j.name))
}

// divide gives the records of all parts to the shards.
func (j *Journal) divide(to *shards) error {
	for i, p := range j.plans {
		for part, d := range p.done {
			if !d.Records {
				continue
			}
			if err := to.divide(j.records(i, part)); err != nil {
				return err
			}
		}
	}
	return nil
}

// recorder is where a reader writes records.
type recorder interface {
	write(d *digest, b []byte) error
}

// partFile is the file of records of one part.
type partFile struct {
	name  string
	bytes *atomic.Int64
	f     *os.File
	w     *bufio.Writer
}

func (p *partFile) write(_ *digest, b []byte) (err error) {
	if p.f == nil {
		if p.f, err = os.OpenFile(p.name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
			return fmt.Errorf("write records: %w", err)
		}
		p.w = bufio.NewWriterSize(p.f, 64<<10)
	}
	p.bytes.Add(int64(len(b)))
	if _, err = p.w.Write(b); err != nil {
		return fmt.Errorf("write records: %w", err)
	}
	return nil
}

// end brings the records to the disk, or removes those of a part that was not read to its end.
func (p *partFile) end(whole bool) error {
	if p.f == nil {
		return nil
	}
	err := p.w.Flush()
	if whole {
		err = errors.Join(err, p.f.Sync())
	}
	if err = errors.Join(err, p.f.Close()); err != nil || !whole {
		err = errors.Join(err, os.Remove(p.name))
	}
	return err
}
