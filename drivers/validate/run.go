package validate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
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
	// Dir is an empty folder for files of records. The caller removes the files that
	// are left in it after Run.
	Dir string
	// Workers is how many sessions read at once; 0 is 4.
	Workers int
	// Sample is the share of each table to read, above 0 and up to 1; 0 means 1.
	// Seed chooses the parts that are read.
	Sample float64
	Seed   uint64
	// FileBytes is the size of the files that are sorted in memory, which takes
	// about three times as much; 0 is 32 MiB.
	FileBytes int64
	// Pace bounds what reads ask of the store; nil: nothing does.
	Pace *Pace
	// Journal keeps what was read, so that a check that is broken off can go on; nil: nothing does. It
	// needs a store that is a drivers.Ranger.
	Journal *Journal
	// Progress, if set, is called now and then, from one goroutine at a time.
	Progress func(Progress)
}

// check is one check under way.
type check struct {
	Config
	store    drivers.Store
	schema   *schemas.Schema
	rules    []*rule
	found    findings
	fileMost int64
	scratch  atomic.Int64 // bytes of files of records
	peak     atomic.Int64
	rows     atomic.Int64
	bytes    atomic.Int64
	began    time.Time
}

// Run checks what a store holds. The schema must have been applied to the store, which
// may be open for reading only. Run returns an error if it cannot read, with the report of
// what it has read until then. The report says what is wrong with the data.
func Run(ctx context.Context, store drivers.Store, s *schemas.Schema, cfg Config) (*Report, error) {
	if store.Capabilities().Discards {
		return nil, fmt.Errorf("validate: %s keeps nothing that could be checked", store.Capabilities().Engine)
	}
	if _, ok := store.(drivers.Ranger); cfg.Journal != nil && !ok {
		return nil, fmt.Errorf("validate: %s does not tell the ranges of a scan, so a check of it cannot be resumed",
			store.Capabilities().Engine)
	}
	if cfg.Workers == 0 {
		cfg.Workers = 4
	}
	if cfg.Sample == 0 {
		cfg.Sample = 1
	}
	c := &check{
		Config: cfg, store: store, schema: s, rules: rulesOf(s),
		fileMost: cfg.FileBytes, began: time.Now(),
		found: findings{by: map[findingKey]*Finding{}, order: map[string]int{}},
	}
	if c.fileMost == 0 {
		c.fileMost = 32 << 20
	}
	r := &Report{Schema: s.Name, Sample: cfg.Sample}
	err := c.run(ctx, r)
	r.Paced = cfg.Pace.Told()
	r.Findings, r.Scratch = c.found.sorted(), max(c.peak.Load(), c.scratch.Load())
	if err != nil {
		return r, fmt.Errorf("validate %s: %w", s.Name, err)
	}
	return r, nil
}

func (c *check) run(ctx context.Context, r *Report) error {
	records := newShards(c.Dir, 0, &c.scratch)
	defer func() { _ = records.close() }()
	for i, t := range c.schema.Tables {
		c.found.order[t.Name] = i
		if t.Header() {
			continue
		}
		scans := []*schemas.Pattern{schemas.ScanOf(t)}
		if len(t.Static) > 0 {
			scans = append(scans, schemas.StaticScanOf(t))
		}
		if err := c.indexes(ctx, t, r); err != nil {
			return fmt.Errorf("indexes of table %s: %w", t.Name, err)
		}
		for _, scan := range scans {
			read, err := c.table(ctx, scan, records)
			r.Tables = append(r.Tables, read)
			if err != nil {
				return fmt.Errorf("table %s: %w", t.Name, err)
			}
		}
	}
	if c.Sample < 1 {
		for _, x := range c.rules {
			if x.count != nil || lookupOf(x) == nil {
				r.Unchecked = append(r.Unchecked, x.table.Name+": "+string(x.key.check)+" "+x.key.name)
			}
		}
		return nil
	}
	if c.Journal != nil {
		if err := c.Journal.divide(records); err != nil {
			return err
		}
	}
	return c.join(ctx, records)
}

