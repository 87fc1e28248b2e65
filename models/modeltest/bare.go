package modeltest

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	bare "github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models/mail"
)

// recorder notes the payload bytes of every row that is written, batch by batch. A bare loop
// then writes as many.
type recorder struct {
	drivers.Session
	on      bool
	batches [][]int
}

func sizeOf(args []drivers.Value) (n int) {
	for _, v := range args {
		n += v.Size()
	}
	return n
}

func (r *recorder) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (drivers.Result, error) {
	if r.on {
		r.batches = append(r.batches, []int{sizeOf(args)})
	}
	return r.Session.Write(ctx, st, args)
}

func (r *recorder) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	if r.on {
		var rows []int
		for _, p := range parts {
			rows = append(rows, sizeOf(p.Args))
		}
		r.batches = append(r.batches, rows)
	}
	return r.Session.Batch(ctx, st, parts)
}

// rowKey is the length in bytes of a bare loop's key: a partition, and a place in it.
const rowKey = 24

// bareLoop writes to Pebble directly, tuned as the embedded engine is.
type bareLoop struct {
	db   *bare.DB
	rows uint64
}

// deliver writes the rows of one delivery in as many batches.
func (l *bareLoop) deliver(b *testing.B, batches [][]int, payload []byte) {
	var key [rowKey]byte
	for _, rows := range batches {
		batch := l.db.NewBatch()
		for i, size := range rows {
			l.rows++
			// Each kind of row has a range of its own and ascends in it, as in tables.
			binary.BigEndian.PutUint64(key[:], uint64(i))
			binary.BigEndian.PutUint64(key[16:], l.rows)
			value := payload[:min(len(payload), max(0, size-rowKey))]
			must(b, batch.Set(key[:], value, nil))
		}
		must(b, batch.Commit(bare.NoSync))
		must(b, batch.Close())
	}
}

// settle waits until nothing is left to flush or compact, as the engine's Settle does.
func (l *bareLoop) settle(b *testing.B) {
	must(b, l.db.Flush())
	for quiet := 0; quiet < 2; time.Sleep(10 * time.Millisecond) {
		quiet++
		m := l.db.Metrics()
		if m.Flush.NumInProgress > 0 || m.Compact.NumInProgress > 0 || m.Table.PendingStatsCollectionCount > 0 {
			quiet = 0
		}
	}
}

// benchVersusBare delivers messages of 8 KB through the model and writes the same bytes in the
// same number of batches in a bare loop, in turn. Each turn includes its flushes and
// compactions. ratio is the model's throughput as a share of the loop's. The target is 0.6,
// with -benchtime 40000x or more, so that there is something to compact.
func (s Suite) benchVersusBare(b *testing.B) {
	const round = 10_000 // deliveries before it is the other's turn: 80 MB
	b.Run(s.Model.Name, func(b *testing.B) {
		rec := &recorder{}
		x := open(b, s.Model, pebble.Engine(), func(s drivers.Session) drivers.Session {
			rec.Session = s
			return rec
		})
		messages := mailOf(8<<10, 64)
		for _, msg := range messages { // warm up: some things are made only once
			x.deliver(msg)
		}
		rec.on = true
		x.deliver(messages[0])
		rec.on = false
		payload, err := mail.AppendContent(nil, messages[1].Raw)
		must(b, err)
		payload = append(payload, payload...)

		db, err := bare.Open(b.TempDir(), pebble.Tuned(512<<20))
		must(b, err)
		b.Cleanup(func() { db.Close() })
		loop := &bareLoop{db: db}

		var model, alone time.Duration
		b.ResetTimer()
		for done := 0; done < b.N; done += round {
			n := min(round, b.N-done)
			begin := time.Now()
			for i := range n {
				x.deliver(messages[i%len(messages)])
			}
			must(b, x.store.(drivers.Settler).Settle(b.Context()))
			between := time.Now()
			for range n {
				loop.deliver(b, rec.batches, payload)
			}
			loop.settle(b)
			model += between.Sub(begin)
			alone += time.Since(between)
		}
		b.ReportMetric(float64(model.Nanoseconds())/float64(b.N), "ns/model")
		b.ReportMetric(float64(alone.Nanoseconds())/float64(b.N), "ns/bare")
		b.ReportMetric(float64(alone)/float64(model), "ratio")
		b.ReportMetric(float64(len(rec.batches)), "batches")
	})
}
