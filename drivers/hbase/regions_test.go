package hbase

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// worker runs patterns by name on one session.
type worker struct {
	testing.TB
	store   *Store
	schema  *schemas.Schema
	session drivers.Session
}

func newWorker(t testing.TB, st *Store, s *schemas.Schema) *worker {
	t.Helper()
	session, err := st.Session()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return &worker{t, st, s, session}
}

func (w *worker) prepare(pattern string) drivers.Statement {
	w.Helper()
	st, err := w.store.Prepare(w.Context(), w.schema.Pattern(pattern))
	if err != nil {
		w.Fatal(err)
	}
	return st
}

func (w *worker) write(pattern string, args ...drivers.Value) drivers.Result {
	w.Helper()
	r, err := w.session.Write(w.Context(), w.prepare(pattern), args)
	if err != nil {
		w.Fatal(err)
	}
	return r
}

// numbers runs a read and returns the first column of its rows, a number.
func (w *worker) numbers(pattern string, args ...drivers.Value) (got []int) {
	w.Helper()
	err := w.session.Read(w.Context(), w.prepare(pattern), args, func(row []drivers.Value) error {
		got = append(got, int(row[0].Int64()))
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return got
}

// TestRegions reads and deletes what lies in several regions: boundaries are
// within a partition, on a row, between rows and where nothing lies.
func TestRegions(t *testing.T) {
	t.Parallel()
	st := openLive(t, newNamespace(), nil)
	s := parse(t, `
schema: 1
name: split
tables:
  mail: {partition: [p text], clustering: [k int], columns: {a: text, n: int}}
patterns:
  put: {put: mail}
  all: {slice: mail, by: p, columns: [k]}
  back: {slice: mail, by: p, reverse: true, columns: [k]}
  page: {slice: mail, by: p, after: k, limit: arg, columns: [k]}
  page_back: {slice: mail, by: p, after: k, limit: arg, reverse: true, columns: [k]}
  some: {get: mail, in: k, columns: [k]}
  with: {slice: mail, by: p, filter: a, limit: arg, columns: [k]}
  scan: {scan: mail, columns: [k]}
  drop: {delete: mail, by: p}
`)
	l, err := newLayout(prefixOf(st.Namespace, s.Name), s)
	if err != nil {
		t.Fatal(err)
	}
	at := func(k int) []byte {
		key, err := l.tables[s.Table("mail")].row.Append(nil, 0, []drivers.Value{drivers.Text("p"), drivers.Int(int32(k))})
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	splits := [][]byte{at(10), append(at(20), 0), at(30), at(31), at(900), []byte("q")}
	d := (&place{layout: l, namespace: st.Namespace}).descriptor(l.roots[0])
	made := &pb.CreateTableRequest{TableSchema: d.message(), SplitKeys: splits}
	if err := st.createTable(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w := newWorker(t, st, s)
	p := drivers.Text("p")
	var up []int
	for k := range 60 {
		w.write("put", p, drivers.Int(int32(k)), drivers.Text(fmt.Sprint(k%7)), drivers.Int(0))
		up = append(up, k)
	}
	for _, other := range []string{"o", "p\x00", "q"} {
		w.write("put", drivers.Text(other), drivers.Int(1000), drivers.Text("neighbor"), drivers.Int(0))
	}
	down := slices.Clone(up)
	slices.Reverse(down)
	expect := func(what string, want, got []int) {
		t.Helper()
		if !slices.Equal(want, got) {
			t.Errorf("%s: %v, expected %v", what, got, want)
		}
	}
	expect("forwards", up, w.numbers("all", p))
	expect("backwards", down, w.numbers("back", p))
	for _, n := range []int{1, 9, 10, 11, 21, 31, 59, 60, 61} {
		m := min(n, 60)
		expect(fmt.Sprint("the first ", n), up[:m], w.numbers("page", p, drivers.Value{}, drivers.Bigint(int64(n))))
		expect(fmt.Sprint("the last ", n), down[:m], w.numbers("page_back", p, drivers.Value{}, drivers.Bigint(int64(n))))
	}
	for _, k := range []int{0, 9, 10, 19, 20, 21, 29, 30, 31, 58} {
		after := drivers.Int(int32(k))
		expect(fmt.Sprint("behind ", k), up[k+1:], w.numbers("page", p, after, drivers.Bigint(100)))
		expect(fmt.Sprint("before ", k), down[60-k:], w.numbers("page_back", p, after, drivers.Bigint(100)))
	}
	expect("filtered", []int{3, 10, 17, 24, 31, 38, 45}, w.numbers("with", p, drivers.Text("3"), drivers.Bigint(7)))
	var list []drivers.Value
	for _, k := range []int{59, 0, 30, 29, 99, 10} {
		list = append(list, drivers.Int(int32(k)))
	}
	expect("a list", []int{59, 0, 30, 29, 10}, w.numbers("some", p, drivers.ListOf(list)))
	if got := len(w.numbers("scan")); got != 63 {
		t.Errorf("a scan of all regions yields %d rows, expected 63", got)
	}
	w.write("drop", p)
	expect("what a delete leaves", nil, w.numbers("all", p))
	expect("a neighbor", []int{1000}, w.numbers("all", drivers.Text("p\x00")))
}

// TestPreSplit creates regions where the key says where they can begin.
func TestPreSplit(t *testing.T) {
	for kind, want := range map[schemas.Kind]int{
		schemas.Text: 3, schemas.UUID: 3, schemas.Blob: 3, schemas.Bigint: 0, schemas.TimeUUID: 0,
	} {
		if got := splitKeys(kind, 4); len(got) != want || !slices.IsSortedFunc(got, slices.Compare[[]byte]) {
			t.Errorf("4 regions of %s keys begin at %x, expected %d places", kind, got, want)
		}
	}
	if got := splitKeys(schemas.Text, 1); got != nil {
		t.Errorf("one region begins at %x", got)
	}
	used := make(map[int]bool) // regions that mail addresses are in, of 16
	for c := byte('a'); c <= 'z'; c++ {
		for d := byte('a'); d <= 'z'; d++ {
			at, _ := slices.BinarySearchFunc(splitKeys(schemas.Text, 16), []byte{c, d, '.'}, slices.Compare[[]byte])
			used[at] = true
		}
	}
	if len(used) < 12 {
		t.Errorf("mail addresses are in %d of 16 regions, expected 12", len(used))
	}
	for _, n := range []int{1, 10, 1000} {
		var users []string
		for i := range n {
			users = append(users, fmt.Sprintf("ann.%c%d@mailbench.example", 'a'+i%3, i)) // all begin with the same letters
		}
		splits, shares := sampledKeys(users, 8), make([]int, 8)
		for _, u := range users {
			at, found := slices.BinarySearchFunc(splits, []byte(u), slices.Compare[[]byte])
			if found {
				at++
			}
			shares[at]++
		}
		if least := n / 8; slices.Min(shares[:min(n, 8)]) < least || slices.Max(shares) > least+1 {
			t.Errorf("regions have %v of %d users", shares, n)
		}
	}
	for name, want := range map[string]map[string]bool{
		"elasticinbox": {"Accounts": true}, "james": {"JAMES_MESSAGES": false, "JAMES_SUBSCRIPTIONS": false},
	} {
		s, err := schemas.Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		for table, want := range want {
			if got := addressed(s, s.Table(table)); got != want {
				t.Errorf("keys of %s begin with addresses: %v", table, got)
			}
		}
	}
	st := openLive(t, newNamespace(), map[string]string{"pre_split": "4"})
	s := parse(t, "schema: 1\nname: split\ntables:\n  a: {partition: [p uuid], columns: {v: text}}\n")
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	awaitRegions(t, st, 4)
}

// TestSplit writes until HBase divides a region, and reads what lies in both halves.
func TestSplit(t *testing.T) {
	t.Parallel()
	st := openLive(t, newNamespace(), nil)
	s := parse(t, `
schema: 1
name: split
tables:
  mail: {partition: [p text], clustering: [k int], columns: {body: blob}}
patterns:
  put: {put: mail}
  all: {scan: mail, columns: [k]}
`)
	l, err := newLayout(prefixOf(st.Namespace, s.Name), s)
	if err != nil {
		t.Fatal(err)
	}
	table := (&place{layout: l, namespace: st.Namespace}).descriptor(l.roots[0]).message()
	// The least that HBase takes: a region of twice as much is divided.
	table.Attributes = append(table.Attributes, pair("MEMSTORE_FLUSHSIZE", "1048576"))
	err = st.run(t.Context(), "CreateTable", &pb.CreateTableRequest{TableSchema: table}, new(pb.CreateTableResponse))
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w := newWorker(t, st, s)
	body, random := make([]byte, 256<<10), rand.NewChaCha8([32]byte{1})
	var want []int
	put := func(k int) {
		random.Read(body)
		w.write("put", drivers.Text(fmt.Sprintf("p%03d", k)), drivers.Int(int32(k)), drivers.Blob(body))
		want = append(want, k)
	}
	for k := range 24 {
		put(k)
	}
	awaitRegions(t, st, 2)
	put(24)
	if got := w.numbers("all"); !slices.Equal(got, want) {
		t.Errorf("after the region was divided: %v, expected %v", got, want)
	}
}

// awaitRegions waits until the region servers have reported so many regions,
// which they do every three seconds.
func awaitRegions(t *testing.T, st *Store, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		servers, _, err := st.servers(ctx)
		regions := 0
		for _, sv := range servers {
			regions += len(sv.regions)
		}
		if err == nil && regions == want {
			return
		}
		if err == nil {
			err = drivers.Pause(ctx, settleInterval)
		}
		if err != nil {
			t.Fatalf("%d regions, expected %d: %v", regions, want, err)
		}
	}
}

// TestWideRows reads rows that are larger than one answer of a scan, and several
// of them together.
func TestWideRows(t *testing.T) {
	t.Parallel()
	st := openLive(t, newNamespace(), nil)
	s := parse(t, `
schema: 1
name: wide
tables:
  mail: {partition: [p text], clustering: [m int], columns: {a: text, n: int}}
  mail.data: {parent: mail, clustering: [c bigint], columns: {data: blob}, hints: {hbase: {unsigned: c}}}
  newest: {partition: [p text], clustering: [c bigint], columns: {v: text}, hints: {hbase: {order: reversed}}}
patterns:
  put: {put: mail.data}
  chunks: {slice: mail.data, by: [p, m], columns: [c, data]}
  chunks_back: {slice: mail.data, by: [p, m], reverse: true, limit: arg, columns: [c]}
  of_all: {slice: mail.data, by: p, columns: [c, m]}
  of_all_after: {slice: mail.data, by: p, after: [m, c], columns: [c, m]}
  of_all_back: {slice: mail.data, by: p, reverse: true, columns: [c, m]}
  scan: {scan: mail.data, columns: [c]}
  put_newest: {put: newest}
  page: {slice: newest, by: p, after: c, limit: arg, reverse: true, columns: c}
  oldest: {slice: newest, by: p, after: c, to: c, limit: arg, columns: c}
`)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w := newWorker(t, st, s)
	p, body := drivers.Text("p"), make([]byte, 300<<10)
	const chunks = 20 // 6 MB, of which an answer holds 2
	var up, twice []int
	for m := range 2 {
		for c := 1; c <= chunks; c++ {
			w.write("put", p, drivers.Int(int32(m)), drivers.Bigint(int64(c)), drivers.Blob(body))
			twice = append(twice, c)
		}
	}
	up = twice[:chunks]
	down := slices.Clone(up)
	slices.Reverse(down)
	expect := func(what string, want, got []int) {
		t.Helper()
		if !slices.Equal(want, got) {
			t.Errorf("%s: %v, expected %v", what, got, want)
		}
	}
	m := drivers.Int(1)
	expect("one row", up, w.numbers("chunks", p, m))
	expect("several rows", twice, w.numbers("of_all", p))
	expect("on from within a row", twice[12:], w.numbers("of_all_after", p, drivers.Int(0), drivers.Bigint(12)))
	expect("on from the end of a row", twice[20:], w.numbers("of_all_after", p, drivers.Int(0), drivers.Bigint(20)))
	expect("a row backwards", down[:3], w.numbers("chunks_back", p, m, drivers.Bigint(3)))
	expect("a scan", twice, w.numbers("scan"))
	if _, err := st.Prepare(t.Context(), s.Pattern("of_all_back")); err == nil {
		t.Errorf("the cells of several rows can be read backwards")
	}

	for c := range 100 {
		w.write("put_newest", p, drivers.Bigint(int64(c)), drivers.Text("v"))
	}
	expect("the newest", []int{99, 98, 97}, w.numbers("page", p, drivers.Value{}, drivers.Bigint(3)))
	expect("the next", []int{49, 48}, w.numbers("page", p, drivers.Bigint(50), drivers.Bigint(2)))
	expect("the oldest", []int{0, 1, 2}, w.numbers("oldest", p, drivers.Bigint(90), drivers.Value{}, drivers.Bigint(3)))
	expect("on from them", []int{89, 90}, w.numbers("oldest", p, drivers.Bigint(90), drivers.Bigint(88), drivers.Bigint(9)))
}

// TestStopped stops scans early, by yield and by the context: the line is good
// for the next call, and HBase is left with no open scanner of ours.
func TestStopped(t *testing.T) {
	st := openLive(t, newNamespace(), nil)
	s := parse(t, `
schema: 1
name: stopped
tables:
  mail: {partition: [p text], clustering: [k int], columns: {a: blob, n: int}}
patterns:
  put: {put: mail}
  all: {slice: mail, by: p, columns: [k, a]}
`)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w := newWorker(t, st, s)
	p := drivers.Text("p")
	for k := range 40 { // 4 MB: more than one answer
		w.write("put", p, drivers.Int(int32(k)), drivers.Blob(make([]byte, 100<<10)), drivers.Int(0))
	}
	sent := &recorder{RPCClient: st.regions}
	w.session.(*session).RPC = sent
	all := w.prepare("all")
	for _, canceled := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		rows := 0
		err := w.session.Read(ctx, all, []drivers.Value{p}, func([]drivers.Value) error {
			if rows++; rows < 3 {
				return nil
			}
			if canceled {
				cancel()
				return nil
			}
			return errValue
		})
		cancel()
		if err == nil || rows != 3 {
			t.Errorf("a scan stopped at row 3: %d rows and %v", rows, err)
		}
		if opened, closed := sent.opened.Load(), sent.closed.Load(); opened == 0 || opened != closed {
			t.Errorf("canceled %v: %d scanners were opened and %d closed", canceled, opened, closed)
		}
	}
	if got := len(w.numbers("all", p)); got != 40 {
		t.Errorf("the next scan yields %d rows, expected 40", got)
	}
}
