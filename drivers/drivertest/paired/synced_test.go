package paired

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"testing"

	bare "github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/schemas"
)

//go:embed synced.yaml
var syncedSource []byte

// BenchmarkSynced compares synced deliveries of 8 KB on Pebble with a bare loop that writes the
// same keys and values, after a load whose compactions are over and after one whose compactions
// still run:
//
//	MAILBENCH_PAIRS=8 go test -run '^$' -bench Synced -benchtime 1s ./drivers/drivertest/paired
func BenchmarkSynced(b *testing.B) {
	b.Run("settled", func(b *testing.B) { synced(b, true) })
	b.Run("compacting", func(b *testing.B) { synced(b, false) })
}

func synced(b *testing.B, settled bool) {
	st, err := pebble.Engine().Open(b.Context(), drivers.Options{Dir: b.TempDir(), Durability: drivers.Power})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { st.Close() })
	s := applied(b, st, syncedSource)
	db, err := bare.Open(b.TempDir(), pebble.Tuned(0))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	loadSynced(b, st, s, db, settled)
	var next atomic.Uint64
	next.Store(loaded)
	inTurns(b,
		Side{Name: "bare", Client: func() (Op, error) {
			w := newBareDelivery(db)
			return func(context.Context, uint64) error { return w.deliver(next.Add(1), bare.Sync) }, nil
		}},
		driverSide(b, st, s, "deliver", func(session drivers.Session, stmt drivers.Statement) Op {
			d := newDelivery()
			return func(ctx context.Context, _ uint64) error { return session.Batch(ctx, stmt, d.numbered(next.Add(1))) }
		}))
}

// loaded is how many messages each side has before the blocks begin.
const loaded = 20_000

// loadSynced delivers messages by both sides, not synced.
func loadSynced(b *testing.B, st drivers.Store, s *schemas.Schema, db *bare.DB, settled bool) {
	b.Helper()
	set, err := drivers.PrepareAll(b.Context(), st, s)
	if err != nil {
		b.Fatal(err)
	}
	stmt, err := set.Get("deliver")
	if err != nil {
		b.Fatal(err)
	}
	session, err := st.Session()
	if err != nil {
		b.Fatal(err)
	}
	defer session.Close()
	session.(drivers.Bulk).Bulk(true)
	d, w := newDelivery(), newBareDelivery(db)
	for n := range uint64(loaded) {
		if err := errors.Join(session.Batch(b.Context(), stmt, d.numbered(n)), w.deliver(n, bare.NoSync)); err != nil {
			b.Fatal(err)
		}
	}
	if !settled {
		return
	}
	err = errors.Join(st.(drivers.Settler).Settle(b.Context()), db.Compact(b.Context(), []byte{0}, []byte{0xff}, false))
	if err != nil {
		b.Fatal(err)
	}
}

// mailBody returns 8 KB that compress about 2:1, as mail does.
func mailBody() []byte {
	body := make([]byte, 8<<10)
	for i, x := 0, uint32(1); i < len(body); i++ {
		x = x*1664525 + 1013904223
		body[i] = 'a' + byte(x>>28)
	}
	return body
}

// setUser makes user, which is user000@example.org, the mailbox of message n.
func setUser(user []byte, n uint64) {
	n = n * 7919 % 1000
	user[4], user[5], user[6] = byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10)
}

// delivery is the arguments of one delivery, reused.
type delivery struct {
	user  []byte
	parts []drivers.Call
}

func newDelivery() *delivery {
	d := &delivery{user: []byte("user000@example.org")}
	user, body := drivers.TextBytes(d.user), mailBody()
	d.parts = []drivers.Call{{Part: 0, Args: []drivers.Value{
		user,
		{},
		drivers.Text(from), drivers.Text(subject), drivers.Timestamp(1 << 50),
		drivers.Bigint(int64(len(body))), drivers.Boolean(false),
	}}}
	for label := range int64(3) {
		d.parts = append(d.parts, drivers.Call{Part: 1, Args: []drivers.Value{user, drivers.Bigint(label), {}}})
	}
	for _, name := range []string{"l:1:m", "l:1:u"} {
		d.parts = append(d.parts, drivers.Call{Part: 2, Args: []drivers.Value{user, drivers.Text(name), drivers.Counter(1)}})
	}
	d.parts = append(d.parts, drivers.Call{Part: 3, Args: []drivers.Value{user, {}, drivers.Blob(body)}})
	return d
}

// numbered makes d the delivery of message n.
func (d *delivery) numbered(n uint64) []drivers.Call {
	setUser(d.user, n)
	id := drivers.Bigint(int64(n))
	d.parts[0].Args[1], d.parts[6].Args[1] = id, id
	for i := range 3 {
		d.parts[1+i].Args[2] = id
	}
	return d.parts
}

// bareDelivery writes a delivery by hand: keys and values as long as a session's, in one batch.
type bareDelivery struct {
	db              *bare.DB
	batch           *bare.Batch
	user, key       []byte
	meta, one, body []byte
}

func newBareDelivery(db *bare.DB) *bareDelivery {
	return &bareDelivery{
		db: db, batch: db.NewBatch(), user: []byte("user000@example.org"), meta: make([]byte, len(from)+len(subject)+30),
		one:  []byte{1, 1, 1, 2}, // the operand with which the engine's merger adds 1 to column 0
		body: append([]byte{1, 0, 0x80, 0x40}, mailBody()...),
	}
}

// keyOf is the key of a row in a table's space. It ends with the message's number, if n is not 0.
func (w *bareDelivery) keyOf(space byte, tail string, n uint64) []byte {
	w.key = append(append(append(w.key[:0], 0, space), w.user...), 0, 1)
	w.key = append(w.key, tail...)
	if n != 0 {
		w.key = binary.BigEndian.AppendUint64(w.key, ^n)
	}
	return w.key
}

func (w *bareDelivery) deliver(n uint64, o *bare.WriteOptions) error {
	setUser(w.user, n)
	w.batch.Reset()
	err := w.batch.Set(w.keyOf(1, "", n), w.meta, nil)
	for label := range byte(3) {
		err = errors.Join(err, w.batch.Set(w.keyOf(5, string([]byte{7: label}), n), nil, nil))
	}
	return errors.Join(err,
		w.batch.Merge(w.keyOf(9, "l:1:m\x00\x01", 0), w.one, nil), w.batch.Merge(w.keyOf(9, "l:1:u\x00\x01", 0), w.one, nil),
		w.batch.Set(w.keyOf(13, "", n), w.body, nil), w.db.Apply(w.batch, o))
}
