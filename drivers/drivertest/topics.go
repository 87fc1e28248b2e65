package drivertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// applied tests Apply, Inspect and Prepare on the tables of rows.yaml.
func applied(m *machine) {
	inspected(m)
	s, named := m.suite, []string{"name: drivertest", "name: " + m.schema.Name}
	c := s.client()
	c.check("put_a", "p", 1, "kept")
	if err := s.store.Apply(s.ctx, s.schema); err != nil {
		s.Fatalf("apply the schema again: %v", err)
	}
	for was, is := range map[string]string{"n: bigint": "n: text", "clustering: [k int]": "clustering: [k int desc]"} {
		if err := s.store.Apply(s.ctx, parse(s, "rows.yaml", append(named, was, is)...)); err == nil {
			s.Errorf("a schema with %s in place of %s was applied over the one that is there", is, was)
		}
	}
	c.check("all", "p")

	again := newSuite(s.ctx, s.TB, s.store, parse(s, "rows.yaml", named...)) // another parse of what was applied
	a, row := again.client(), []any{"p", 2, "too"}
	put, err := a.do(a.call("put_a", row...))
	if want := c.ref.do(c.call("put_a", row...)); err != nil || !put.equal(want) {
		s.Fatalf("another parse of the schema writes: %v, %v", put, err)
	}
	if all, err := a.do(a.call("all", "p")); err != nil || !all.equal(c.check("all", "p")) {
		s.Fatalf("another parse of the schema reads: %v, %v", all, err)
	}

	if _, err := s.store.Inspect(s.ctx, "dt_nowhere"); err == nil {
		s.Errorf("inspecting a schema that was never applied returned no error")
	}
	absent := parse(s, "rows.yaml")
	if _, err := s.store.Prepare(s.ctx, absent.Pattern("get")); err == nil || errors.Is(err, drivers.ErrUnsupported) {
		s.Errorf("prepare a pattern of a schema that was not applied: %v, want another error than ErrUnsupported", err)
	}
}

