package null_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/null"
	"github.com/mailbench/mailbench/schemas"
)

const source = `
schema: 1
name: floor
tables:
  folder: {partition: [u text], clustering: [f text], columns: {unread: bigint}}
  mail: {partition: [u text, f text], clustering: [id timeuuid desc], columns: {subject: text, files: "map<text,int>"}, static: {title: text}}
  part: {partition: [u text], clustering: [name text], columns: {value: text}}
  chunk: {parent: part, clustering: [n int], columns: {data: blob}}
patterns:
  put_folder: {put: folder}
  folders: {slice: folder, by: u}
  create: {put-if: folder, if: absent}
  next: {increment: folder, columns: unread, returns: new}
  put_mail: {put: mail}
  page: {slice: mail, by: [u, f], after: id, limit: arg, columns: [id, subject]}
  open: {get: mail, columns: [id, subject]}
  several: {get: mail, by: [u, f], in: id, columns: [f, id, subject]}
  file: {get: mail, element: files}
  retitle: {put: mail, static: true}
  title: {get: mail, static: true}
  drop: {delete: mail, by: [u, f, id]}
  put_part: {put: part}
  part: {get: part, columns: [name, value]}
  parts: {slice: part, by: u, columns: [name, value]}
  put_chunk: {put: chunk}
  chunks: {slice: chunk, by: [u, name], from: n, limit: 8, columns: [n, data]}
  all: {slice: mail, by: [u, f], columns: id}
  scan: {scan: chunk, columns: n}
  deliver: {batch: [put_mail, {run: put_part, each: part}], atomic: all}
`

type fixture struct {
	testing.TB
	store   drivers.Store
	set     *drivers.Prepared
	session drivers.Session
}

func start(t testing.TB) fixture {
	t.Helper()
	ctx := context.Background()
	s, err := schemas.Parse("floor.yaml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	st, err := null.Engine().Open(ctx, drivers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Apply(ctx, s); err != nil {
		t.Fatal(err)
	}
	set, err := drivers.PrepareAll(ctx, st, s)
	if err != nil {
		t.Fatal(err)
	}
	session, err := st.Session()
	if err != nil {
		t.Fatal(err)
	}
	return fixture{t, st, set, session}
}

func (f fixture) statement(name string) drivers.Statement {
	f.Helper()
	st, err := f.set.Get(name)
	if err != nil {
		f.Fatal(err)
	}
	return st
}

func (f fixture) write(name string, args ...drivers.Value) drivers.Result {
	f.Helper()
	r, err := f.session.Write(context.Background(), f.statement(name), args)
	if err != nil || !r.Applied {
		f.Fatalf("%s: applied %v, %v", name, r.Applied, err)
	}
	return r
}

