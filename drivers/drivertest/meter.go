package drivertest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// meter tests what sessions and their meter count. How many requests a batch is, and how many rows
// a condition reads, is the engine's own affair: see between.
func meter(t testing.TB, open Open) {
	s := begin(t, open, "rows.yaml")
	c := s.client()
	var traced int64
	trace := func(_ drivers.Statement, calls int64) { traced += calls }
	c.session.Trace = trace
	reports := c.caps.InProcess
	// A server may take a request for each element of a list of three, and for a put of some
	// columns one that changes the row and one that makes it.
	listed, put := int64(3), int64(2)
	if c.caps.InProcess {
		listed, put = 1, 1
	}
	check := func(what string, got, want drivers.Cost) {
		t.Helper()
		if !reports { // an engine that reports nothing for one call reports nothing for all
			want.Unreported, want.RowsExamined = got.Unreported, 0
		}
		if !reports && got.Unreported == 0 {
			t.Errorf("%s: %+v; want the rows examined untold, as before", what, got)
		}
		if got != want {
			t.Errorf("%s costs %+v, expected %+v", what, got, want)
		}
		if traced != want.Calls {
			t.Errorf("%s: %d calls were traced, expected %d", what, traced, want.Calls)
		}
		traced = 0
	}
	cost := func(what string, want drivers.Cost) {
		t.Helper()
		check(what, c.session.Take(), want)
	}
	between := func(what string, least, most drivers.Cost) {
		t.Helper()
		got := c.session.Take()
		least.Calls = min(max(got.Calls, least.Calls), most.Calls)
		least.RowsExamined = min(max(got.RowsExamined, least.RowsExamined), most.RowsExamined)
		check(what, got, least)
	}
	c.write("put_a", "z", 1, "v")
	reports = c.session.Take().Unreported == 0 || reports
	traced = 0
	c.write("put", "pp", 1, "12345", []byte{1, 2, 3}, 4, 5, true, someUUID, someTimeUUID, 6)
	cost("a put of all kinds", drivers.Cost{
		Calls: 1, RowsWritten: 1,
		BytesWritten: 2 + 4 + 5 + 3 + 4 + 8 + 1 + 16 + 16 + 8,
	})
	c.read("get", "pp", 1)
	cost("a get of them", drivers.Cost{
		Calls: 1, RowsExamined: 1, RowsRead: 1,
		BytesRead: 2 + 4 + 5 + 3 + 4 + 8 + 1 + 16 + 16 + 8,
	})
	c.write("put", "pp", 2, nil, nil, nil, nil, nil, nil, nil, nil)
	cost("a put of nulls", drivers.Cost{Calls: 1, RowsWritten: 1, BytesWritten: 2 + 4})
	c.read("get", "pp", 3)
	cost("a get of nothing", drivers.Cost{Calls: 1})
	c.read("all", "pp")
	cost("a slice of two rows", drivers.Cost{Calls: 1, RowsExamined: 2, RowsRead: 2, BytesRead: 4 + 5 + 4})
	c.read("several", "pp", list{2, 7, 1})
	between("a get with a list in one partition",
		drivers.Cost{Calls: 1, RowsExamined: 2, RowsRead: 2, BytesRead: 4 + 5 + 4},
		drivers.Cost{Calls: listed, RowsExamined: 2})
	c.read("first", "pp")
	cost("a slice with limit 1", drivers.Cost{Calls: 1, RowsExamined: 1, RowsRead: 1, BytesRead: 4 + 5})
	c.read("with_a", "pp", "12345")
	cost("a filtered slice", drivers.Cost{Calls: 1, RowsExamined: 2, RowsRead: 1, BytesRead: 4})
	c.write("drop", "pp", 1)
	cost("a delete", drivers.Cost{Calls: 1, RowsWritten: 1, BytesWritten: 2 + 4})
	for i := range 3 {
		c.write("put_single", "s", []byte{byte(i)}, "v", nil)
	}
	cost("three puts", drivers.Cost{Calls: 3, RowsWritten: 3, BytesWritten: 3 * 3})
	c.read("get_singles", "s", list{[]byte{2}, []byte{9}, []byte{0}})
	between("a get over three partitions", drivers.Cost{Calls: 1, RowsExamined: 2, RowsRead: 2, BytesRead: 4},
		drivers.Cost{Calls: 3, RowsExamined: 2})
	must(c, c.batch("several_puts", with(0, "b", 1, "xy"), with(0, "b", 2, "z")))
	between("a batch that is not atomic", drivers.Cost{Calls: 1, RowsWritten: 2, BytesWritten: 7 + 6},
		drivers.Cost{Calls: 2 * put})
	for i := range 3 {
		c.write("put_a", "d", i, "v")
	}
	c.session.Take()
	traced = 0
	c.session.Repeating(true)
	c.read("all", "d")
	c.write("put_a", "d", 2, "v")
	c.session.Repeating(false)
	got := c.session.Take()
	if want := (drivers.Cost{Retries: 2, RowsWritten: 1, BytesWritten: 1 + 4 + 1}); got != want || traced != 0 {
		t.Errorf("a read and a put that repeat earlier ones cost %+v and %d traced calls, expected %+v and none", got, traced, want)
	}

	a := begin(t, open, "batches.yaml")
	if a.offers("in_partition") {
		c = a.client()
		c.session.Trace = trace
		must(c, c.batch("in_partition", with(0, "p", 1, "v", nil), with(2, "p", 1, 1, []byte{1, 2})))
		cost("an atomic batch", drivers.Cost{Calls: 1, RowsWritten: 2, BytesWritten: 6 + 1 + 4 + 4 + 2})
	}
	c = begin(t, open, "conditions.yaml").client()
	c.session.Trace = trace
	c.write("create", "p", 1, "a", 2, true)
	if r, err := c.try("create", "p", 1, "a", 2, true); err != nil || r.Applied {
		t.Fatalf("a second creation: applied %v, %v", r.Applied, err)
	}
	between("a put-if that is applied and one that is not",
		drivers.Cost{Calls: 2, RowsExamined: 1, RowsWritten: 1, BytesWritten: 1 + 4 + 1 + 8 + 1},
		drivers.Cost{Calls: 2, RowsExamined: 2})
}

