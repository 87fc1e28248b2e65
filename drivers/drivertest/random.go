package drivertest

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// randomDefaults are the values of rapid's flags unless the command line sets them. The sequences are
// the same in each run: a seed of 0 makes others.
var randomDefaults = map[string]string{
	"rapid.seed": "1", "rapid.checks": "40", "rapid.steps": "50", "rapid.nofailfile": "true",
}

// remoteChecks is how many random sequences run on an engine in another process: each call crosses the network.
const remoteChecks = "8"

// scanEvery is the number of sequences after which all tables are scanned, and the scan of one is split.
const scanEvery = 4

// setFlag sets a flag for this test, unless the command line has set it.
func setFlag(t testing.TB, name, value string) {
	t.Helper()
	f := flag.Lookup(name)
	if f.Value.String() != f.DefValue {
		return
	}
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { flag.Set(name, f.DefValue) })
}

// random returns the check of a topic: it compares random sequences of all calls of the schema with the reference, runs
// further checks, and checks histories of clients that work at the same time. Before the sequences it may check what
// takes no time.
func random(before func(*machine), further ...func(*machine)) func(*suite) {
	return func(s *suite) {
		m := newMachine(s)
		if before != nil {
			before(m)
		}
		if s.Failed() {
			return // rapid checks nothing more
		}
		m.sequences()
		m.fail = s.TB
		for _, check := range further {
			check(m)
		}
		if s.Failed() {
			return
		}
		m.atOnce = true
		if mixes := m.mixes(); len(mixes) == 0 {
			s.Log("no histories: no read sees what is written at one moment on this engine")
		} else {
			rapid.Check(s.TB, func(rt *rapid.T) {
				if m.begin(rt); !m.caps.InProcess || m.sequence%2 == 0 { // histories take longer than sequences
					m.together(mixes)
				}
			})
		}
	}
}

// order runs sequences on one clustering column of every kind and in both directions, with all values of the kind.
func order(s *suite) {
	setFlag(s, "rapid.checks", "4")
	all := newMachine(s)
	for _, table := range s.schema.Tables {
		m, others := *all, func(p *schemas.Pattern) bool { return p.Table != table }
		m.allValues = true
		m.reads = slices.DeleteFunc(slices.Clone(m.reads), others)
		m.writes = slices.DeleteFunc(slices.Clone(m.writes), others)
		m.sequences()
	}
}

// machine is the state of random sequences. All have one reference, and partitions of their own.
type machine struct {
	*client
	reads, writes []*schemas.Pattern
	others        []*client // those that work at the same time

	rt        *rapid.T
	sequence  int
	spent     map[string]bool                   // counters that were deleted: no engine adds to them again
	pinned    map[*schemas.Column]drivers.Value // key columns that all parts of a batch share
	added     int                               // adds since the last put
	pool      map[schemas.Kind][]any            // values of the sequence
	reports   bool                              // the engine reports what it examines
	atOnce    bool                              // others work at the same time: writes set no column to null
	allValues bool                              // a sequence begins with rows of all values of the one key column
}

// newMachine returns a machine of the patterns that the engine supports, after it has checked that these are those
// which its Capabilities promise.
func newMachine(s *suite) *machine {
	if !s.caps.InProcess {
		setFlag(s, "rapid.checks", remoteChecks)
	}
	for name, value := range randomDefaults {
		setFlag(s, name, value)
	}
	m := &machine{client: s.client(), spent: map[string]bool{}}
	for range clients {
		m.others = append(m.others, s.client())
	}
	for _, p := range s.schema.Patterns {
		offered := s.offers(p.Name)
		s.promised(p, offered)
		if offered && p.Kind.Reads() {
			m.reads = append(m.reads, p)
		} else if offered {
			m.writes = append(m.writes, p)
		}
	}
	return m
}

// promised checks whether an engine supports a pattern that its Capabilities speak of. One that cannot find rows by an
// index over plain columns returns ErrUnsupported, so that the pattern's fallback runs.
func (s *suite) promised(p *schemas.Pattern, offered bool) {
	s.Helper()
	want := offered
	switch {
	case p.Kind == schemas.Batch && p.Atomic > schemas.AtomicNone && !p.Conditional():
		other := func(x schemas.Part) bool { return x.Pattern.Kind != schemas.Put && x.Pattern.Kind != schemas.Delete }
		want = s.caps.Atomic >= p.Atomic && (offered || !slices.ContainsFunc(p.Parts, other))
	case p.ReturnsNew:
		want = offered || s.caps.ReturnsNew
	case overPlain(p) && p.Fallback == nil:
		want = s.caps.PlainIndexes
	case overPlain(p):
		want = s.caps.PlainIndexes || s.caps.EqualIndexes
		_, err := s.store.Prepare(s.ctx, p)
		if offered = err == nil; err != nil && !errors.Is(err, drivers.ErrUnsupported) {
			s.Fatalf("prepare %s: %v, expected ErrUnsupported", p.Name, err)
		}
		if st, err := s.set.Get(p.Name); err != nil || (st.Emulates() == p) == want {
			s.Fatalf("%s is emulated where indexes over plain columns are %v, or the reverse: %v", p.Name, want, err)
		}
	}
	if offered != want {
		s.Fatalf("the engine supports %s: %v; its capabilities say %v: %+v", p.Name, offered, want, s.caps)
	}
}