// indexes compares the entries of a table's indexes with its rows, if mailbench wrote them. A sample leaves
// that out.
func (c *check) indexes(ctx context.Context, t *schemas.Table, r *Report) error {
	store, ok := c.store.(drivers.IndexChecker)
	if !ok || len(t.Indexes) == 0 {
		return nil
	}
	if c.Sample < 1 {
		for _, x := range t.Indexes {
			r.Unchecked = append(r.Unchecked, t.Name+": index "+x.Name)
		}
		return nil
	}
	step := func() error { return ctx.Err() }
	if c.Pace != nil {
		step = func() error { return c.Pace.wait(ctx, 1) }
	}
	return store.CheckIndexes(ctx, t, step, func(f drivers.IndexFault) {
		c.found.add(findingKey{t.Name, f.Index, Index, f.Stale}, 1, 0, 0, func() string {
			if f.Key == nil {
				return f.What
			}
			return fmt.Sprintf("%s: %s", appendKey(nil, t.Key(), f.Key), f.What)
		})
	})
}

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
func (c *check) table(ctx context.Context, scan *schemas.Pattern, records *shards) (t Table, err error) {
	t = Table{Name: scan.Table.Name, Static: scan.Static}
	began, rows, bytes := time.Now(), c.rows.Load(), c.bytes.Load()
	d, err := c.divide(ctx, scan)
	if err != nil {
		return t, err
	}
	t.Parts, t.Read, t.Earlier = d.of, len(d.chosen)+d.earlier, d.earlier
	t.RowsEarlier = c.rows.Load() - rows
	work := make(chan part, len(d.chosen))
	for _, p := range d.chosen {
		work <- p
	}
	close(work)
	var left atomic.Int64
	left.Store(int64(len(d.chosen)))
	g, ctx := errgroup.WithContext(ctx)
	for range min(c.Workers, len(d.chosen)) {
		g.Go(func() error {
			return crash.Guard(func() error { return c.worker(ctx, scan, records, work, d.plan, &left) })
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
	number int
}

// division is a scan in parts.
type division struct {
	chosen  []part // those to read
	of      int    // all parts
	earlier int    // parts that an earlier process has read
	plan    int    // number in the journal; -1 without one
}

// divide prepares a scan in parts, and chooses those to read.
func (c *check) divide(ctx context.Context, scan *schemas.Pattern) (d division, err error) {
	st, err := c.store.Prepare(ctx, scan)
	if err != nil {
		return d, err
	}
	if c.Journal != nil {
		if plan := c.Journal.plan(scan); plan >= 0 {
			return c.goOn(ctx, st, plan)
		}
	}
	all := []drivers.Statement{st}
	if sp, ok := c.store.(drivers.Splitter); ok {
		n := c.Workers * parts
		switch {
		case c.Sample < 1:
			n = int(min(math.Ceil(samples/c.Sample), mostParts))
		case c.Journal != nil:
			n = max(n, journalParts)
		}
		if all, err = sp.Split(ctx, st, n); err != nil {
			return d, err
		}
	}
	d = division{of: len(all), plan: -1}
	var ranges []string
	for i, st := range c.choose(all) {
		d.chosen = append(d.chosen, part{st, i})
		if c.Journal != nil {
			ranges = append(ranges, c.store.(drivers.Ranger).Range(st))
		}
	}
	if c.Journal != nil {
		d.plan, err = c.Journal.divided(scan, d.of, ranges)
	}
	return d, err
}

// goOn divides a scan as the journal has it, and takes over what the parts that were read have left.
func (c *check) goOn(ctx context.Context, st drivers.Statement, plan int) (division, error) {
	p := c.Journal.plans[plan]
	all, err := c.store.(drivers.Ranger).Within(ctx, st, p.Ranges)
	if err != nil {
		return division{}, err
	}
	d := division{of: p.Of, earlier: len(p.done), plan: plan}
	for i, st := range all {
		done, ok := p.done[i]
		if !ok {
			d.chosen = append(d.chosen, part{st, i})
			continue
		}
		c.rows.Add(done.Rows)
		c.bytes.Add(done.Bytes)
		c.found.merge(done.Findings)
	}
	return d, nil
}

// choose returns the parts to read: all of them, or those of a sample, at least one.
func (c *check) choose(all []drivers.Statement) []drivers.Statement {
	if c.Sample >= 1 {
		return all
	}
	n := max(int(math.Round(float64(len(all))*c.Sample)), 1)
	order := rand.New(rand.NewPCG(c.Seed, 0)).Perm(len(all))[:n]
	slices.Sort(order)
	chosen := make([]drivers.Statement, n)
	for i, at := range order {
		chosen[i] = all[at]
	}
	return chosen
}

// worker reads parts of a table until none is left.
func (c *check) worker(
	ctx context.Context, scan *schemas.Pattern, records *shards, work <-chan part, plan int, left *atomic.Int64,
) (err error) {
	r, err := c.newReader(ctx, scan, records)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	for p := range work {
		if plan < 0 {
			err = r.read(ctx, p.st)
		} else {
			err = r.readNoted(ctx, p, plan)
		}
		if err != nil {
			return err
		}
		left.Add(-1)
	}
	return nil
}