// traces tests the sessions of a [drivers.Tracer].
func traces(t testing.TB, open Open) {
	c := begin(t, open, "rows.yaml").client()
	tracer, ok := c.store.(drivers.Tracer)
	if !ok {
		t.Skip("the store is no Tracer")
	}
	for k := 1; k <= 10; k++ {
		c.write("put_a", "p", k, "v")
	}
	for k := 1; k <= 4; k++ {
		c.write("drop", "p", k)
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
	traced := &client{suite: c.suite, fail: t, session: drivers.NewMeter(session)}
	work := func(runs ...func()) []drivers.Work {
		var calls []int64
		for _, run := range runs {
			session.Begin()
			run()
			calls = append(calls, traced.session.Take().Calls)
		}
		all, err := session.Work(c.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != len(runs) {
			t.Fatalf("Work returned %d pieces of work, expected %d", len(all), len(runs))
		}
		for i := range all {
			if all[i].Requests != calls[i] {
				t.Errorf("piece of work %d took %d requests, and the session counted %d", i, all[i].Requests, calls[i])
			}
		}
		return all
	}
	all := work(
		func() { traced.expectCount(1, "get_a", "p", 7) },
		func() { traced.expectCount(1, "first", "p") },
		func() { traced.expectCount(6, "scan") },
	)
	get, first, scan := all[0], all[1], all[2]
	for k := 11; k <= 13; k++ { // an engine may take two requests to put some columns of a new row
		c.write("put_a", "p", k, "old")
	}
	c.write("put_a", "q", 1, "old")
	all = work(
		func() { traced.write("put_a", "p", 11, "a") },
		func() {
			if err := traced.batch("several_puts", with(0, "p", 12, "a"), with(0, "p", 13, "b"),
				with(0, "q", 1, "c")); err != nil {
				t.Fatal(err)
			}
		},
	)
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

// RunShared runs topics over one store, all of them unless some are named. It is for an engine that is
// slow to create tables. The first topic that reads a schema file applies the schema, and the topics
// after it begin with empty tables.
func RunShared(t *testing.T, st drivers.Store, names ...string) {
	s := &shared{Store: st, applied: make(map[string]*suite)}
	for _, topic := range Topics() {
		if len(names) == 0 || slices.Contains(names, topic.Name) {
			t.Run(topic.Name, func(t *testing.T) {
				topic.Run(t, func(testing.TB, *schemas.Schema) drivers.Store { return s })
			})
		}
	}
}

// shared is a store with the schemas that topics have applied, by file and replaced words.
type shared struct {
	drivers.Store
	applied map[string]*suite
}

// begin empties the tables of the schema that a topic before has applied. If there is
// none, it applies the topic's own schema.
func (sh *shared) begin(s *suite, file string, pairs []string) {
	s.Helper()
	s.store, s.shared = sh.Store, true
	key := file + strings.Join(pairs, ",")
	if before := sh.applied[key]; before != nil {
		s.schema, s.set = before.schema, before.set
		if err := Empty(s.ctx, s.store, s.schema); err != nil {
			s.Fatal(err)
		}
		return
	}
	if err := s.store.Apply(s.ctx, s.schema); err != nil {
		s.Fatal(err)
	}
	s.prepare()
	sh.applied[key] = s
}

// Empty deletes every partition of every table of a schema that was applied.
func Empty(ctx context.Context, st drivers.Store, s *schemas.Schema) error {
	session, err := st.Session()
	if err != nil {
		return err
	}
	defer session.Close()
	for _, t := range s.Tables {
		if t.Header() {
			continue
		}
		scans := []*schemas.Pattern{schemas.ScanOf(t)}
		if len(t.Static) > 0 {
			scans = append(scans, schemas.StaticScanOf(t))
		}
		for _, scan := range scans {
			if err := emptyTable(ctx, st, session, scan); err != nil {
				return fmt.Errorf("empty table %s: %w", t.Name, err)
			}
		}
	}
	return nil
}

// emptyTable deletes the partitions that a scan finds.
func emptyTable(ctx context.Context, st drivers.Store, session drivers.Session, scan *schemas.Pattern) error {
	scan.Columns = scan.Table.Partition
	read, err := st.Prepare(ctx, scan)
	if err != nil {
		return err
	}
	remove, err := st.Prepare(ctx, &schemas.Pattern{
		Name: "empty", Kind: schemas.Delete, Scope: schemas.ScopePartition, Table: scan.Table, By: scan.Table.Partition,
	})
	if err != nil {
		return err
	}
	var keys [][]drivers.Value
	seen := make(map[string]bool)
	err = session.Read(ctx, read, nil, func(row []drivers.Value) error {
		if !seen[line(row)] {
			seen[line(row)] = true
			keys = append(keys, drivers.ListOf(row).Clone().Elems())
		}
		return nil
	})
	for _, key := range keys {
		if err == nil {
			_, err = session.Write(ctx, remove, key)
		}
	}
	return err
}

// OpenLive opens a store of an engine that is reached over the network. It drops the
// store's namespace when the test ends. On a busy machine an answer may take as long as
// patience: no contract is about the time that an engine takes.
func OpenLive(t testing.TB, e drivers.Engine, o drivers.Options) drivers.Store {
	t.Helper()
	settings := make(map[string]string, len(o.Settings)+2)
	for _, s := range e.Settings {
		if s.Name == "timeout" || s.Name == "connect_timeout" {
			settings[s.Name] = patience.String()
		}
	}
	maps.Copy(settings, o.Settings)
	o.Settings = settings
	st, err := e.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drivers.Drop(context.Background(), st); err != nil {
			t.Errorf("drop the namespace: %v", err)
		}
		if err := st.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return st
}
