// Package drivertest tests the contract of every engine. It is one suite over any
// [drivers.Store]. A driver's test is one call:
//
//	func TestContract(t *testing.T) { drivertest.Run(t, open) }
//
// Each topic is about one schema of this package, whose tables have a name of their own. All topics
// can share an engine that is slow to start. The suite learns from Capabilities and Prepare what an
// engine lacks, never from its name.
//
// The suite keeps the caller's side of the contract as strictly as the contract
// allows. It overwrites arguments when a call has returned, and copies rows before
// yield returns. Sessions count what calls cost in a [drivers.Meter].
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

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

//go:embed schemas/*.yaml
var files embed.FS

// patience bounds the time of one call. An engine that hangs fails after twice that.
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
	ref    *reference // what the store must return to all clients
}

// newSuite applies a schema to a store, and prepares all its patterns.
func newSuite(ctx context.Context, t testing.TB, st drivers.Store, schema *schemas.Schema) *suite {
	t.Helper()
	s := &suite{TB: t, ctx: ctx, store: st, caps: st.Capabilities(), schema: schema, ref: newReference()}
	err := st.Apply(ctx, schema)
	if err == nil {
		s.set, err = drivers.PrepareAll(ctx, st, schema)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// opened returns a suite over a store that an engine opens. The caller closes it.
func opened(ctx context.Context, t testing.TB, e drivers.Engine, o drivers.Options, schema *schemas.Schema) *suite {
	t.Helper()
	st, err := e.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return newSuite(ctx, t, st, schema)
}

func (s *suite) close() {
	s.Helper()
	if err := s.store.Close(); err != nil {
		s.Errorf("close the store: %v", err)
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
	return s.clientOn(s.store.Session())
}

// clientOn returns a client of a session, if it could be opened.
func (s *suite) clientOn(session drivers.Session, err error) *client {
	s.Helper()
	if err != nil {
		s.Fatalf("open a session: %v", err)
	}
	s.Cleanup(func() {
		if err := session.Close(); err != nil {
			s.Errorf("close a session: %v", err)
		}
	})
	return &client{suite: s, fail: s.TB, session: session}
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
	session drivers.Session
}

func (c *client) statement(pattern string) drivers.Statement {
	c.fail.Helper()
	st, err := c.set.Get(pattern)
	if err != nil {
		c.fail.Fatalf("%v", err)
	}
	return st
}

// call returns a call of a pattern with Go values as its arguments.
func (c *client) call(pattern string, vals ...any) call {
	c.fail.Helper()
	p := c.schema.Pattern(pattern)
	args := p.Args()
	if len(args) != len(vals) {
		c.fail.Fatalf("pattern %s takes %d arguments, the test gives %d", pattern, len(args), len(vals))
	}
	x := call{p: p}
	for i, a := range args {
		x.args = append(x.args, valueOf(a.Type, vals[i]))
	}
	return x
}

// check makes a call of a pattern on the store and on the reference: the outcomes are the same.
func (c *client) check(pattern string, vals ...any) outcome {
	c.fail.Helper()
	got, _ := c.agree(c.call(pattern, vals...))
	return got
}

// agree makes a call on both sides, and returns the outcomes, of which only the costs may differ.
func (c *client) agree(x call) (got, want outcome) {
	c.fail.Helper()
	got, err := c.do(x)
	if want = c.ref.do(x); err != nil || got.applied != want.applied {
		c.fail.Fatalf("%s: %v, %v; want %v", x, got, err, want)
	}
	if got.present != "" && got.present != want.present {
		c.fail.Fatalf("%s was not applied, since the row has %s; want %s", x, got.present, want.present)
	}
	c.equal(x.String(), x.p, got.rows, want.rows)
	return got, want
}

// equal compares rows, of which the order may be the engine's affair.
func (c *client) equal(what string, p *schemas.Pattern, got, want []string) {
	c.fail.Helper()
	null := func(line string) bool { return overPlain(p) && strings.HasPrefix(line, "null") }
	got, want = slices.DeleteFunc(got, null), slices.DeleteFunc(want, null)
	if limit := p.Limit; p.Kind == schemas.Scan && limit > 0 {
		if len(got) != len(want) {
			c.fail.Fatalf("%s yields %d rows, want %d", what, len(got), len(want))
		}
		return // which ones is the engine's affair
	}
	if p.Kind == schemas.Scan || overPlain(p) && len(p.After) == 0 {
		slices.Sort(got)
		slices.Sort(want)
	}
	if !slices.Equal(got, want) {
		c.fail.Fatalf("%s yields\n  %s\nwant\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// batch returns a call of a batch, of calls of its parts.
func (c *client) batch(pattern string, parts ...call) call {
	x := call{p: c.schema.Pattern(pattern), parts: parts}
	for i := range parts {
		parts[i].at = slices.IndexFunc(x.p.Parts, func(p schemas.Part) bool { return p.Pattern == parts[i].p })
	}
	return x
}

// Open returns a store for a schema. The suite applies the schema and closes its
// sessions, never the store: Open leaves that to t.Cleanup, or shares the store.
type Open func(t testing.TB, s *schemas.Schema) drivers.Store

// Topic is one part of the contract: what is checked on the tables of one schema.
type Topic struct {
	Name  string // of the schema's file
	check func(s *suite)
}

// Topics returns the parts of the contract, simple ones first.
func Topics() []Topic {
	return []Topic{
		{"rows", random(applied, traced, sessions, large)},
		{"keys", order},
		{"composite", random(nil)},
		{"narrow", random(nil)},
		{"collections", random(inspected, elements)},
		{"counters", random(nil)},
		{"conditions", random(nil)},
		{"batches", random(nil, limits)},
		{"statics", random(inspected)},
		{"nested", random(inspected)},
		{"indexes", random(inspected)},
	}
}

// Run checks the topic on a store.
func (x Topic) Run(t testing.TB, open Open) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	schema := parse(t, x.Name+".yaml")
	x.check(newSuite(ctx, t, open(t, schema), schema))
}

// Run tests that the stores which open returns keep the contract: all topics, unless some are named.
func Run(t *testing.T, open Open, names ...string) {
	for _, topic := range Topics() {
		if len(names) == 0 || slices.Contains(names, topic.Name) {
			t.Run(topic.Name, func(t *testing.T) { topic.Run(t, open) })
		}
	}
}

// RunShared is Run on one store, for an engine that is slow to open.
func RunShared(t *testing.T, st drivers.Store, names ...string) {
	Run(t, func(testing.TB, *schemas.Schema) drivers.Store { return st }, names...)
}
