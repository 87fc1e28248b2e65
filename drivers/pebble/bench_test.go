package pebble

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// benchSchema is a delivery as most models make it, and a folder as oracle's,
// body and all in one row, paged through an index.
const benchSchema = `
schema: 1
name: bench
tables:
  meta: {partition: [user text], clustering: [id bigint desc], columns: {from: text, subject: text, date: timestamp, size: bigint, seen: boolean}}
  label: {partition: [user text, label bigint], clustering: [id bigint desc]}
  tally: {partition: [user text], clustering: [name text], columns: {n: counter}}
  body: {partition: [user text], clustering: [id bigint desc], columns: {data: blob}}
  folder:
    partition: [user text]
    clustering: [id uuid, day timestamp]
    columns: {from: text, subject: text, seen: boolean, body: text}
    indexes: {by_day: [user, day desc]}
patterns:
  meta: {put: meta, by: [user, id]}
  label: {put: label, by: [user, label, id]}
  add: {increment: tally, by: [user, name], columns: [n]}
  body: {put: body, by: [user, id]}
  deliver: {batch: [meta, {run: label, each: label}, {run: add, each: counter}, body], atomic: all}
  put: {put: folder, by: [user, id, day]}
  page: {slice: folder, index: by_day, by: [user], limit: 25, columns: [id, day, from, subject, seen, body]}
  metas: {slice: meta, by: [user], limit: 25, columns: "*"}
  one: {get: meta, by: [user, id], columns: "*"}
  many: {get: meta, by: [user], in: id, columns: "*"}
`

func benchEnv(b testing.TB, class drivers.Durability) *env {
	b.Helper()
	st, err := Engine().Open(b.Context(), drivers.Options{Dir: b.TempDir(), Durability: class})
	if err != nil {
		b.Fatal(err)
	}
	e := &env{t: b, store: st.(*Store)}
	b.Cleanup(func() { e.store.Close() })
	sch, err := schemas.Parse("bench.yaml", []byte(benchSchema))
	if err != nil {
		b.Fatal(err)
	}
	if err := st.Apply(b.Context(), sch); err != nil {
		b.Fatal(err)
	}
	if e.set, err = drivers.PrepareAll(b.Context(), st, sch); err != nil {
		b.Fatal(err)
	}
	e.sess = e.session()
	return e
}

const (
	users   = 1000
	subject = "Re: the figures for the third quarter, as discussed on Monday"
	from    = "somebody.with.a.name@mail.example.org"
)

// halves returns text that compresses about 2:1, as mail does.
func halves(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	body := make([]byte, n)
	for i := range body {
		body[i] = byte('a' + r.IntN(16))
	}
	return body
}

// delivery is the arguments of one delivery, reused.
type delivery struct {
	user  []byte
	parts []drivers.Call
}

func newDelivery(body []byte) *delivery {
	d := &delivery{user: []byte("user000@example.org"), parts: make([]drivers.Call, 7)}
	for i, c := range []struct{ part, args int }{{0, 7}, {1, 3}, {1, 3}, {1, 3}, {2, 3}, {2, 3}, {3, 3}} {
		d.parts[i] = drivers.Call{Part: c.part, Args: make([]drivers.Value, c.args)}
		d.parts[i].Args[0] = drivers.TextBytes(d.user)
	}
	meta := d.parts[0].Args
	meta[2], meta[3], meta[4] = drivers.Text(from), drivers.Text(subject), drivers.Timestamp(1<<50)
	meta[5], meta[6] = drivers.Bigint(int64(len(body))), drivers.Boolean(false)
	for i := range 3 {
		d.parts[1+i].Args[1] = drivers.Bigint(int64(i))
	}
	d.parts[4].Args[1], d.parts[4].Args[2] = drivers.Text("l:1:m"), drivers.Counter(1)
	d.parts[5].Args[1], d.parts[5].Args[2] = drivers.Text("l:1:u"), drivers.Counter(1)
	d.parts[6].Args[2] = drivers.Blob(body)
	return d
}

func (d *delivery) set(n int) {
	setUser(d.user, n)
	id := drivers.Bigint(int64(n))
	d.parts[0].Args[1], d.parts[6].Args[1] = id, id
	for i := range 3 {
		d.parts[1+i].Args[2] = id
	}
}

func setUser(user []byte, n int) {
	n = max(n, -n) * 7919 % users
	user[4], user[5], user[6] = byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10)
}

// BenchmarkDeliver compares a delivery of 8 KB through a session with one
// written by hand: the same keys and values, one batch each, not synced.
func BenchmarkDeliver(b *testing.B) {
	body := halves(8 << 10)
	b.Run("bare", func(b *testing.B) { deliverBare(b, body) })
	b.Run("session", func(b *testing.B) {
		e := benchEnv(b, drivers.Memory)
		deliver, d := e.stmt("deliver"), newDelivery(body)
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			d.set(n)
			n++
			if err := e.sess.Batch(b.Context(), deliver, d.parts); err != nil {
				b.Fatal(err)
			}
		}
		if err := e.store.Settle(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(e.store.Observe().WrittenBytes)/float64(n*len(body)), "written/body")
	})
}

