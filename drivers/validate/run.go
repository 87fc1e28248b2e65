// Package validate checks what a store holds against its schema, on any engine and
// without knowing the model: whether every value is one of its column's type, every
// reference has its row, every count is what a recount finds.
//
//	report, err := validate.Run(ctx, store, schema, validate.Config{Dir: scratch, Workers: 4})
//	report.Broken() // rows, or 0
//
// It reads each table once, in parts that several sessions read at the same time,
// and never writes to the store. For a row that takes part in a reference or count of
// the schema, it writes a record to a Pebble database in Config.Dir, or to the journal: a digest of the
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
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/schemas"
)

// Config says how a check is run.
type Config struct {
	// Dir is an empty folder for records, if there is no journal. Run leaves it empty. "" is for small stores: records
	// are in memory.
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
	// Journal is what an interrupted check is resumed from; nil: it cannot be. It needs a drivers.Splitter.
	Journal *Journal
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
	rows    atomic.Int64
	bytes   atomic.Int64
	scratch int64 // the most bytes that the journal had
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
	if _, ok := store.(drivers.Splitter); cfg.Journal != nil && !ok {
		return nil, fmt.Errorf("validate: %s does not report the ranges of a scan, so a check of it cannot be resumed",
			store.Capabilities().Engine)
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
	if c.Journal == nil {
		c.Journal = &Journal{fs: vfs.NewMem()}
		if c.Dir != "" {
			c.Journal = &Journal{folder: filepath.Join(c.Dir, "records")}
			if err := os.Mkdir(c.Journal.folder, 0o700); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, os.RemoveAll(c.Journal.folder)) }()
		}
		if err := c.Journal.open(c.Memory); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Journal.Close()) }()
	}
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
	c.scratch = max(c.scratch, c.Journal.size())
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

// journalParts is into how many parts a table is divided at least if a check can go on with the rest.
const journalParts = 256

// table reads one table.
func (c *check) table(ctx context.Context, scan *schemas.Pattern) (t Table, err error) {
	t = Table{Name: scan.Table.Name, Static: scan.Static}
	began, rows, bytes := time.Now(), c.rows.Load(), c.bytes.Load()
	chosen, plan, err := c.divide(ctx, scan)
	if err != nil {
		return t, err
	}
	t.Earlier = len(plan.done)
	t.Parts, t.Read = plan.Of, len(chosen)+t.Earlier
	t.RowsEarlier = c.rows.Load() - rows
	work := make(chan part, len(chosen))
	for _, p := range chosen {
		work <- p
	}
	close(work)
	var left atomic.Int64
	left.Store(int64(len(chosen)))
	g, ctx := errgroup.WithContext(ctx)
	for range min(c.Workers, len(chosen)) {
		g.Go(func() error {
			return crash.Guard(func() error { return c.worker(ctx, scan, work, plan, &left) })
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
			c.scratch = max(c.scratch, c.Journal.size())
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

// part is a part of a table, with its number in the journal.
type part struct {
	st     drivers.Statement
	number uint32
}

// divide prepares a scan in parts, as the journal has it, and returns those to read. It adds what was found in the
// parts that an earlier process has read.
func (c *check) divide(ctx context.Context, scan *schemas.Pattern) (left []part, plan *partition, err error) {
	st, err := c.store.Prepare(ctx, scan)
	if err != nil {
		return nil, nil, err
	}
	known := func(p *partition) bool { return p.Table == scan.Table.Name && p.Static == scan.Static }
	if i := slices.IndexFunc(c.Journal.plans, known); i >= 0 {
		plan = c.Journal.plans[i]
	} else if plan, err = c.split(ctx, scan, st); err != nil {
		return nil, nil, err
	}
	all := []drivers.Statement{st}
	if sp, ok := c.store.(drivers.Splitter); ok {
		if all, err = sp.Within(ctx, st, plan.Ranges); err != nil {
			return nil, nil, err
		}
	}
	for i, st := range all {
		done := plan.done[uint32(i)]
		if done == nil {
			left = append(left, part{st, uint32(i)})
			continue
		}
		c.rows.Add(done.Rows)
		c.bytes.Add(done.Bytes)
		c.found.merge(done.Findings...)
	}
	return left, plan, nil
}

// split divides a scan and chooses the parts to read: all of them, or those of a sample, at least one. It notes
// that in the journal.
func (c *check) split(ctx context.Context, scan *schemas.Pattern, st drivers.Statement) (*partition, error) {
	all := []string{":"} // the whole table
	if sp, ok := c.store.(drivers.Splitter); ok {
		n := c.Workers * parts
		switch {
		case c.Sample < 1:
			n = int(min(math.Ceil(samples/c.Sample), mostParts))
		case c.Journal.file != "":
			n = max(n, journalParts)
		}
		var err error
		if all, err = sp.Split(ctx, st, n); err != nil {
			return nil, err
		}
		if len(all) == 0 { // else nothing would be read, and nothing be wrong
			return nil, fmt.Errorf("the engine divides table %s into no parts", scan.Table.Name)
		}
	}
	n := max(int(math.Round(float64(len(all))*c.Sample)), 1)
	order := rand.New(rand.NewPCG(c.Seed, 0)).Perm(len(all))[:n]
	slices.Sort(order)
	j := c.Journal
	plan := &partition{
		Table: scan.Table.Name, Static: scan.Static, Of: len(all), number: uint32(len(j.plans)), done: map[uint32]*donePart{},
	}
	for _, at := range order {
		plan.Ranges = append(plan.Ranges, all[at])
	}
	j.plans = append(j.plans, plan)
	b, err := json.Marshal(plan)
	return plan, errors.Join(err, j.set(binary.BigEndian.AppendUint32([]byte{planKey}, plan.number), b))
}

// worker reads parts of a table until none is left.
func (c *check) worker(
	ctx context.Context, scan *schemas.Pattern, work <-chan part, plan *partition, left *atomic.Int64,
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
	for p := range work {
		r.of = recordOf{c.Journal.round, plan.number, p.number}
		if err := r.read(ctx, p.st); err != nil {
			return err
		}
		left.Add(-1)
	}
	return nil
}