// read returns the rows as text: strings as they are, else the number.
func (f fixture) read(name string, args ...drivers.Value) string {
	f.Helper()
	var rows []string
	err := f.session.Read(context.Background(), f.statement(name), args, func(row []drivers.Value) error {
		var words []string
		for _, v := range row {
			switch v.Kind() {
			case schemas.Text, schemas.Blob:
				words = append(words, v.Str())
			case schemas.TimeUUID:
				words = append(words, fmt.Sprint(v.UUIDBytes()[15]))
			default:
				words = append(words, fmt.Sprint(v.Int64()))
			}
		}
		rows = append(rows, strings.Join(words, " "))
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	return strings.Join(rows, ", ")
}

func (f fixture) expect(want, name string, args ...drivers.Value) {
	f.Helper()
	if got := f.read(name, args...); got != want {
		f.Errorf("%s yields %q, expected %q", name, got, want)
	}
}

var text = drivers.Text

func id(n byte) drivers.Value { return drivers.TimeUUID([16]byte{6: 0x10, 15: n}) }

func files(name string, n int32) drivers.Value {
	return drivers.MapOf([]drivers.Value{text("x"), drivers.Int(0), text(name), drivers.Int(n)})
}

func TestReads(t *testing.T) {
	f := start(t)
	f.expect("", "page", text("u"), text("inbox"), drivers.Value{}, drivers.Bigint(25))
	f.write("put_folder", text("u"), text("inbox"), drivers.Bigint(0))
	f.write("put_folder", text("u"), text("sent"), drivers.Bigint(1))
	f.write("put_folder", text("v"), text("other user"), drivers.Bigint(2))
	f.expect("w inbox 0, w sent 1", "folders", text("w"))

	f.write("put_mail", text("u"), text("inbox"), id(1), text("one"), files("a", 7))
	f.write("put_mail", text("u"), text("inbox"), id(2), text("two"), drivers.Value{})
	f.write("put_mail", text("u"), text("sent"), id(3), text("elsewhere"), drivers.Value{})
	f.expect("1 one, 2 two, 1 one, 2 two, 1 one", "page", text("w"), text("any"), drivers.Value{}, drivers.Bigint(5))
	f.expect("", "page", text("w"), text("any"), id(1), drivers.Bigint(5))
	if n := strings.Count(f.read("page", text("w"), text("any"), drivers.Value{}, drivers.Bigint(1000)), ",") + 1; n != 25 {
		t.Errorf("a page of 1000 has %d rows, expected 25", n)
	}
	f.expect("9 one", "open", text("w"), text("any"), id(9))
	f.expect("g 9 one, g 8 one", "several", text("w"), text("g"), drivers.ListOf([]drivers.Value{id(9), id(8)}))
	f.expect("7", "file", text("w"), text("any"), id(9), text("a"))
	f.expect("0", "file", text("w"), text("any"), id(9), text("unknown"))
	f.expect("1, 2", "all", text("w"), text("any"))
	f.write("drop", text("u"), text("inbox"), id(1))
	f.expect("9 one", "open", text("w"), text("any"), id(9))
	f.write("retitle", text("u"), text("inbox"), text("T"))
	f.expect("w f T", "title", text("w"), text("f"))

	for i, name := range []string{"from", "to", "subject"} {
		f.write("put_part", text("u"), text(name), text(fmt.Sprint("v", i)))
		f.write("put_chunk", text("u"), text("from"), drivers.Int(int32(i)), drivers.Blob([]byte(name)))
	}
	f.expect("to v1", "part", text("w"), text("to"))
	f.expect("unknown v0", "part", text("w"), text("unknown"))
	f.expect("from v0, to v1, subject v2", "parts", text("w"))
	f.expect("1 to, 2 subject", "chunks", text("w"), text("x"), drivers.Int(1))
	f.expect("0, 1, 2", "scan")
}

// TestSamples: remembered rows are few, partial, and the store's own.
func TestSamples(t *testing.T) {
	f := start(t)
	subject := []byte("kept")
	f.write("put_mail", text("u"), text("f"), id(1), drivers.TextBytes(subject), drivers.Value{})
	copy(subject, "lost")
	f.write("put_mail", text("u"), text("f"), id(1), drivers.Value{}, files("a", 1))
	for i := range byte(100) { // 25 writes are looked at: two of id 1, then ids 0 to 22
		f.write("put_mail", text("u"), text("f"), id(i), text("later"), drivers.Value{})
	}
	if n := strings.Count(f.read("all", text("u"), text("f")), ",") + 1; n != 23 {
		t.Errorf("%d rows are remembered, expected 23", n)
	}
	f.expect("5 later", "open", text("u"), text("f"), id(5))
}

// TestKinds: rows of one table may be of several kinds, with other columns each.
func TestKinds(t *testing.T) {
	f := start(t)
	f.write("put_mail", text("u"), text("f"), id(1), drivers.Value{}, files("a", 1))
	f.expect("7 0", "open", text("u"), text("f"), id(7))
	f.write("put_mail", text("u"), text("g"), id(2), text("two"), drivers.Value{})
	f.expect("7 two", "open", text("u"), text("f"), id(7))
}

// TestAdds: numbers ascend and are unique, whichever session adds.
func TestAdds(t *testing.T) {
	f := start(t)
	next := f.statement("next")
	const workers, each = 4, 1000
	var mu sync.Mutex
	var all []int64
	var wg sync.WaitGroup
	for range workers {
		session, err := f.store.Session()
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			var own []int64
			for range each {
				r, err := session.Write(context.Background(), next, []drivers.Value{text("u"), text("f"), drivers.Bigint(1)})
				if err != nil {
					t.Error(err)
					return
				}
				own = append(own, r.Row[0].Int64())
			}
			if !slices.IsSorted(own) {
				t.Error("the numbers of one session do not ascend")
			}
			mu.Lock()
			all = append(all, own...)
			mu.Unlock()
		})
	}
	wg.Wait()
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != workers*each {
		t.Errorf("%d adds returned %d different numbers", workers*each, n)
	}
}

