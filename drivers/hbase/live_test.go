package hbase

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/schemas"
)

// second opens another client in the same namespace.
func second(t *testing.T, first *Store) *Store {
	t.Helper()
	st, err := Engine().Open(t.Context(), drivers.Options{Contact: []string{live.Contact(t, "hbase")}, Namespace: first.Namespace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st.(*Store)
}

const tiesSchema = `
schema: 1
name: ties
tables:
  mail: {partition: [p text], clustering: [k int], columns: {a: text, n: bigint, tags: set<text>}}
  links: {partition: [p text], clustering: [k int]}
patterns:
  put: {put: mail, columns: [a]}
  create: {put-if: links, if: absent}
  link: {put: links}
  unlink: {delete: links, by: [p, k]}
  links: {slice: links, by: p, columns: k}
  drop: {delete: mail, by: [p, k]}
  drop_all: {delete: mail, by: p}
  several: {batch: [{run: link, each: x}, {run: unlink, each: x}], parallel: 4}
  add: {increment: mail, columns: n, returns: new}
  put_tags: {put: mail, columns: tags}
  get: {get: mail, columns: [a, n, tags]}
`

// TestTies has two clients delete and write one row, one right after the
// other: whatever they write last is there.
func TestTies(t *testing.T) {
	t.Parallel()
	a := openLive(t, newNamespace(), nil)
	s := parse(t, tiesSchema)
	if err := a.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	b := second(t, a)
	if err := b.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w := [2]*worker{newWorker(t, a, s), newWorker(t, b, s)}
	p, k := drivers.Text("p"), drivers.Int(1)
	read := func(w *worker) (row string) {
		err := w.session.Read(t.Context(), w.prepare("get"), []drivers.Value{p, k}, func(vals []drivers.Value) error {
			row = fmt.Sprint(vals[0].Str(), " ", vals[1].Int64(), " ", len(vals[2].Elems()))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	lost := 0 // answers to adds: a connection may fail
	add := func(w *worker, n int64) (sum int64, known bool) {
		r, err := w.session.Write(t.Context(), w.prepare("add"), []drivers.Value{p, k, drivers.Bigint(n)})
		if errors.Is(err, drivers.ErrUnknown) && lost == 0 {
			lost++
			t.Logf("an add in a round that is left out: %v", err)
			return 0, false
		} else if err != nil {
			t.Fatal(err)
		}
		return r.Row[0].Int64(), true
	}
	for i := range 200 {
		one, other := w[i%2], w[(i+1)%2]
		one.write("put", p, k, drivers.Text("old"))
		if _, known := add(one, 7); !known {
			continue
		}
		one.write("put_tags", p, k, drivers.SetOf([]drivers.Value{drivers.Text("x"), drivers.Text("y")}))
		other.write("drop", p, k)
		if got := read(one); got != "" {
			t.Fatalf("round %d: a row that was deleted holds %q", i, got)
		}
		one.write("put", p, k, drivers.Text("new"))
		other.write("drop_all", p)
		one.write("put_tags", p, k, drivers.SetOf([]drivers.Value{drivers.Text("z")}))
		if sum, known := add(other, 2); !known {
			continue
		} else if sum != 2 {
			t.Fatalf("round %d: an add after a delete returns %d, expected 2", i, sum)
		}
		one.write("put", p, k, drivers.Text("newest"))
		if got := read(other); got != "newest 2 1" {
			t.Fatalf("round %d: the row holds %q", i, got)
		}
		one.write("link", p, k)
		other.write("unlink", p, k)
		if r := one.write("create", p, k); !r.Applied {
			t.Fatalf("round %d: a row that was deleted could not be created", i)
		}
		if got := other.numbers("links", p); len(got) != 1 {
			t.Fatalf("round %d: rows %v of the one that was created", i, got)
		}
	}
}

// TestOneRowInParallel runs parts in parallel, some of them of one row: these in order.
func TestOneRowInParallel(t *testing.T) {
	st := openLive(t, newNamespace(), nil)
	s := parse(t, tiesSchema)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w := newWorker(t, st, s)
	link := func(part int, p string, k int) drivers.Call {
		return drivers.Call{Part: part, Args: []drivers.Value{drivers.Text(p), drivers.Int(int32(k))}}
	}
	for i := range 20 {
		p := fmt.Sprint("p", i)
		calls := []drivers.Call{link(0, p, 1), link(0, p+"x", 1), link(1, p, 1), link(0, p+"y", 1), link(0, p, 2), link(0, p+"z", 1), link(1, p, 2), link(0, p+"v", 1), link(1, p+"v", 1), link(0, p+"v", 1)}
		if err := w.session.Batch(t.Context(), w.prepare("several"), calls); err != nil {
			t.Fatal(err)
		}
		for p, want := range map[string]int{p: 0, p + "x": 1, p + "y": 1, p + "z": 1, p + "v": 1} {
			if got := len(w.numbers("links", drivers.Text(p))); got != want {
				t.Fatalf("round %d: %d rows in %s, expected %d", i, got, p, want)
			}
		}
	}
}

// TestApplyAtOnce has several clients apply one schema: each table is made once.
func TestApplyAtOnce(t *testing.T) {
	first := openLive(t, newNamespace(), nil)
	clients := []*Store{first, second(t, first), second(t, first)}
	var wg sync.WaitGroup
	for _, c := range clients {
		s := parse(t, tiesSchema)
		wg.Go(func() {
			if err := c.Apply(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	tables, err := first.describe(t.Context(), drivers.Prefix+first.Namespace)
	if err != nil || len(tables) != 2 {
		t.Errorf("%d tables, %v; expected 2", len(tables), err)
	}
	all, err := first.Namespaces(t.Context())
	if err != nil || !slices.ContainsFunc(all, func(n drivers.Namespace) bool { return n.Name == first.Namespace }) {
		t.Errorf("namespaces %+v, %v; expected %s among them", all, err, first.Namespace)
	}
}

const hintedSchema = `
schema: 1
name: hinted
tables:
  mail:
    partition: [p uuid]
    clustering: [k bigint desc]
    columns: {a: text, n: bigint}
    hints: {hbase: {compression: gz, bloom: rowcol, versions: 2, block_size: 8192, in_memory: true, data_block_encoding: fast_diff}}
  mail.data: {parent: mail, clustering: [c bigint], columns: {data: blob}, hints: {hbase: {unsigned: c, block_cache: false, family: body}}}
`

// TestDescribe reads descriptors back from HBase: every hint has arrived, what
// differs is refused, and a missing table is reported.
func TestDescribe(t *testing.T) {
	st := openLive(t, newNamespace(), nil)
	s := parse(t, hintedSchema)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	tables, err := st.describe(t.Context(), drivers.Prefix+st.Namespace)
	if err != nil || len(tables) != 1 {
		t.Fatalf("%d tables, %v; expected one", len(tables), err)
	}
	for name, want := range map[string]string{
		"compression": "gz, none", "table_bloom": "row, rowcol", "table_encoding": "fast_diff, none",
		"server_heap_mb": heapsOf(t, st),
	} {
		if got := st.Observe().Settings[name]; got != want {
			t.Errorf("setting %s is %q, expected %q", name, got, want)
		}
	}
	got := tables[prefixOf(st.Namespace, "hinted")+"mail"]
	for family, want := range map[string]map[string]string{
		"m": {
			"COMPRESSION": "GZ", "BLOOMFILTER": "ROWCOL", "VERSIONS": "2", "BLOCKSIZE": "8192", "IN_MEMORY": "true",
			"DATA_BLOCK_ENCODING": "FAST_DIFF", "NEW_VERSION_BEHAVIOR": "true",
		},
		"body": {"COMPRESSION": "NONE", "BLOCKCACHE": "false", "VERSIONS": "1", "NEW_VERSION_BEHAVIOR": "true"},
	} {
		have := maps.Clone(got.Families[family])
		maps.DeleteFunc(have, func(name, _ string) bool { return want[name] == "" })
		if !maps.Equal(have, want) {
			t.Errorf("family %s of %s has %v, expected %v", family, got.Name, have, want)
		}
	}
	back, err := st.Inspect(t.Context(), "hinted")
	if err != nil {
		t.Fatal(err)
	}
	if mail, data := back.Table("mail"), back.Table("mail.data"); mail == nil || data == nil || !mail.Clustering[0].Desc ||
		data.Parent != mail || data.Hints["hbase"]["unsigned"] != "c" || mail.Column("n").Type.Kind != schemas.Bigint {
		t.Errorf("inspected: %+v, %+v", mail, data)
	}
	for _, c := range []struct{ old, other, want string }{
		{"versions: 2", "versions: 3", "setting hbase.versions of table mail is 2; it should be 3"},
		{"block_size: 8192", "block_size: 4096", "setting hbase.block_size of table mail is 8192; it should be 4096"},
		{"n: bigint", "n: int", "column n of table mail is bigint; it should be int"},
		{"c bigint", "c bigint desc", "column c of table mail.data is ascending; it should be descending"},
		{"unsigned: c, ", "", "setting hbase.unsigned of table mail.data is c; it should be not set"},
		{"a: text, n: bigint", "a: text, b: text, n: bigint", "table mail has no column b; it should have a plain column of type text"},
		{", family: body", "", "setting hbase.family of table mail.data is body; it should be data"},
		{"  mail.data", "  mail.more: {parent: mail, clustering: [c bigint]}\n  mail.data", "table mail.more is missing"},
	} {
		if err := st.Apply(t.Context(), parse(t, strings.Replace(hintedSchema, c.old, c.other, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("a schema with %q in place of %q: %v, expected %q", c.other, c.old, err, c.want)
		}
	}
	if err := st.Apply(t.Context(), parse(t, strings.Replace(hintedSchema, "  mail.data", "  other: {partition: [p text], columns: {v: text}}\n  mail.data", 1))); err != nil {
		t.Errorf("a schema with a table more: %v", err)
	}
	if err := st.Apply(t.Context(), s); err == nil || !strings.Contains(err.Error(), "table other is there and should not be") {
		t.Errorf("a schema with a table less: %v", err)
	}
}

// TestForeign leaves tables alone that mailbench did not make, whatever they
// are called, and clones of its own, which have its mark.
func TestForeign(t *testing.T) {
	st := openLive(t, newNamespace(), nil)
	s := parse(t, "schema: 1\nname: foreign\ntables:\n  a: {partition: [p text], columns: {v: text}}\n")
	name := prefixOf(st.Namespace, s.Name) + "a"
	request := &pb.CreateTableRequest{TableSchema: &pb.TableSchema{
		TableName: tableName(name), ColumnFamilies: []*pb.ColumnFamilySchema{{Name: []byte("m")}},
	}}
	if err := st.run(t.Context(), "CreateTable", request, new(pb.CreateTableResponse)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.dropTable(context.Background(), name); err != nil {
			t.Errorf("drop the foreign table: %v", err)
		}
	}()
	if err := st.Apply(t.Context(), s); !errors.Is(err, drivers.ErrForeign) {
		t.Errorf("apply over a table that mailbench did not make: %v", err)
	}
	if _, err := st.Inspect(t.Context(), s.Name); !errors.Is(err, drivers.ErrForeign) {
		t.Errorf("inspect: %v", err)
	}
	ours := parse(t, "schema: 1\nname: ours\ntables:\n  a: {partition: [p text], columns: {v: text}}\n")
	if err := st.Apply(t.Context(), ours); err != nil {
		t.Fatal(err)
	}
	all, err := st.describe(t.Context(), prefixOf(st.Namespace, ours.Name)+"a")
	if err != nil {
		t.Fatal(err)
	}
	clone := all[prefixOf(st.Namespace, ours.Name)+"a"]
	clone.Name += "_clone"
	request.TableSchema = clone.message()
	if err := st.run(t.Context(), "CreateTable", request, new(pb.CreateTableResponse)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.dropTable(context.Background(), clone.Name); err != nil {
			t.Errorf("drop the clone: %v", err)
		}
	}()
	if _, err := st.Drop(t.Context()); !errors.Is(err, drivers.ErrForeign) {
		t.Errorf("drop with foreign tables among ours: %v", err)
	}
	all, err = st.describe(t.Context(), drivers.Prefix+st.Namespace)
	if left := slices.Sorted(maps.Keys(all)); err != nil || !slices.Equal(left, []string{name, clone.Name}) {
		t.Errorf("after the drop: %v, %v; expected the foreign table and the clone alone", left, err)
	}
}

// TestLookalike: without a namespace, a schema's name can make its tables look
// as if they were in one. Their mark distinguishes them.
func TestLookalike(t *testing.T) {
	st := openLive(t, "n"+newNamespace()[1:], nil)
	none := second(t, st)
	none.Namespace = ""
	const tables = "\ntables:\n  a: {partition: [p text], columns: {v: text}}\n"
	lookalike := parse(t, "schema: 1\nname: "+st.Namespace+"_b"+tables)
	if err := none.Apply(t.Context(), lookalike); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := none.dropTable(context.Background(), prefixOf("", lookalike.Name)+"a"); err != nil {
			t.Errorf("drop the lookalike: %v", err)
		}
	}()
	if _, err := none.Inspect(t.Context(), lookalike.Name); err != nil {
		t.Error(err)
	}
	if _, err := st.Inspect(t.Context(), "b"); err == nil {
		t.Error("the schema without a namespace is told as one in it")
	}
	if err := st.Apply(t.Context(), parse(t, "schema: 1\nname: b"+tables)); err == nil {
		t.Error("a schema was applied over the lookalike")
	}
}

// heapsOf returns the largest heaps of the region servers, in MiB, each once.
func heapsOf(t *testing.T, st *Store) string {
	t.Helper()
	status, err := st.status(t.Context())
	if err != nil || len(status.GetLiveServers()) == 0 {
		t.Fatal(err, status.GetLiveServers())
	}
	var heaps []string
	for _, server := range status.GetLiveServers() {
		heaps = append(heaps, fmt.Sprint(server.GetServerLoad().GetMaxHeap_MB()))
	}
	slices.Sort(heaps)
	return strings.Join(slices.Compact(heaps), ", ")
}

const mobSchema = `
schema: 1
name: mob
tables:
  mail:
    partition: [box uuid]
    clustering: [uid bigint desc]
    columns: {a: text, b: bigint}
    hints: {hbase: {bloom: rowprefix_fixed_length, bloom_prefix: 16}}
  mail.data: {parent: mail, clustering: [part bigint], columns: {data: blob}, hints: {hbase: {mob: true, mob_threshold: 1000}}}
patterns:
  put: {put: mail}
  page: {slice: mail, by: box, columns: uid}
  put_data: {put: mail.data}
  data: {slice: mail.data, by: [box, uid], columns: [part, data]}
  drop: {delete: mail.data, by: [box, uid]}
`

// TestMob: large values in files of their own and a Bloom filter of a row key's beginning change
// nothing that is read, before and after files are merged.
func TestMob(t *testing.T) {
	t.Parallel()
	st := openLive(t, newNamespace(), nil)
	s := parse(t, mobSchema)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatalf("applied again: %v", err)
	}
	tables, err := st.describe(t.Context(), prefixOf(st.Namespace, "mob"))
	d := tables[prefixOf(st.Namespace, "mob")+"mail"]
	if m, data := d.Families["m"], d.Families["data"]; err != nil || m["BLOOMFILTER"] != "ROWPREFIX_FIXED_LENGTH" ||
		m[bloomPrefix] != "16" || data["IS_MOB"] != "true" || data["MOB_THRESHOLD"] != "1000" {
		t.Errorf("families %v, %v", d.Families, err)
	}
	w := newWorker(t, st, s)
	box, n := func(b byte) drivers.Value { return drivers.UUID([16]byte{b}) }, func(n int) drivers.Value { return drivers.Bigint(int64(n)) }
	sizes := []int{1, 999, 1001, 100_000}
	for b := range byte(3) {
		for uid, size := range sizes {
			w.write("put", box(b), n(uid), drivers.Text("a"), n(1))
			w.write("put_data", box(b), n(uid), n(7), drivers.Blob(make([]byte, size)))
		}
		w.write("drop", box(b), n(3))
	}
	check := func(when string) {
		for b := range byte(3) {
			if got := w.numbers("page", box(b)); !slices.Equal(got, []int{3, 2, 1, 0}) {
				t.Errorf("%s: messages %v of box %d", when, got, b)
			}
			for uid, size := range sizes {
				var got []int
				err := w.session.Read(t.Context(), w.prepare("data"), []drivers.Value{box(b), n(uid)}, func(row []drivers.Value) error {
					got = append(got, len(row[1].Raw()))
					return nil
				})
				if want := []int{size}; err != nil || uid < 3 && !slices.Equal(got, want) || uid == 3 && len(got) > 0 {
					t.Errorf("%s: parts of %v bytes of message %d, %v; expected %v", when, got, uid, err, want)
				}
			}
		}
		if got := w.numbers("page", box(9)); len(got) > 0 {
			t.Errorf("%s: messages %v of a box without any", when, got)
		}
	}
	check("in memory")
	majorCompact(t, st)
	check("in files")
}
