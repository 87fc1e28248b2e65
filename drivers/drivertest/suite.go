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

// returned runs a write and returns the result's row as a line.
func (c *client) returned(pattern string, vals ...any) string {
	c.fail.Helper()
	r, err := c.try(pattern, vals...)
	if err != nil {
		c.fail.Fatalf("%v", err)
	}
	return line(r.Row)
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
	args := c.args(pattern, vals)
	types := columnTypes(c.schema.Pattern(pattern))
	var got []string
	err := c.session.Read(c.ctx, c.statement(pattern), args, func(row []drivers.Value) error {
		if err := check(types, row); err != nil {
			return err
		}
		got = append(got, line(row))
		return nil
	})
	poison(args)
	if err != nil {
		err = fmt.Errorf("%s %v: %w", pattern, clip(vals), err)
	}
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

// same is expect for reads without a promised order.
func (c *client) same(want []string, pattern string, vals ...any) {
	c.fail.Helper()
	got := slices.Sorted(slices.Values(c.read(pattern, vals...)))
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		c.fail.Fatalf("%s %v yields, sorted,\n  %s\nexpected\n  %s", pattern, clip(vals), strings.Join(got, "\n  "),
			strings.Join(want, "\n  "))
	}
}
