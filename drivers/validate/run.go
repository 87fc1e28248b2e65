// Package validate checks what a store holds against its schema, on any engine and
// without knowing the model: whether every value is one of its column's type, every
// reference has its row, every count is what a recount finds.
//
//	report, err := validate.Run(ctx, store, schema, validate.Config{Dir: scratch, Workers: 4})
//	report.Broken() // rows, or 0
//
// It reads each table once, in parts that several sessions read at the same time,
// and never writes to the store. For a row that takes part in a reference or count of
// the schema, it writes a record to a Pebble database in Config.Dir: a digest of the
// row's variables, and its key if a finding may name the row. The database sorts the records by digest, so
// that those with the same variables are next to each other. So memory is bounded however large the store
// is, and the database takes 40 to 150 bytes for each row that takes part.
//
// It also has the store compare the index entries that mailbench writes itself with their rows.
//
// In a sample, it reads only some parts of each table. It looks up the rows that these refer to
// in the store one by one, if the key of the other row follows from the row, and writes records of
// those that it finds. It checks no counts and indexes, and no references that cannot be looked up.
//
// It may read a row that is written while it runs, and miss the rows written with it.
// So nothing should write to the store.
package validate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/schemas"
)

// Config says how a check is run.
type Config struct {
	// Dir is an empty folder for records. Run leaves it empty. "" is for small stores: records are in memory.
	Dir string
	// Workers is how many sessions read at once; 0 is 4.
	Workers int
	// Sample is the share of each table to read, above 0 and up to 1; 0 means 1.
	// Seed chooses the parts that are read.
	Sample float64
	Seed   uint64
	// Memory is how many bytes of records are sorted in memory, which takes about five times as much; 0 is 8 MiB.
	Memory int64
	// Pace bounds the reads of the store; nil: nothing does.
	Pace *Pace
	// Progress, if set, is called now and then, from one goroutine at a time.
	Progress func(Progress)
}

// check is one check under way.
type check struct {
	Config
	store   drivers.Store
	schema  *schemas.Schema
	rules   []*rule
	found   findings
	records *records
	rows    atomic.Int64
	bytes   atomic.Int64
	scratch int64 // the most bytes that the records had
	began   time.Time
}

// defaultMemory is the default of Config.Memory.
const defaultMemory = 8 << 20

// Run checks what a store holds. The schema must have been applied to the store, which
// may be open for reading only. Run returns an error if it cannot read, with the report of
// what it has read until then. The report says what is wrong with the data.
func Run(ctx context.Context, store drivers.Store, s *schemas.Schema, cfg Config) (*Report, error) {
	if store.Capabilities().Discards {
		return nil, fmt.Errorf("validate: %s stores nothing that could be checked", store.Capabilities().Engine)
	}
	cfg.Workers, cfg.Sample = cmp.Or(cfg.Workers, 4), cmp.Or(cfg.Sample, 1)
	cfg.Memory, cfg.Pace = cmp.Or(cfg.Memory, defaultMemory), cmp.Or(cfg.Pace, new(Pace))
	c := &check{
		Config: cfg, store: store, schema: s, rules: rulesOf(s), began: time.Now(), found: findings{by: map[About]*Finding{}},
	}
	r := &Report{Schema: s.Name, Sample: cfg.Sample}
	err := c.run(ctx, r)
	r.Paced = cfg.Pace.Kept()
	r.Scratch, r.Findings = c.scratch, append([]Finding{}, c.found.all()...)
	table := func(f Finding) int { return slices.Index(s.Tables, s.Table(f.Table)) }
	slices.SortFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(flag(a.Leftover), flag(b.Leftover)), cmp.Compare(table(a), table(b)),
			cmp.Compare(a.Check, b.Check), cmp.Compare(a.Name, b.Name))
	})
	if err != nil {
		return r, fmt.Errorf("validate %s: %w", s.Name, err)
	}
	return r, nil
}

