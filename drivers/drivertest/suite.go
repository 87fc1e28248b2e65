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
	ref    *reference // what the store must return to all clients
	shared bool       // the topic runs under RunShared
}

// begin opens a store with the schema file applied and all its patterns prepared.
func begin(t testing.TB, open Open, file string) *suite {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	s := &suite{TB: t, ctx: ctx, schema: parse(t, file), ref: newReference()}
	s.store = open(t, s.schema)
	s.caps = s.store.Capabilities()
	if sh, ok := s.store.(*shared); ok {
		sh.begin(s, file)
	} else {
		s.prepare()
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
	return &suite{TB: t, ctx: ctx, schema: schema, store: st, caps: st.Capabilities(), ref: newReference()}
}

// apply applies the suite's schema.
func (s *suite) apply() {
	s.Helper()
	if err := s.store.Apply(s.ctx, s.schema); err != nil {
		s.Fatal(err)
	}
}

func (s *suite) close() {
	s.Helper()
	if err := s.store.Close(); err != nil {
		s.Errorf("close the store: %v", err)
	}
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
	types := make([]schemas.Type, len(args))
	for i, a := range args {
		types[i] = a.Type
	}
	return call{p: p, args: valuesOf(types, vals)}
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
		{"traces", traces},
		{"narrow", random("narrow.yaml")},
		{"large", large},
		{"collections", random("collections.yaml", elements)},
		{"counters", random("counters.yaml")},
		{"conditions", random("conditions.yaml")},
		{"batches", random("batches.yaml", limits)},
		{"statics", random("statics.yaml")},
		{"nested", random("nested.yaml")},
		{"indexes", random("indexes.yaml")},
		{"sessions", sessions},
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
	c.check("put_a", "p", 1, "kept")
	if err := s.store.Apply(s.ctx, s.schema); err != nil {
		t.Fatalf("apply the schema again: %v", err)
	}
	c.check("all", "p")

	named := []string{"name: drivertest", "name: " + s.schema.Name}
	other := parse(t, "rows.yaml", append(named, "n: bigint", "n: text")...)
	if err := s.store.Apply(s.ctx, other); err == nil {
		t.Errorf("a schema with another type in a column was applied over the one that is there")
	}
	other = parse(t, "rows.yaml", append(named, "clustering: [k int]", "clustering: [k int desc]")...)
	if err := s.store.Apply(s.ctx, other); err == nil {
		t.Errorf("a schema with another direction was applied over the one that is there")
	}
	c.check("all", "p")

	again := *s
	again.schema = parse(t, "rows.yaml", named...) // another parse of what was applied
	if err := s.store.Apply(s.ctx, again.schema); err != nil {
		t.Fatalf("apply another parse of the schema: %v", err)
	}
	again.prepare()
	a, row := again.client(), []any{"p", 2, "too"}
	put, err := a.do(a.call("put_a", row...))
	if want := c.ref.do(c.call("put_a", row...)); err != nil || !put.equal(want) {
		t.Fatalf("another parse of the schema writes: %v, %v", put, err)
	}
	if all, err := a.do(a.call("all", "p")); err != nil || !all.equal(c.check("all", "p")) {
		t.Fatalf("another parse of the schema reads: %v, %v", all, err)
	}

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
		reads := slices.ContainsFunc(s.schema.Patterns, func(p *schemas.Pattern) bool { // through that index
			st, err := s.set.Get(p.Name)
			return err == nil && p.Index != nil && p.Index.Name == d.Part && st.Emulates() == nil
		})
		if d.Kind != schemas.MissingIndex || reads {
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

// traces tests the sessions of a [drivers.Tracer].
func traces(t testing.TB, open Open) {
	c := begin(t, open, "rows.yaml").client()
	tracer, ok := c.store.(drivers.Tracer)
	if !ok {
		t.Skip("the store is no Tracer")
	}
	for k := 1; k <= 10; k++ {
		c.check("put_a", "p", k, "v")
	}
	for k := 1; k <= 4; k++ {
		c.check("drop", "p", k)
	}
	session, err := tracer.Traced()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}()
	traced := &client{suite: c.suite, fail: t, session: session}
	work := func(calls ...call) []drivers.Work {
		var requests []int64
		for _, x := range calls {
			session.Begin()
			got, _ := traced.agree(x)
			requests = append(requests, got.cost.Requests)
		}
		all, err := session.Work(c.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != len(calls) {
			t.Fatalf("Work returned %d pieces of work, expected %d", len(all), len(calls))
		}
		for i := range all {
			if all[i].Requests != requests[i] {
				t.Errorf("piece of work %d took %d requests, and the session counted %d", i, all[i].Requests, requests[i])
			}
		}
		return all
	}
	all := work(c.call("get_a", "p", 7), c.call("first", "p"), c.call("scan"))
	get, first, scan := all[0], all[1], all[2]
	for k := 11; k <= 13; k++ { // an engine may take two requests to put some columns of a new row
		c.check("put_a", "p", k, "old")
	}
	c.check("put_a", "q", 1, "old")
	all = work(c.call("put_a", "p", 11, "a"),
		c.batch("several_puts", c.call("put_a", "p", 12, "a"), c.call("put_a", "p", 13, "b"), c.call("put_a", "q", 1, "c")))
	put, several := all[0], all[1]
	if get.Requests != 1 || get.Rows != 1 {
		t.Errorf("a get: %+v, want one request and one row", get)
	}
	if passed := max(first.Tombstones, first.Hidden); first.Rows < 1 || passed >= 0 && passed < 4 {
		t.Errorf("a read behind four deleted rows: %+v", first)
	}
	if scan.Rows < 6 || scan.Rows <= get.Rows {
		t.Errorf("a scan of six rows: %+v", scan)
	}
	if max(get.Tombstones, 0)+max(get.Hidden, 0) > 0 {
		t.Errorf("a get of a row that was written once: %+v", get)
	}
	if c.caps.InProcess {
		return
	}
	// An engine sends the parts one by one, or together. Nodes are -1 where it does not report them.
	if put.Requests != 1 || put.Nodes == 0 || several.Requests != 3 && several.Requests != 1 || several.Nodes == 0 {
		t.Errorf("a put: %+v, and three in a batch that is not atomic: %+v", put, several)
	}
	if rest := work(); len(rest) != 0 {
		t.Errorf("Work returned work a second time: %+v", rest)
	}
}