// sequences runs random sequences.
func (m *machine) sequences() {
	rapid.Check(m.TB, func(rt *rapid.T) {
		m.begin(rt)
		if m.allValues {
			m.putAll()
		}
		rt.Repeat(map[string]func(*rapid.T){
			"write": func(*rapid.T) { m.burst() },
			"":      func(*rapid.T) { m.read(pick(m, "read", m.reads)) },
		})
		if m.sequence%scanEvery == 0 {
			m.scanAll()
			m.divide(pick(m, "table", m.schema.Tables), pick(m, "parts", divisions))
		}
	})
}

// begin begins a sequence.
func (m *machine) begin(rt *rapid.T) {
	m.rt, m.fail = rt, rt
	m.sequence++
	m.pinned = nil
	m.fill()
}

// read runs a read on both sides.
func (m *machine) read(p *schemas.Pattern) {
	x := m.draw(p)
	if p.Static && p.Kind == schemas.Get && find(m.ref.statics[p.Table], p.By, x.args) == nil {
		return // whether there is a row where none was ever set is the engine's affair
	}
	if !m.stopped(x) {
		m.agree(x)
	}
}

// stopped has yield return an error at some row of some reads. It ends the read, which returns it as it is.
func (m *machine) stopped(x call) bool {
	at := m.int("stop at row", -6, 2)
	if at < 1 || overPlain(x.p) || at > len(m.ref.read(x.p, x.args).rows) {
		return false
	}
	stop, n := errors.New("stop"), 0
	err := m.session.Read(m.ctx, m.statement(x.p.Name), x.args, func([]drivers.Value) error {
		if n++; n == at {
			return stop
		}
		return nil
	})
	if err != stop || n != at {
		m.fail.Fatalf("%s, stopped at row %d, yields %d rows and returns %v", x, at, n, err)
	}
	return true
}

// scanAll reads all tables.
func (m *machine) scanAll() {
	for _, table := range m.schema.Tables {
		if table.Header() {
			continue
		}
		p, st := m.scanOf(table)
		m.sameScan("scan "+table.Name, p, st)
	}
}

func (m *machine) scanOf(table *schemas.Table) (*schemas.Pattern, drivers.Statement) {
	p := schemas.ScanOf(table)
	st, err := m.store.Prepare(m.ctx, p)
	if err != nil {
		m.fail.Fatalf("%v", err)
	}
	return p, st
}

// sameScan compares the rows of a scan's parts with those of the reference. It returns how many parts have rows.
func (m *machine) sameScan(what string, p *schemas.Pattern, parts ...drivers.Statement) (filled int) {
	var all []string
	for _, st := range parts {
		got, err := m.run(st, p, nil)
		if err != nil {
			m.fail.Fatalf("%s: %v", what, err)
		}
		filled += min(len(got), 1)
		all = append(all, got...)
	}
	m.equal(what, p, all, m.ref.read(p, nil).rows)
	return filled
}

// divisions are the numbers of parts into which scans are split.
var divisions = []int{1, 2, 7, 64}

// divide splits the scan of a table: the parts yield each row once.
func (m *machine) divide(table *schemas.Table, n int) {
	sp, ok := m.store.(drivers.Splitter)
	if !ok || table.Header() {
		return
	}
	p, st := m.scanOf(table)
	ranges, err := sp.Split(m.ctx, st, n)
	if err != nil {
		m.fail.Fatalf("split %s into %d: %v", table.Name, n, err)
	}
	what := fmt.Sprintf("%s in %d of %d parts", table.Name, len(ranges), n)
	parts, err := sp.Within(m.ctx, st, ranges)
	if err != nil {
		m.fail.Fatalf("%s within %q: %v", what, ranges, err)
	}
	filled := m.sameScan(what, p, parts...)
	if len(parts) == 0 || len(parts) > n || n > 1 && len(m.ref.rows[table]) >= 24 && filled < 2 {
		m.fail.Fatalf("%s: %d of them have rows", what, filled)
	}
	if _, err := sp.Within(m.ctx, st, []string{"nothing"}); err == nil {
		m.fail.Fatalf("%s within no range: no error", table.Name)
	}
}