func deliverBare(b *testing.B, body []byte) {
	db, err := pebble.Open(b.TempDir(), Tuned(0))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	batch := db.NewBatch()
	user, key := []byte("user000@example.org"), make([]byte, 0, 64)
	one := drivers.Counter(1)
	plusOne := appendEntryOf([]byte{rowByte}, 0, opAdd, &one)
	meta := make([]byte, len(from)+len(subject)+30)
	row := append([]byte{rowByte, 0, 0x80, 0x40}, body...)
	put := func(space byte, tail []byte, n int) []byte {
		key = append(key[:0], 0, space)
		key = append(append(key, user...), 0, 1)
		key = append(key, tail...)
		if n >= 0 {
			key = binary.BigEndian.AppendUint64(key, ^uint64(n))
		}
		return key
	}
	labels := [3][8]byte{{7: 0}, {7: 1}, {7: 2}}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		setUser(user, n)
		batch.Reset()
		batch.Set(put(1, nil, n), meta, nil)
		for i := range labels {
			batch.Set(put(5, labels[i][:], n), nil, nil)
		}
		batch.Merge(put(9, []byte("l:1:m\x00\x01"), -1), plusOne, nil)
		batch.Merge(put(9, []byte("l:1:u\x00\x01"), -1), plusOne, nil)
		batch.Set(put(13, nil, n), row, nil)
		n++
		if err := db.Apply(batch, pebble.NoSync); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPage reads the newest 25 messages of 1 KB, bodies included, through
// an index, from a small folder and from a large one whose rows lie in order of
// arrival, as oracle's do. With ids in no order each row lies elsewhere.
func BenchmarkPage(b *testing.B) {
	for _, c := range []struct {
		size   int
		random bool
	}{{1_000, false}, {1_000_000, false}, {1_000, true}, {1_000_000, true}} {
		b.Run(fmt.Sprintf("%d/random=%v", c.size, c.random), func(b *testing.B) {
			e := benchEnv(b, drivers.Memory)
			fillFolder(b, e, c.size, c.random)
			page := e.stmt("page")
			args := values([]any{"u"})
			rows := 0
			yield := func([]drivers.Value) error { rows++; return nil }
			b.ReportAllocs()
			for b.Loop() {
				rows = 0
				if err := e.sess.Read(b.Context(), page, args, yield); err != nil || rows != 25 {
					b.Fatal(rows, err)
				}
			}
		})
	}
}

// fillFolder fills a folder in order of arrival.
func fillFolder(b *testing.B, e *env, size int, random bool) {
	b.Helper()
	put, body := e.stmt("put"), string(halves(1<<10))
	r := rand.New(rand.NewPCG(3, 4))
	for n := range size {
		var id [16]byte
		binary.BigEndian.PutUint64(id[:], uint64(n))
		if random {
			binary.BigEndian.PutUint64(id[:], r.Uint64())
		}
		args := values([]any{"u", drivers.UUID(id), drivers.Timestamp(int64(n)), from, subject, false, body})
		if _, err := e.sess.Write(b.Context(), put, args); err != nil {
			b.Fatal(err)
		}
	}
	if err := e.store.Settle(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRead measures what reads cost in this driver: 25 rows of metadata
// by one slice, and by one multi-get.
func BenchmarkRead(b *testing.B) {
	e := benchEnv(b, drivers.Memory)
	d, body := newDelivery(nil), halves(1<<10)
	d.parts[6].Args[2] = drivers.Blob(body)
	for n := range 100_000 {
		d.set(n)
		if err := e.sess.Batch(b.Context(), e.stmt("deliver"), d.parts); err != nil {
			b.Fatal(err)
		}
	}
	if err := e.store.Settle(b.Context()); err != nil {
		b.Fatal(err)
	}
	d.set(0)
	user := drivers.TextBytes(d.user)
	var ids []drivers.Value
	rows := 0
	yield := func(row []drivers.Value) error {
		rows++
		if len(ids) < 25 {
			ids = append(ids, row[1])
		}
		return nil
	}
	if err := e.sess.Read(b.Context(), e.stmt("metas"), []drivers.Value{user}, yield); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		rows int
		args []drivers.Value
	}{{"one", 1, []drivers.Value{user, ids[7]}}, {"metas", 25, []drivers.Value{user}}, {"many", 25, []drivers.Value{user, drivers.ListOf(ids)}}} {
		b.Run(c.name, func(b *testing.B) {
			st := e.stmt(c.name)
			b.ReportAllocs()
			for b.Loop() {
				rows = 0
				if err := e.sess.Read(b.Context(), st, c.args, yield); err != nil || rows != c.rows {
					b.Fatal(rows, err)
				}
			}
		})
	}
}

// A page that ends at its limit allocates no more than Pebble's iterators do. It once looked for damage in that end.
func TestPageAllocations(t *testing.T) {
	e := benchEnv(t, drivers.Memory)
	put, page, ctx := e.stmt("meta"), e.stmt("metas"), t.Context()
	for id := range 30 {
		row := values([]any{"ann", id, from, subject, drivers.Timestamp(1), 1, false})
		if _, err := e.sess.Write(ctx, put, row); err != nil {
			t.Fatal(err)
		}
	}
	args, rows := values([]any{"ann"}), 0
	count := func([]drivers.Value) error { rows++; return nil }
	n := testing.AllocsPerRun(100, func() {
		if err := e.sess.Read(ctx, page, args, count); err != nil {
			t.Fatal(err)
		}
	})
	if n > 1 || rows != 101*25 {
		t.Errorf("%v allocations, %d rows", n, rows)
	}
}
