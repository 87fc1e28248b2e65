package cassandra

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/schemas"
)

const flagsBody = `
tables:
  rows: {partition: [p text], clustering: [k int], columns: {size: bigint, seen: boolean}}
  logs: {partition: [p text], clustering: [k int], columns: {v: blob, l: list<text>}}
patterns:
  put: {put: rows}
  drop: {delete: rows, by: [p, k]}
  drop_all: {delete: rows, by: p}
  flag: {put-if: rows, columns: seen, if: size}
  create: {put-if: rows, if: absent}
  get: {get: rows, columns: [size, seen]}
  both: {batch: [{run: drop, each: x}, {run: put, each: x}], atomic: partition}
  log: {put: logs, columns: v}
  logged: {batch: [{run: log, each: x}], atomic: all}
  at_once: {batch: [{run: log, each: x}], parallel: 4}
  read: {slice: logs, by: p, columns: [k, v]}
  rows_of: {slice: rows, by: p, columns: [k, size]}
`

// runner runs patterns of an applied schema.
type runner struct {
	testing.TB
	*Store
	session drivers.Session
	schema  *schemas.Schema
	set     *drivers.Prepared
}

func run(t testing.TB, st *Store, s *schemas.Schema) *runner {
	t.Helper()
	ctx := context.Background()
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
	t.Cleanup(func() { _ = session.Close() })
	return &runner{t, st, session, s, set}
}

func (r *runner) stmt(pattern string) drivers.Statement {
	r.Helper()
	st, err := r.set.Get(pattern)
	if err != nil {
		r.Fatal(err)
	}
	return st
}

func (r *runner) write(pattern string, args ...drivers.Value) bool {
	r.Helper()
	res, err := r.session.Write(context.Background(), r.stmt(pattern), args)
	if err != nil {
		r.Fatal(err)
	}
	return res.Applied
}