func TestRules(t *testing.T) {
	f := start(t)
	ctx, cancel := context.WithCancel(context.Background())
	f.write("put_part", text("u"), text("a"), text("b"))
	f.write("put_part", text("u"), text("c"), text("d"))
	stop := errors.New("stop")
	n := 0
	err := f.session.Read(ctx, f.statement("parts"), []drivers.Value{text("u")},
		func([]drivers.Value) error { n++; return stop })
	if err != stop || n != 1 {
		t.Errorf("a read stopped at its first row yields %d rows and returns %v", n, err)
	}
	if _, err := f.session.Write(ctx, f.statement("put_part"), []drivers.Value{text("u")}); err == nil {
		t.Error("a write with too few arguments returned no error")
	}
	cancel()
	if _, err := f.session.Write(ctx, f.statement("put_part"), []drivers.Value{text("u"), text("x"), text("y")}); !errors.Is(err, context.Canceled) {
		t.Errorf("a write under a canceled context: %v", err)
	}
	if _, err := null.Engine().Open(context.Background(), drivers.Options{Settings: map[string]string{"speed": "high"}}); err == nil {
		t.Error("an unknown setting is no error")
	}
}

// calls are one call of each kind, for allocations and benchmarks.
func calls(f fixture) map[string]func() {
	ctx := context.Background()
	rows := 0
	yield := func([]drivers.Value) error { rows++; return nil }
	read := func(name string, args ...drivers.Value) func() {
		st := f.statement(name)
		return func() {
			if err := f.session.Read(ctx, st, args, yield); err != nil {
				f.Fatal(err)
			}
		}
	}
	write := func(name string, args ...drivers.Value) func() {
		st := f.statement(name)
		return func() {
			if _, err := f.session.Write(ctx, st, args); err != nil {
				f.Fatal(err)
			}
		}
	}
	put := write("put_mail", text("u"), text("f"), id(1), text("s"), drivers.Value{})
	part := write("put_part", text("u"), text("from"), text("s"))
	next := write("next", text("u"), text("f"), drivers.Bigint(1))
	for range 30 { // until all samples are taken
		put()
		part()
		next()
	}
	deliver := f.statement("deliver")
	parts := []drivers.Call{
		{Part: 0, Args: []drivers.Value{text("u"), text("f"), id(1), text("s"), {}}},
		{Part: 1, Args: []drivers.Value{text("u"), text("from"), text("s")}},
	}
	return map[string]func(){
		"put":  put,
		"next": next,
		"batch": func() {
			if err := f.session.Batch(ctx, deliver, parts); err != nil {
				f.Fatal(err)
			}
		},
		"get":     read("open", text("u"), text("f"), id(1)),
		"named":   read("part", text("u"), text("from")),
		"page":    read("page", text("u"), text("f"), drivers.Value{}, drivers.Bigint(25)),
		"several": read("several", text("u"), text("f"), drivers.ListOf([]drivers.Value{id(9), id(8)})),
		"scan":    read("scan"),
		"all":     read("all", text("u"), text("f")),
	}
}

func TestAllocations(t *testing.T) {
	for name, call := range calls(start(t)) {
		if n := testing.AllocsPerRun(100, call); n != 0 {
			t.Errorf("%s allocates %v times a call", name, n)
		}
	}
}

func BenchmarkCalls(b *testing.B) {
	all := calls(start(b))
	for _, name := range []string{"put", "next", "batch", "get", "named", "page", "several", "all"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				all[name]()
			}
		})
	}
}