func (c *check) run(ctx context.Context, r *Report) (err error) {
	folder := ""
	if c.Dir != "" {
		folder = filepath.Join(c.Dir, "records")
		if err := os.Mkdir(folder, 0o700); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	}
	if c.records, err = openRecords(folder, c.Memory); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.records.db.Close()) }()
	for _, t := range c.schema.Tables {
		if t.Header() {
			continue
		}
		scans := []*schemas.Pattern{schemas.ScanOf(t)}
		if len(t.Static) > 0 {
			scans = append(scans, schemas.StaticScanOf(t))
		}
		for _, scan := range scans {
			read, err := c.table(ctx, scan)
			r.Tables = append(r.Tables, read)
			if err != nil {
				return fmt.Errorf("table %s: %w", t.Name, err)
			}
		}
	}
	for _, x := range c.rules {
		if !c.checks(x) {
			r.Unchecked = append(r.Unchecked, x.table.Name+": "+string(x.about.Check)+" "+x.Name)
		}
	}
	c.scratch = max(c.scratch, c.records.size())
	return c.join(ctx)
}

// checks reports whether a rule is checked: in a sample, only references that can be looked up.
func (c *check) checks(x *rule) bool { return c.Sample >= 1 || lookupOf(x) != nil }

// parts is how many parts a table has for each worker, so that no worker is idle for long
// at the end although parts differ in size.
const parts = 8

// samples is how many parts of a table a sample reads. mostParts bounds the parts of a
// table, so a sample of less than 1 % reads fewer.
const (
	samples   = 10
	mostParts = 1000
)

// table reads one table.
func (c *check) table(ctx context.Context, scan *schemas.Pattern) (t Table, err error) {
	t = Table{Name: scan.Table.Name, Static: scan.Static}
	began, rows, bytes := time.Now(), c.rows.Load(), c.bytes.Load()
	chosen, of, err := c.divide(ctx, scan)
	if err != nil {
		return t, err
	}
	t.Parts, t.Read = of, len(chosen)
	work := make(chan drivers.Statement, len(chosen))
	for _, p := range chosen {
		work <- p
	}
	close(work)
	var left atomic.Int64
	left.Store(int64(len(chosen)))
	g, ctx := errgroup.WithContext(ctx)
	for range min(c.Workers, len(chosen)) {
		g.Go(func() error {
			return crash.Guard(func() error { return c.worker(ctx, scan, work, &left) })
		})
	}
	done := make(chan error, 1)
	go func() { done <- g.Wait() }()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			t.Rows, t.Bytes, t.Seconds = c.rows.Load()-rows, c.bytes.Load()-bytes, time.Since(began).Seconds()
			return t, err
		case <-tick.C:
			c.scratch = max(c.scratch, c.records.size())
			c.progress(scan.Table.Name, t.Read-int(left.Load()), t.Read)
		}
	}
}

func (c *check) progress(table string, part, of int) {
	if c.Progress != nil {
		left, pauses := c.Pace.pausing()
		c.Progress(Progress{
			Table: table, Part: part, Parts: of, Rows: c.rows.Load(), Bytes: c.bytes.Load(), Elapsed: time.Since(c.began),
			Pausing: left, Pauses: pauses,
		})
	}
}

// divide prepares a scan in parts, and returns those to read: all of them, or those of a sample, at least one.
func (c *check) divide(ctx context.Context, scan *schemas.Pattern) (chosen []drivers.Statement, of int, err error) {
	st, err := c.store.Prepare(ctx, scan)
	if err != nil {
		return nil, 0, err
	}
	all := []drivers.Statement{st}
	if sp, ok := c.store.(drivers.Splitter); ok {
		n := c.Workers * parts
		if c.Sample < 1 {
			n = int(min(math.Ceil(samples/c.Sample), mostParts))
		}
		if all, err = sp.Split(ctx, st, n); err != nil {
			return nil, 0, err
		}
		if len(all) == 0 { // else nothing would be read, and nothing be wrong
			return nil, 0, fmt.Errorf("the engine divides table %s into no parts", scan.Table.Name)
		}
	}
	n := max(int(math.Round(float64(len(all))*c.Sample)), 1)
	order := rand.New(rand.NewPCG(c.Seed, 0)).Perm(len(all))[:n]
	slices.Sort(order)
	for _, at := range order {
		chosen = append(chosen, all[at])
	}
	return chosen, len(all), nil
}

// worker reads parts of a table until none is left.
func (c *check) worker(
	ctx context.Context, scan *schemas.Pattern, work <-chan drivers.Statement, left *atomic.Int64,
) (err error) {
	r, err := c.newReader(ctx, scan)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, r.session.Close())
		if r.second != nil {
			err = errors.Join(err, r.second.Close())
		}
	}()
	for part := range work {
		if err := r.read(ctx, part); err != nil {
			return err
		}
		left.Add(-1)
	}
	return nil
}