func (r *runner) read(pattern string, args ...drivers.Value) string {
	r.Helper()
	var lines []string
	err := r.session.Read(context.Background(), r.stmt(pattern), args, func(row []drivers.Value) error {
		var words []string
		for _, v := range row {
			switch {
			case v.IsNull():
				words = append(words, "null")
			case v.Kind() == schemas.Text || v.Kind() == schemas.Blob:
				words = append(words, v.Str())
			default:
				words = append(words, fmt.Sprint(v.Int64()))
			}
		}
		lines = append(lines, strings.Join(words, " "))
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	return strings.Join(lines, "; ")
}

// putAndFlag puts the row of a round, which has its number, and sets the row's flag on a condition.
func (r *runner) putAndFlag(i int32, p, k drivers.Value) {
	r.Helper()
	size := drivers.Bigint(int64(i))
	r.write("put", p, k, size, drivers.Boolean(false))
	if !r.write("flag", p, k, drivers.Boolean(true), size) {
		r.Fatalf("round %d: the flag was not set on a row that is there", i)
	}
	if got, want := r.read("get", p, k), fmt.Sprint(i, " 1"); got != want {
		r.Fatalf("round %d: put, then flagged: the row is %q, want %q", i, got, want)
	}
}

// TestStamps: plain and conditional writes of one row take effect in the order in
// which they are sent, however close they follow each other. (With plain
// writes stamped by this process, a conditional one would lose to the one just
// before it: Paxos counts in milliseconds.)
func TestStamps(t *testing.T) {
	r := run(t, openLive(t, nil), schemaOf(t, "flags", flagsBody))
	p, no, yes := drivers.Text("p"), drivers.Boolean(false), drivers.Boolean(true)
	for i := range int32(100) {
		k, size := drivers.Int(i%3), drivers.Bigint(int64(i))
		r.putAndFlag(i, p, k)
		r.write("drop", p, k)
		if !r.write("create", p, k, size, no) {
			t.Fatalf("round %d: a row was dropped, and is there", i)
		}
		if got, want := r.read("get", p, k), fmt.Sprint(i, " 0"); got != want {
			t.Fatalf("round %d: dropped, then created: the row is %q, want %q", i, got, want)
		}
		// All parts of a batch have one time, so none that writes a row twice is sent.
		err := r.session.Batch(t.Context(), r.stmt("both"), []drivers.Call{
			{Part: 0, Args: []drivers.Value{p, k}}, {Part: 1, Args: []drivers.Value{p, k, size, yes}},
		})
		if !errors.Is(err, errOneTime) || errors.Is(err, drivers.ErrUnknown) {
			t.Fatalf("round %d: a row is dropped and put in one batch: %v, want %v", i, err, errOneTime)
		}
		r.replace(p, k, i)
		r.write("drop_all", p)
		if got := r.read("get", p, k); got != "" {
			t.Fatalf("round %d: dropped after a batch: the row is %q", i, got)
		}
	}
}

// replace drops row k of a partition and puts others in one batch, of so many parts as was once
// too much to compare.
func (r *runner) replace(p, k drivers.Value, round int32) {
	r.Helper()
	parts := []drivers.Call{{Part: 0, Args: []drivers.Value{p, k}}}
	for n := range int32(600) {
		parts = append(parts, drivers.Call{
			Part: 1, Args: []drivers.Value{p, drivers.Int(100 + n), drivers.Bigint(int64(round)), drivers.Boolean(true)},
		})
	}
	if err := r.session.Batch(r.Context(), r.stmt("both"), parts); err != nil {
		r.Fatal(err)
	}
	if got, want := r.read("get", p, drivers.Int(699)), fmt.Sprint(round, " 1"); got != want {
		r.Fatalf("round %d: put in a batch: the row is %q, want %q", round, got, want)
	}
	if got := r.read("get", p, k); got != "" {
		r.Fatalf("round %d: dropped in a batch: the row is %q", round, got)
	}
}

// TestOneClock: plain and conditional writes of a row, and batches of them, are ordered by one clock,
// since all writes of a partition go to one node as long as that is up. So it holds on nodes with
// skewed clocks too (docs/internals/reliability.md).
func TestOneClock(t *testing.T) {
	r := run(t, openLive(t, nil), schemaOf(t, "flags", flagsBody))
	no, yes := drivers.Boolean(false), drivers.Boolean(true)
	for i := range int32(60) {
		p, k, size := drivers.Text(fmt.Sprint("p", i%10)), drivers.Int(i%3), drivers.Bigint(int64(i))
		r.putAndFlag(i, p, k)
		r.write("drop", p, k)
		if r.write("flag", p, k, yes, size) {
			t.Fatalf("round %d: a flag was set on a row that was dropped", i)
		}
		if !r.write("create", p, k, size, no) {
			t.Fatalf("round %d: a row was dropped, and is there", i)
		}
		r.replace(p, k, i)
		r.write("drop_all", p)
		for _, k := range []drivers.Value{k, drivers.Int(699)} {
			if got := r.read("get", p, k); got != "" {
				t.Fatalf("round %d: created, replaced, then dropped: the row is %q", i, got)
			}
		}
	}
}

// TestTimesOfParts: the parts of a parallel batch have timestamps in their order, and those of a
// table with conditional writes have the node's. It needs no cluster.
func TestTimesOfParts(t *testing.T) {
	s := schemaOf(t, "flags", flagsBody)
	k := offline(t, s)
	for pattern, want := range map[string][]int64{"log": {7, 8, 9}, "put": {0, 0, 0}} {
		st, err := k.compile(s.Pattern(pattern))
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range want {
			if got := st.timeOf(7, i); got != want {
				t.Errorf("part %d of %s has the timestamp %d, want %d", i, pattern, got, want)
			}
		}
	}
}

// TestParallelStamps: of parts of one batch that are sent together and write one row, the later
// one wins. (With equal timestamps the larger value would.)
func TestParallelStamps(t *testing.T) {
	r := run(t, openLive(t, nil), schemaOf(t, "flags", flagsBody))
	p := drivers.Text("p")
	var parts []drivers.Call
	for _, v := range []string{"c", "b", "d", "a"} {
		parts = append(parts, drivers.Call{Args: []drivers.Value{p, drivers.Int(1), drivers.Blob([]byte(v))}})
	}
	if err := r.session.Batch(t.Context(), r.stmt("at_once"), parts); err != nil {
		t.Fatal(err)
	}
	if got := r.read("read", p); got != "1 a" {
		t.Errorf("the row is %q, want what the last part wrote", got)
	}
}

// TestFits: a batch that passes the check passes the cluster's own. The size that the driver
// computes is never less than that of the cluster.
func TestFits(t *testing.T) {
	st := openLive(t, nil)
	r := run(t, st, schemaOf(t, "flags", flagsBody))
	for _, size := range []int{0, 1, 100, 3000} {
		value := drivers.Blob(make([]byte, size))
		var parts []drivers.Call
		var total int64
		for i := int32(0); ; i++ {
			args := []drivers.Value{drivers.Text(fmt.Sprint("p", i%7)), drivers.Int(i), value}
			if total += partitionOverhead + r.stmt("log").(*statement).sizeOf(args); total > st.limits.batch {
				break
			}
			parts = append(parts, drivers.Call{Args: args})
		}
		if err := r.session.Batch(t.Context(), r.stmt("logged"), parts); err != nil {
			t.Errorf("%d rows with values of %d bytes, counted as less than the %d that the cluster takes: %v", len(parts),
				size, st.limits.batch, err)
		}
		if got := int64(len(parts) * (size + 48)); got < st.limits.batch/3 {
			t.Errorf("no more than %d rows with values of %d bytes are let into a batch of %d", len(parts), size,
				st.limits.batch)
		}
	}
	// A value that does not pass is not sent.
	st.limits.batch = 1 << 10
	err := r.session.Batch(t.Context(), r.stmt("logged"), []drivers.Call{
		{Args: []drivers.Value{drivers.Text("a"), drivers.Int(1), drivers.Blob(make([]byte, 1<<10))}}, {Args: []drivers.Value{drivers.Text("b"), drivers.Int(1), {}}},
	})
	if !errors.Is(err, drivers.ErrTooLarge) {
		t.Errorf("more than the limit over two partitions: %v, want ErrTooLarge", err)
	}
	// And a refusal of the cluster has the same error, if the driver did not notice before.
	st.limits.batch, st.limits.mutation = 1<<30, 1<<30
	large := drivers.Blob(make([]byte, 40<<10))
	err = r.session.Batch(t.Context(), r.stmt("logged"), []drivers.Call{
		{Args: []drivers.Value{drivers.Text("a"), drivers.Int(1), large}}, {Args: []drivers.Value{drivers.Text("b"), drivers.Int(1), large}},
	})
	if !errors.Is(err, drivers.ErrTooLarge) {
		t.Errorf("80 KiB over two partitions, refused by the cluster: %v, want ErrTooLarge", err)
	}
	for _, size := range []int{16<<20 - 1, 17 << 20} {
		_, err = r.session.Write(t.Context(), r.stmt("log"),
			[]drivers.Value{drivers.Text("a"), drivers.Int(1), drivers.Blob(make([]byte, size))})
		if !errors.Is(err, drivers.ErrTooLarge) {
			t.Errorf("a mutation of %d bytes, refused by the cluster: %v, want ErrTooLarge", size, err)
		}
	}
	if got := r.read("read", drivers.Text("a")); got != "" {
		t.Errorf("of what was refused there is %.50q", got)
	}
}

// TestAbandoned: a write whose time is up while it is under way has an unknown
// outcome: its row is there whole, or not at all. A read whose time is up is
// an error. The session goes on after both.
func TestAbandoned(t *testing.T) {
	r := run(t, openLive(t, nil), schemaOf(t, "flags", flagsBody))
	large := strings.Repeat("v", 1<<20)
	r.write("log", drivers.Text("p"), drivers.Int(0), drivers.Blob([]byte("before")))
	abandoned := giveUp(t, func(ctx context.Context) error {
		_, err := r.session.Write(ctx, r.stmt("log"),
			[]drivers.Value{drivers.Text("p"), drivers.Int(1), drivers.Blob([]byte(large))})
		if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, drivers.ErrUnknown) {
			return nil // its time was up before it was sent
		}
		return err
	})
	if !errors.Is(abandoned, drivers.ErrUnknown) {
		t.Errorf("no write that was given up is told as unknown: %v", abandoned)
	}
	if got := r.read("read", drivers.Text("p")); got != "0 before" && got != "0 before; 1 "+large {
		t.Errorf("after writes that were given up there are %d bytes: %.50q", len(got), got)
	}
	r.write("log", drivers.Text("p"), drivers.Int(1), drivers.Blob([]byte(large)))
	abandoned = giveUp(t, func(ctx context.Context) error {
		rows := 0
		err := r.session.Read(ctx, r.stmt("read"), []drivers.Value{drivers.Text("p")}, func([]drivers.Value) error {
			rows++
			return nil
		})
		if err == nil && rows != 2 {
			t.Fatalf("a read that did not fail yields %d of 2 rows", rows)
		}
		return err
	})
	if !errors.Is(abandoned, context.DeadlineExceeded) || errors.Is(abandoned, drivers.ErrUnknown) {
		t.Errorf("a read that was given up: %v, want %v", abandoned, context.DeadlineExceeded)
	}
	if got := r.read("read", drivers.Text("p")); got != "0 before; 1 "+large {
		t.Errorf("after reads that were given up there are %d bytes: %.50q", len(got), got)
	}
}

// giveUp calls with more and more time until a call is given up under way, and
// returns its error. A call must end well or because its time is up.
func giveUp(t *testing.T, call func(context.Context) error) error {
	t.Helper()
	for wait := 50 * time.Microsecond; wait < time.Second; wait += wait / 4 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		err := call(ctx)
		cancel()
		switch {
		case err == nil:
		case errors.Is(err, context.DeadlineExceeded):
			return err
		default:
			t.Fatalf("a call whose time is up: %v", err)
		}
	}
	return nil
}