// putAll puts a row with each value of the clustering column, into one or the other partition.
func (m *machine) putAll() {
	put := m.writes[0]
	column := put.Table.Clustering[0]
	for _, v := range m.pool[column.Type.Kind] {
		m.pinned = map[*schemas.Column]drivers.Value{column: valueOf(column.Type, v)}
		m.write(put)
	}
	m.pinned = nil
}

// burst runs writes one right after another, most of them to one row. Within a tick of any clock the later one counts.
func (m *machine) burst() {
	for more := true; more; more = m.int("more", 0, 2) == 0 {
		x := m.write(pick(m, "write", m.writes))
		m.pinned = map[*schemas.Column]drivers.Value{}
		for _, w := range x.writes() {
			for i, v := range w.args[:min(len(w.args), len(w.p.By))] {
				m.pinned[w.p.By[i]] = v
			}
		}
	}
	m.pinned = nil
}

// write runs a write on both sides, and returns it.
func (m *machine) write(p *schemas.Pattern) call {
	x := m.draw(p)
	if p.Kind == schemas.Batch || m.possible(x) {
		m.wait(x)
		m.agree(x)
	}
	return x
}

// agree makes a call on both sides, which cost the same.
func (m *machine) agree(x call) {
	got, want := m.client.agree(x)
	m.sameCost(x, got.cost, want.cost)
}

// tooLarge makes a call that the engine must refuse, because it is larger than a limit in its Capabilities. Nothing of
// it is there.
func (m *machine) tooLarge(limit string, x call) {
	if _, err := m.do(x); !errors.Is(err, drivers.ErrTooLarge) {
		m.fail.Fatalf("%s above %s: %v, expected ErrTooLarge", x.p.Name, limit, err)
	}
	m.scanAll()
}

// sameCost compares the requests of a call with one, and the rows that it examined with those of the reference:
// plan.Session counts the rest for all engines. Over a network only simple calls have to be one request. The rows
// examined for a write, an element, static columns or an index are the engine's own affair.
func (m *machine) sameCost(x call, got, want drivers.Cost) {
	p, static := x.p, x.p.Table != nil && len(x.p.Table.Static) > 0
	if overPlain(p) || p.Kind == schemas.Scan && p.Limit > 0 {
		return // which rows it reads is its own affair, too
	}
	m.reports = m.reports || m.caps.InProcess || got.Requests > 0 && got.Unreported == 0
	if !m.reports || !m.caps.InProcess && len(p.Filter) > 0 && got.Unreported > 0 {
		got.RowsScanned, got.Unreported = want.RowsScanned, 0
	}
	simple := m.caps.InProcess
	switch p.Kind {
	case schemas.Get, schemas.Slice:
		limited := len(p.Filter) > 0 && p.Limit > 0
		simple = simple || p.In == nil && p.From == nil && p.To == nil && p.After == nil && !p.Reverse && !static && !limited
	case schemas.Put:
		simple = simple || len(p.Columns) == len(p.Table.Columns)
	case schemas.Delete:
		simple = simple || p.Scope == schemas.ScopeRow && !p.Present
	case schemas.Batch:
		simple = simple || p.Atomic > schemas.AtomicNone && !p.Conditional()
	}
	if want.Requests = got.Requests; simple && p.Parallel == 0 {
		want.Requests = int64(min(1, len(x.writes())))
	}
	if !simple || !p.Kind.Reads() || p.Element != nil || static || len(p.Table.Indexes) > 0 {
		want.RowsScanned = got.RowsScanned
	} else if !m.caps.InProcess && len(p.Filter) > 0 { // deleted rows may be examined, too
		want.RowsScanned = max(got.RowsScanned, want.RowsScanned)
	}
	retries := m.caps.InProcess && got.Retries > 0 // a busy server refuses requests, which are sent again
	if got.Requests != want.Requests || got.RowsScanned != want.RowsScanned || got.Unreported > 0 || retries {
		m.fail.Fatalf("%s costs %+v, want %+v", x, got, want)
	}
}

// wait waits before a number is put that was added to: each add may put a cell's time on HBase 1 ms ahead of the clock
// (decision 5).
func (m *machine) wait(x call) {
	number := func(v drivers.Value) bool { return v.Kind() == schemas.Bigint }
	switch {
	case x.p.Kind == schemas.Add:
		m.added++
	case x.p.Kind == schemas.Put && slices.ContainsFunc(x.args, number) && !m.caps.InProcess:
		time.Sleep(time.Duration(min(m.added, 20)) * time.Millisecond)
		m.added = 0
	}
}