// inspected compares the schema that Inspect returns with the applied schema, and
// with the schema that Stored returns.
func inspected(m *machine) {
	s := m.suite
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

// traced tests the sessions of a [drivers.Tracer].
func traced(m *machine) {
	tracer, ok := m.store.(drivers.Tracer)
	if !ok {
		return
	}
	c := m.suite.client()
	for k := 1; k <= 10; k++ {
		c.check("put_a", "traced", k, "v")
	}
	for k := 1; k <= 4; k++ {
		c.check("drop", "traced", k)
	}
	session, err := tracer.Traced()
	t := m.clientOn(session, err)
	work := func(calls ...call) []drivers.Work {
		var requests []int64
		for _, x := range calls {
			session.Begin()
			got, _ := t.agree(x)
			requests = append(requests, got.cost.Requests)
		}
		all, err := session.Work(t.ctx)
		if err != nil || len(all) != len(calls) {
			t.Fatalf("Work returned %d pieces of work, expected %d: %v", len(all), len(calls), err)
		}
		for i := range all {
			if all[i].Requests != requests[i] {
				t.Errorf("piece of work %d took %d requests, and the session counted %d", i, all[i].Requests, requests[i])
			}
		}
		return all
	}
	all := work(c.call("get_a", "traced", 7), c.call("first", "traced"), c.call("scan"))
	get, first, scan := all[0], all[1], all[2]
	for k := 11; k <= 13; k++ { // an engine may take two requests to put some columns of a new row
		c.check("put_a", "traced", k, "old")
	}
	c.check("put_a", "other", 1, "old")
	all = work(c.call("put_a", "traced", 11, "a"), c.batch("several_puts",
		c.call("put_a", "traced", 12, "a"), c.call("put_a", "traced", 13, "b"), c.call("put_a", "other", 1, "c")))
	put, several := all[0], all[1]
	if get.Requests != 1 || get.Rows != 1 || max(get.Tombstones, 0)+max(get.Hidden, 0) > 0 {
		t.Errorf("a get of a row that was written once: %+v, want one request and one row", get)
	}
	if passed := max(first.Tombstones, first.Hidden); first.Rows < 1 || passed >= 0 && passed < 4 {
		t.Errorf("a read behind four deleted rows: %+v", first)
	}
	if scan.Rows < 6 || scan.Rows <= get.Rows {
		t.Errorf("a scan of six rows and more: %+v", scan)
	}
	if m.caps.InProcess {
		return
	}
	// An engine sends the parts one by one, or together. Nodes are -1 where it does not report them.
	if put.Requests != 1 || put.Nodes == 0 || several.Requests != 3 && several.Requests != 1 || several.Nodes == 0 {
		t.Errorf("a put: %+v, and three in a batch that is not atomic: %+v", put, several)
	}
	work() // no work is returned a second time
}

// sessions tests the rules between a session and its caller, on more rows than an engine reads at a time.
func sessions(m *machine) {
	s, c, other := m.suite, m.suite.client(), m.suite.client()
	const n = 2000
	for k := 0; k < n; k += 100 {
		var parts []call
		for i := range 100 {
			parts = append(parts, c.call("put_a", "s", k+i, "v"))
		}
		c.agree(c.batch("several_puts", parts...))
	}
	all := c.call("all", "s")
	// A row does not change until yield returns, whatever others do meanwhile.
	rows := 0
	err := c.session.Read(s.ctx, c.statement("all"), all.args, func(got []drivers.Value) error {
		if rows++; rows%50 > 0 {
			return nil
		}
		before := line(got)
		other.check("put_a", "s", rows-1, "changed meanwhile")
		other.check("all", "nowhere")
		if _, err := other.do(other.call("scan_some")); err != nil {
			return err
		}
		if after := line(got); after != before {
			return fmt.Errorf("a row was %q, and became %q before yield returned", before, after)
		}
		return nil
	})
	if err != nil || rows != n {
		s.Errorf("a slice of %d rows, some of which are overwritten meanwhile, yields %d: %v", n, rows, err)
	}
	// A read ends with its context and says so. plan.Session begins no call whose context is done.
	for _, x := range []call{all, c.call("scan")} {
		ctx, cancel := context.WithCancel(s.ctx)
		err := c.session.Read(ctx, c.statement(x.p.Name), x.args, func([]drivers.Value) error {
			cancel()
			return nil
		})
		cancel()
		if !errors.Is(err, context.Canceled) {
			s.Errorf("%s of %d rows, canceled at the first: %v, expected %v", x, n, err, context.Canceled)
		}
	}
	other.check("drop_all", "s")
	c.agree(all) // the session goes on, and sees the writes of others

	// plan has tests of calls in closed sessions. An engine may close its sessions in its own way.
	if err := other.session.Close(); err != nil {
		s.Fatalf("close a session: %v", err)
	}
	if _, err := other.do(other.call("get_a", "s", 1)); !errors.Is(err, drivers.ErrClosed) {
		s.Errorf("a read in a closed session: %v, expected ErrClosed", err)
	}
}

// biggest bounds the cells and batches that the suite writes, in bytes.
const biggest = 24 << 20

// large tests large values, up to the limit in the engine's Capabilities and above it.
func large(m *machine) {
	most := least(biggest, m.caps.MaxCellBytes, m.caps.MaxRowBytes, m.caps.MaxBatchBytes)
	noise := make([]byte, biggest)
	rand.NewChaCha8([32]byte{1}).Read(noise)
	put := func(k int, pattern string, v any) {
		m.agree(m.call(pattern, "p", k, v))
		m.agree(m.call("get_shuffled", "p", k))
	}
	for i, n := range []int64{64 << 10, 1<<20 - 1, 1 << 20, 1<<20 + 1, most - 4096} {
		if n <= most { // the engine takes such a cell
			put(i, "put_b", noise[:n])
			put(i, "put_b", []byte("small again"))
		}
	}
	put(9, "put_a", strings.Repeat("0123456789abcde\n", 1<<16)[:min(most-4096, 1<<20)])
	if limit := m.caps.MaxKeyBytes; limit > 0 {
		m.tooLarge("MaxKeyBytes", m.call("put_b", strings.Repeat("k", limit+1), 1, []byte("x")))
	}
	if limit := m.caps.MaxCellBytes; limit > 0 && limit < biggest {
		m.tooLarge("MaxCellBytes", m.call("put_b", "p", 1, noise[:limit+1]))
	}
}

// least returns the smallest of the limits. 0 is no limit.
func least(limits ...int64) int64 {
	return slices.Min(slices.DeleteFunc(limits, func(n int64) bool { return n == 0 }))
}

// elements tests a map of many elements, and one of large elements, up to the limit and above it.
func elements(m *machine) {
	var pairs []drivers.Value
	for i := range int64(500) {
		pairs = append(pairs, drivers.Text(fmt.Sprintf("%04d", i)), drivers.Bigint(i))
	}
	m.agree(m.call("put_files", "p", 3, drivers.MapOf(pairs)))
	m.agree(m.call("get", "p", 3))
	m.agree(m.call("file", "p", 3, "0321"))
	big := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	two := []drivers.Value{drivers.Int(1), drivers.Blob(big), drivers.Int(2), drivers.Blob(big[1:])}
	m.agree(m.call("put_rest", "p", 3, nil, drivers.MapOf(two)))
	m.agree(m.call("blob", "p", 3, 2))
	if limit := m.caps.MaxCellBytes; limit > 0 && limit < biggest {
		two[1] = drivers.Blob(make([]byte, limit+1))
		m.tooLarge("MaxCellBytes", m.call("put_rest", "p", 3, nil, drivers.MapOf(two)))
	}
}

// limits tests that a batch above a limit in the engine's Capabilities is refused as a whole.
func limits(m *machine) {
	text := func(n int64) string { return string(make([]byte, n)) }
	limit := least(biggest+1, m.caps.MaxBatchBytes, m.caps.MaxCellBytes)
	for _, p := range m.writes {
		good, large := []any{"p", 1, "v"}, []any{"p", 1, text(limit + 1)}
		if p.Name != "in_row" {
			good, large = append(good, "w"), append(large, nil)
		}
		if p.Kind == schemas.Batch && p.Atomic > schemas.AtomicNone && limit <= biggest {
			first := p.Parts[0].Pattern.Name
			m.tooLarge("the largest cell or batch", m.batch(p.Name, m.call(first, good...), m.call(first, large...)))
		}
	}
	if most := m.caps.MaxBatchParts; most > 0 && m.offers("in_partition") {
		parts := make([]call, most+1)
		for k := range parts {
			parts[k] = m.call("put_box", "p", k, "v", nil)
		}
		m.tooLarge("MaxBatchParts", m.batch("in_partition", parts...))
	}
	spread := m.caps.MaxSpreadBytes // of a batch whose rows lie in several partitions
	if spread == 0 || spread > biggest || !m.offers("in_all") {
		return
	}
	half := text(spread/2 + 1)
	m.tooLarge("MaxSpreadBytes", m.batch("in_all", m.call("put_box", "p", 1, half, nil), m.call("put_other", "q", half)))
	if spread*2 < m.caps.MaxBatchBytes { // in one partition it may be larger
		m.agree(m.batch("in_all", m.call("put_box", "p", 1, half, nil), m.call("put_box", "p", 2, half, nil)))
	}
	quarter := half[:len(half)/4]
	m.agree(m.batch("in_all", m.call("put_box", "p", 3, quarter, nil), m.call("put_other", "q", quarter)))
	m.scanAll()
}
