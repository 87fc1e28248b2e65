// Package drivertest tests the contract of every engine. It is one suite over any
// [drivers.Store]. A driver's test is one call:
//
//	func TestContract(t *testing.T) { drivertest.Run(t, open) }
//
// Each topic reads one schema of this package, gives it a name of its own, and prepares
// a store with that schema applied. All topics can share an engine that is slow to
// start. The suite learns from Capabilities and Prepare what an engine lacks, never from
// its name.
//
// The suite keeps the caller's side of the contract as strictly as the contract
// allows. It overwrites arguments when a call has returned, and copies rows before
// yield returns. Every call goes through a [drivers.Meter].
package drivertest

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

//go:embed schemas/*.yaml
var files embed.FS

// patience bounds the time of one topic, so that an engine that hangs fails.
const patience = 5 * time.Minute

// names makes schema names that no other run on a shared engine has.
var (
	names   atomic.Int64
	started = strconv.FormatInt(time.Now().UnixNano(), 36)
)

// parse reads one schema of the package under a name of its own. It replaces words by
// pairs, as strings.NewReplacer does.
func parse(t testing.TB, file string, pairs ...string) *schemas.Schema {
	t.Helper()
	src, err := files.ReadFile("schemas/" + file)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("dt_%s_%d", started, names.Add(1))
	pairs = append(pairs, "name: drivertest", "name: "+name)
	s, err := schemas.Parse(file, []byte(eachKey(strings.NewReplacer(pairs...).Replace(string(src)))))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// suite is one schema on one store.
type suite struct {
	testing.TB
	ctx    context.Context
	store  drivers.Store
	caps   drivers.Capabilities
	schema *schemas.Schema
	set    *drivers.Prepared
	shared bool // the topic runs under RunShared
}

// begin opens a store with the schema file applied and all its patterns prepared.
func begin(t testing.TB, open Open, file string, pairs ...string) *suite {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	s := &suite{TB: t, ctx: ctx, schema: parse(t, file, pairs...)}
	s.store = open(t, s.schema)
	s.caps = s.store.Capabilities()
	if sh, ok := s.store.(*shared); ok {
		sh.begin(s, file, pairs)
	} else {
		s.prepare()
	}
	return s
}

// prepare prepares all patterns of the suite's schema.
func (s *suite) prepare() {
	s.Helper()
	var err error
	if s.set, err = drivers.PrepareAll(s.ctx, s.store, s.schema); err != nil {
		s.Fatal(err)
	}
}

// offers reports whether the engine can run the pattern or its fallback.
func (s *suite) offers(pattern string) bool {
	s.Helper()
	_, err := s.set.Get(pattern)
	if err != nil && !errors.Is(err, drivers.ErrUnsupported) {
		s.Fatal(err)
	}
	return err == nil
}

// client opens a session that is closed when the topic ends.
func (s *suite) client() *client {
	s.Helper()
	session, err := s.store.Session()
	if err != nil {
		s.Fatalf("open a session: %v", err)
	}
	s.Cleanup(func() {
		if err := session.Close(); err != nil {
			s.Errorf("close a session: %v", err)
		}
	})
	return &client{suite: s, fail: s.TB, session: drivers.NewMeter(session)}
}

// parallel runs n clients at once and fails if one of them returns an error.
func (s *suite) parallel(n int, run func(i int, c *client) error) {
	s.Helper()
	var g errgroup.Group
	for i := range n {
		c := s.client()
		g.Go(func() error { return run(i, c) })
	}
	if err := g.Wait(); err != nil {
		s.Fatal(err)
	}
}

// failer is the part of a test that a client needs. Rapid's tests have it too.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// client runs patterns by name on one session.
type client struct {
	*suite
	fail    failer
	session *drivers.Meter
}

func (c *client) statement(pattern string) drivers.Statement {
	c.fail.Helper()
	st, err := c.set.Get(pattern)
	if err != nil {
		c.fail.Fatalf("%v", err)
	}
	return st
}

// args turns Go values into the pattern's arguments.
func (c *client) args(pattern string, vals []any) []drivers.Value {
	c.fail.Helper()
	want := c.schema.Pattern(pattern).Args()
	if len(want) != len(vals) {
		c.fail.Fatalf("pattern %s takes %d arguments, the test gives %d", pattern, len(want), len(vals))
	}
	args := make([]drivers.Value, len(vals))
	for i, v := range vals {
		args[i] = valueOf(want[i].Type, v)
	}
	return args
}

// try runs a write and returns its result.
func (c *client) try(pattern string, vals ...any) (drivers.Result, error) {
	c.fail.Helper()
	args := c.args(pattern, vals)
	r, err := c.session.Write(c.ctx, c.statement(pattern), args)
	poison(args)
	if err != nil {
		err = fmt.Errorf("%s %v: %w", pattern, clip(vals), err)
	}
	return r, err
}

// write runs a write that must be applied.
func (c *client) write(pattern string, vals ...any) {
	c.fail.Helper()
	r, err := c.try(pattern, vals...)
	if err != nil {
		c.fail.Fatalf("%v", err)
	}
	if !r.Applied {
		c.fail.Fatalf("%s %v was not applied; it has no condition", pattern, clip(vals))
	}
}

// part is one member of a batch call.
type part struct {
	at   int
	vals []any
}

// with returns a call of the batch's part number at, counted from 0.
func with(at int, vals ...any) part { return part{at, vals} }

// batch runs a batch and returns its error.
func (c *client) batch(pattern string, parts ...part) error {
	c.fail.Helper()
	calls := make([]drivers.Call, len(parts))
	for i, p := range parts {
		calls[i] = drivers.Call{Part: p.at, Args: c.args(c.schema.Pattern(pattern).Parts[p.at].Pattern.Name, p.vals)}
	}
	err := c.session.Batch(c.ctx, c.statement(pattern), calls)
	for _, call := range calls {
		poison(call.Args)
	}
	return err
}

// lines runs a read and returns its rows as text.
func (c *client) lines(pattern string, vals ...any) ([]string, error) {
	c.fail.Helper()
	got, err := c.run(c.statement(pattern), c.schema.Pattern(pattern), c.args(pattern, vals))
	if err != nil {
		err = fmt.Errorf("%s %v: %w", pattern, clip(vals), err)
	}
	return got, err
}

// run runs a read and returns its rows as text.
func (c *client) run(st drivers.Statement, p *schemas.Pattern, args []drivers.Value) (got []string, err error) {
	types := columnTypes(p)
	err = c.session.Read(c.ctx, st, args, func(row []drivers.Value) error {
		if err := check(types, row); err != nil {
			return err
		}
		got = append(got, line(row))
		return nil
	})
	poison(args)
	return got, err
}

// read runs a read that must not fail, and returns its rows as text.
func (c *client) read(pattern string, vals ...any) []string {
	c.fail.Helper()
	got, err := c.lines(pattern, vals...)
	if err != nil {
		c.fail.Fatalf("%v", err)
	}
	return got
}

// expect runs a read, which must yield the lines.
func (c *client) expect(want []string, pattern string, vals ...any) {
	c.fail.Helper()
	if got := c.read(pattern, vals...); !slices.Equal(got, want) {
		c.fail.Fatalf("%s %v yields\n  %s\nexpected\n  %s", pattern, clip(vals), strings.Join(got, "\n  "),
			strings.Join(want, "\n  "))
	}
}

// expectCount runs a read, which must yield n rows.
func (c *client) expectCount(n int, pattern string, vals ...any) {
	c.fail.Helper()
	if got := c.read(pattern, vals...); len(got) != n {
		c.fail.Fatalf("%s %v yields %d rows, expected %d", pattern, clip(vals), len(got), n)
	}
}

// Open returns a store to which the schema was applied. The suite closes its
// sessions, never the store: Open leaves that to t.Cleanup, or shares the store.
type Open func(t testing.TB, s *schemas.Schema) drivers.Store

// Topic is one part of the contract.
type Topic struct {
	Name string
	Run  func(t testing.TB, open Open)
}

// Topics returns the parts of the contract, simple ones first.
func Topics() []Topic {
	return []Topic{
		{"rows", random("rows.yaml")},
		{"apply", apply},
		{"order", order},
		{"composite", random("composite.yaml")},
		{"splits", splits},
		{"traces", traces},
		{"narrow", random("narrow.yaml")},
		{"large", large},
		{"collections", random("collections.yaml", appends)},
		{"counters", random("counters.yaml", counters, returns)},
		{"conditions", random("conditions.yaml", races, counting, moves)},
		{"batches", random("batches.yaml", limitedBatches)},
		{"isolation", isolation},
		{"statics", random("statics.yaml")},
		{"nested", random("nested.yaml")},
		{"ties", ties},
		{"indexes", random("indexes.yaml", fallbacks)},
		{"sessions", sessions},
		{"contexts", contexts},
		{"concurrency", concurrency},
		{"meter", meter},
	}
}

// Run tests that the stores which open returns keep the contract.
func Run(t *testing.T, open Open) {
	for _, topic := range Topics() {
		t.Run(topic.Name, func(t *testing.T) { topic.Run(t, open) })
	}
}

// apply tests Apply, Inspect and Prepare.
func apply(t testing.TB, open Open) {
	s := begin(t, open, "rows.yaml")
	c := s.client()
	c.write("put_a", "p", 1, "kept")
	if err := s.store.Apply(s.ctx, s.schema); err != nil {
		t.Fatalf("apply the schema again: %v", err)
	}
	c.expect([]string{"1 kept"}, "all", "p")

	named := []string{"name: drivertest", "name: " + s.schema.Name}
	other := parse(t, "rows.yaml", append(named, "n: bigint", "n: text")...)
	if err := s.store.Apply(s.ctx, other); err == nil {
		t.Errorf("a schema with another type in a column was applied over the one that is there")
	}
	other = parse(t, "rows.yaml", append(named, "clustering: [k int]", "clustering: [k int desc]")...)
	if err := s.store.Apply(s.ctx, other); err == nil {
		t.Errorf("a schema with another direction was applied over the one that is there")
	}
	c.expect([]string{"1 kept"}, "all", "p")

	again := *s
	again.schema = parse(t, "rows.yaml", named...) // another parse of what was applied
	again.prepare()
	again.client().write("put_a", "p", 2, "too")
	again.client().expect([]string{"1 kept", "2 too"}, "all", "p")

	for _, file := range []string{"nested.yaml", "statics.yaml", "collections.yaml", "indexes.yaml"} {
		inspected(begin(t, open, file))
	}
	inspected(s)
	if _, err := s.store.Inspect(s.ctx, "dt_nowhere"); err == nil {
		t.Errorf("inspecting a schema that was never applied returned no error")
	}
	absent := parse(t, "rows.yaml")
	if _, err := s.store.Prepare(s.ctx, absent.Pattern("get")); err == nil {
		t.Errorf("a pattern of a schema that was not applied could be prepared")
	} else if errors.Is(err, drivers.ErrUnsupported) {
		t.Errorf("a pattern of a schema that was not applied: %v, expected another error than ErrUnsupported", err)
	}
}

// inspected compares the schema that Inspect returns with the applied schema, and
// with the schema that Stored returns.
func inspected(s *suite) {
	s.Helper()
	got, err := s.store.Inspect(s.ctx, s.schema.Name)
	if err != nil {
		s.Fatalf("inspect %s: %v", s.schema.Name, err)
	}
	want := schemas.Canonical(s.schema)
	for _, t := range want.Tables {
		t.Hints = nil
	}
	for _, d := range schemas.Diff(want, got) {
		if d.Kind != schemas.MissingIndex || s.reads(d.Part) {
			s.Errorf("Inspect differs from the schema that was applied: %s", d)
		}
	}
	stored, err := s.store.Stored(s.schema)
	if err != nil {
		s.Fatalf("stored %s: %v", s.schema.Name, err)
	}
	for _, d := range schemas.Diff(stored, got) {
		s.Errorf("Inspect differs from Stored: %s", d)
	}
	for what, form := range map[string]*schemas.Schema{"Inspect": got, "Stored": stored} {
		if again := schemas.Canonical(form); string(schemas.Format(again)) != string(schemas.Format(form)) {
			s.Errorf("what %s returns is not in canonical form:\n%s", what, schemas.Format(form))
		}
	}
}

// reads reports whether the engine reads through an index.
func (s *suite) reads(index string) bool {
	return slices.ContainsFunc(s.schema.Patterns, func(p *schemas.Pattern) bool {
		st, err := s.set.Get(p.Name)
		return err == nil && p.Index != nil && p.Index.Name == index && st.Emulates() == nil
	})
}