// TestAnswers: a conditional write that was not applied returns the columns
// compared, in the pattern's order.
func TestAnswers(t *testing.T) {
	r := run(t, openLive(t, nil), schemaOf(t, "answers", `
tables:
  rows: {partition: [p text], columns: {b: text, a: bigint, c: text}}
patterns:
  put: {put: rows}
  swap: {put-if: rows, columns: c, if: [b, a]}
  create: {put-if: rows, if: absent}
`))
	answer := func(pattern string, args ...drivers.Value) drivers.Result {
		t.Helper()
		res, err := r.session.Write(t.Context(), r.stmt(pattern), args)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	p, text := drivers.Text("p"), drivers.Text("x")
	if got := answer("swap", p, text, text, drivers.Bigint(1)); got.Applied || got.Row != nil {
		t.Errorf("no row: %+v", got)
	}
	r.write("put", p, text, drivers.Bigint(7), drivers.Value{})
	got := answer("swap", p, text, text, drivers.Bigint(1))
	if got.Applied || len(got.Row) != 2 || got.Row[0].Str() != "x" || got.Row[1].Int64() != 7 {
		t.Errorf("another row: %+v", got)
	}
	if got := answer("create", p, text, drivers.Bigint(7), text); got.Applied || got.Row != nil {
		t.Errorf("a row that is there: %+v", got)
	}
	if got := answer("swap", p, text, text, drivers.Bigint(7)); !got.Applied || got.Row != nil {
		t.Errorf("the row: %+v", got)
	}
}

// TestObserve: what a store reports about its cluster, and that compaction ends.
func TestObserve(t *testing.T) {
	st := openLive(t, nil)
	r := run(t, st, schemaOf(t, "flags", flagsBody))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if o := st.Observe(); o.DiskBytes != 0 {
		t.Errorf("%d bytes are on disk before anything was written", o.DiskBytes)
	}
	noise := rand.NewChaCha8([32]byte{1}) // Cassandra compresses what is on disk
	large := make([]byte, 1<<20)
	for round := range int32(2) {
		for k := range int32(4) {
			noise.Read(large)
			r.write("log", drivers.Text("p"), drivers.Int(4*round+k), drivers.Blob(large))
		}
		if err := st.Settle(ctx); err != nil {
			t.Fatal(err)
		}
		// Sizes are reported in whole MiB.
		if least, got := int64(round+1)*4<<20, st.Observe().DiskBytes; got < least {
			t.Fatalf("%d bytes are on disk, expected at least %d", got, least)
		}
	}
	o := st.Observe()
	if o.DiskBytes < 8<<20 || o.DiskBytes > 12<<20 || o.DiskExcess != 1<<20 || o.CacheBytes <= 0 || o.CompactionDebt < 0 ||
		o.WrittenBytes != -1 || o.Tombstones != -1 {
		t.Errorf("observation %+v", o)
	}
	for name, want := range map[string]string{
		"consistency": "LOCAL_QUORUM", "replication": fmt.Sprint(st.replication[0].Factor), "write_coalesce": "0s",
		"table_compaction": "SizeTieredCompactionStrategy max_threshold=32 min_threshold=4", "server_commitlog_sync": st.server["commitlog_sync"],
	} {
		if got := o.Settings[name]; got != want || want == "" {
			t.Errorf("setting %s is %q, want %q", name, got, want)
		}
	}
	if c := st.Capabilities(); !strings.HasPrefix(c.Version, "cassandra ") || c.Durability == drivers.DurabilityDefault || c.MaxSpreadBytes == 0 || c.MaxSpreadBytes >= c.MaxBatchBytes {
		t.Errorf("capabilities %+v", c)
	}
}

// TestClose: closing waits for a read, from whose yield nothing more is begun.
func TestClose(t *testing.T) {
	st := openLive(t, nil)
	r := run(t, st, schemaOf(t, "flags", flagsBody))
	r.write("log", drivers.Text("p"), drivers.Int(1), drivers.Value{})
	other, err := Engine().Open(t.Context(),
		drivers.Options{Contact: []string{live.Contact(t, "cassandra")}, Namespace: st.Namespace})
	if err != nil {
		t.Fatal(err)
	}
	o := run(t, other.(*Store), r.schema)
	closed := make(chan error)
	err = o.session.Read(t.Context(), o.stmt("read"), []drivers.Value{drivers.Text("p")}, func([]drivers.Value) error {
		go func() { closed <- other.Close() }()
		for !o.Gate.Closed() {
			time.Sleep(time.Millisecond)
		}
		select {
		case <-closed:
			t.Errorf("the store was closed under a read")
		default:
		}
		second, err := other.Session()
		if !errors.Is(err, drivers.ErrClosed) {
			t.Errorf("a session of a store that closes: %v, %v; want ErrClosed", second, err)
		}
		return nil
	})
	if err != nil {
		t.Errorf("the read under way: %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("close: %v", err)
	}
	if err := o.session.Read(t.Context(), o.stmt("read"), []drivers.Value{drivers.Text("p")}, nil); !errors.Is(err, drivers.ErrClosed) {
		t.Errorf("a read of a closed store: %v, want ErrClosed", err)
	}
}

// TestTombstonesRead: tombstones that reads meet are reported.
func TestTombstonesRead(t *testing.T) {
	st := openLive(t, nil)
	r := run(t, st, schemaOf(t, "flags", flagsBody))
	for k := range int32(40) {
		r.write("drop", drivers.Text("p"), drivers.Int(k))
	}
	if n := st.Observe().TombstonesRead; n != 0 {
		t.Errorf("%d tombstones read before any read", n)
	}
	r.exec(`SELECT * FROM %s.rows WHERE p = 'p'`)
	// Cassandra's histogram rounds up by at most a fifth.
	if n := st.Observe().TombstonesRead; n < 40 || n > 50 {
		t.Errorf("%d tombstones were read at once, want 40", n)
	}
}

const newRowsBody = `
tables:
  old: {partition: [k int], columns: {v: text, s: set<text>, m: "map<text,text>", l: list<text>}}
  new: {partition: [k int], columns: {v: text, s: set<text>, m: "map<text,text>", l: list<text>}, hints: {cassandra: {puts: new-rows}}}
patterns:
  put_old: {put: old}
  put_new: {put: new}
  puts_new: {batch: [{run: put_new, each: x}], atomic: all}
  create: {put-if: old, if: absent}
  get_old: {get: old, columns: [v, s, m, l]}
  get_new: {get: new, columns: [v, s, m, l]}
`

// TestNewRows: a put of new rows deletes nothing, neither what is null nor elements, alone and
// in a batch; another put replaces all. In a row that is there this can be seen.
func TestNewRows(t *testing.T) {
	r := run(t, openLive(t, nil), schemaOf(t, "rows", newRowsBody))
	text := func(words ...string) (vs []drivers.Value) {
		for _, w := range words {
			vs = append(vs, drivers.Text(w))
		}
		return vs
	}
	null := drivers.Value{}
	first := []drivers.Value{
		drivers.Int(1), drivers.Text("v"), drivers.SetOf(text("a")), drivers.MapOf(text("a", "1")), drivers.ListOf(text("a")),
	}
	for name, c := range map[string]struct {
		args     []drivers.Value
		old, new string
	}{
		"nulls":    {[]drivers.Value{null, null, null, null}, "null [] [] []", "v [a] [a 1] [a]"},
		"empty":    {[]drivers.Value{null, drivers.SetOf(nil), drivers.MapOf(nil), drivers.ListOf(nil)}, "null [] [] []", "v [a] [a 1] [a]"},
		"elements": {[]drivers.Value{null, drivers.SetOf(text("b")), null, drivers.ListOf(text("b"))}, "null [b] [] [b]", "v [a b] [a 1] [b]"},
		"text":     {[]drivers.Value{drivers.Text(""), null, drivers.MapOf(text("b", "2")), null}, " [] [b 2] []", " [a] [a 1 b 2] [a]"},
	} {
		again := append([]drivers.Value{drivers.Int(1)}, c.args...)
		for _, put := range []string{"put_old", "put_new"} {
			r.write(put, first...)
			r.write(put, again...)
		}
		if got := r.collections("get_old"); got != c.old {
			t.Errorf("%s: put: %q, want %q", name, got, c.old)
		}
		if got := r.collections("get_new"); got != c.new {
			t.Errorf("%s: put of a new row: %q, want %q", name, got, c.new)
		}
		r.exec("DELETE FROM %s.new WHERE k = 1")
		r.write("put_new", first...)
		other := append([]drivers.Value{drivers.Int(2)}, c.args...)
		if err := r.session.Batch(t.Context(), r.stmt("puts_new"), []drivers.Call{{Args: again}, {Args: other}}); err != nil {
			t.Fatal(err)
		}
		if got := r.collections("get_new"); got != c.new {
			t.Errorf("%s: batch: %q, want %q", name, got, c.new)
		}
		r.exec("DELETE FROM %s.new WHERE k = 1")
		r.exec("DELETE FROM %s.old WHERE k = 1")
		if !r.write("create", first...) {
			t.Errorf("%s: a conditional put of an absent row was refused", name)
		}
	}
}

// exec runs a statement on the keyspace.
func (r *runner) exec(format string) {
	r.Helper()
	keyspace, err := ddl.Keyspace(r.Namespace, r.schema.Name)
	if err == nil {
		err = r.Store.session.Query(fmt.Sprintf(format, keyspace)).Exec()
	}
	if err != nil {
		r.Fatal(err)
	}
}

// collections reads row 1 by a pattern: text, set, map and list.
func (r *runner) collections(pattern string) (got string) {
	r.Helper()
	err := r.session.Read(r.Context(), r.stmt(pattern), []drivers.Value{drivers.Int(1)}, func(row []drivers.Value) error {
		words := []string{"null"}
		if !row[0].IsNull() {
			words[0] = row[0].Str()
		}
		for _, v := range row[1:] {
			elems := []string{}
			for _, e := range v.Elems() {
				elems = append(elems, e.Str())
			}
			words = append(words, fmt.Sprint(elems))
		}
		got = strings.Join(words, " ")
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	return got
}
