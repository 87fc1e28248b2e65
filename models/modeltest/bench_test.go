package modeltest

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	bare "github.com/cockroachdb/pebble/v2"
	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/engines"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
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

// BenchmarkDeliverVersusBare delivers messages of 8 KB through the model and writes the same bytes in the
// same number of batches in a bare loop, in turn. Each turn includes its flushes and
// compactions. ratio is the model's throughput as a share of the loop's. The target is 0.6,
// with -benchtime 40000x or more, so that there is something to compact.
func BenchmarkDeliverVersusBare(b *testing.B) {
	for _, s := range suites {
		b.Run(s.Model.Name, func(b *testing.B) { benchVersusBare(b, s.Model) })
	}
}

func benchVersusBare(b *testing.B, m models.Model) {
	const round = 10_000 // deliveries before it is the other's turn: 80 MB
	x := open(b, m, opening(pebble.Engine(), cache))
	rec := &recorder{Session: x.Session()}
	x.mb = x.bound.Mailbox(rec)
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
		must(b, x.Store.(drivers.Settler).Settle(b.Context()))
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
}

// BenchmarkPageGrowth compares the newest page of 25 messages of a large folder with that of a folder
// of 1,000, by their median times. Messages have 1 KB, or headers only in a folder of more than
// 1,000,000; the stores are settled and in cache. MAILBENCH_LARGE_FOLDER says how many messages
// there are in place of 20,000, and MAILBENCH_LARGE_ENGINE on which engine in place of the embedded
// one. The target is at most 1.5 times the time, for 10,000,000 messages.
func BenchmarkPageGrowth(b *testing.B) {
	for _, s := range suites {
		b.Run(s.Model.Name, func(b *testing.B) { benchPageGrowth(b, s.Model) })
	}
}

func benchPageGrowth(b *testing.B, m models.Model) {
	large, engine := 20_000, "embedded"
	if s := os.Getenv("MAILBENCH_LARGE_FOLDER"); s != "" {
		n, err := strconv.Atoi(s)
		must(b, err)
		large = n
	}
	if s := os.Getenv("MAILBENCH_LARGE_ENGINE"); s != "" {
		engine = s
	}
	at := slices.IndexFunc(engines.All(), func(e drivers.Engine) bool { return e.Name == engine })
	if at < 0 {
		b.Fatalf("no engine is named %q", engine)
	}
	messages := mailOf(1<<10, 256)
	if large > 1_000_000 {
		messages = mailOf(0, 256)
	}
	// Filled once: only the benchmark within is called again with a larger N.
	e := engines.All()[at]
	small, big := filled(b, m, e, messages, 1000), filled(b, m, e, messages, large)
	b.Run(fmt.Sprint(large), func(b *testing.B) {
		for range 200 { // until both are in cache
			small.page()
			big.page()
		}
		took := [2][]time.Duration{make([]time.Duration, b.N), make([]time.Duration, b.N)}
		b.ResetTimer()
		for n := range b.N {
			// They take turns, so that other load of the machine hits both.
			for i, x := range []*bench{small, big} {
				begin := time.Now()
				x.page()
				took[i][n] = time.Since(begin)
			}
		}
		slices.Sort(took[0])
		slices.Sort(took[1])
		of1000, ofLarge := float64(took[0][b.N/2]), float64(took[1][b.N/2])
		b.ReportMetric(of1000, "ns/page-of-1000")
		b.ReportMetric(ofLarge, fmt.Sprintf("ns/page-of-%d", large))
		b.ReportMetric(ofLarge/of1000, "ratio")
	})
}

func (x *bench) page() {
	must(x.TB, x.mb.List(context.Background(), x.a.Folders[0], models.Handle{}, 25, x.entry))
}

// filled opens a model with n messages in its inbox, settled. Over a network several workers
// deliver them.
func filled(b *testing.B, m models.Model, e drivers.Engine, messages []*mail.Message, n int) *bench {
	b.Helper()
	stores := opening(e, cache)
	if e.Remote {
		stores = func(t testing.TB, s *schemas.Schema) drivers.Store {
			o := drivers.Options{Contact: []string{live.Contact(t, e.Name)}, Namespace: newNamespace()}
			st := drivertest.OpenLive(t, e, o)
			must(t, st.Apply(t.Context(), s))
			return st
		}
	}
	x := open(b, m, stores)
	workers := 1
	if e.Remote {
		workers = 8
	}
	begin := time.Now()
	var group errgroup.Group
	for w := range workers {
		s, err := x.Store.Session()
		must(b, err)
		group.Go(func() error {
			defer s.Close()
			mb, handles := x.bound.Mailbox(s), make([]models.Handle, 1)
			for i := w; i < n; i += workers {
				msg := *messages[i%len(messages)]
				msg.Date = messages[0].Date.Add(time.Duration(i) * time.Second)
				msg.Arrived = msg.Date // a label of datastax is in use for hours, not for half a second
				if err := mb.Deliver(context.Background(), &msg, x.a.Folders[:1], handles); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must(b, group.Wait())
	if s, ok := x.Store.(drivers.Settler); ok {
		must(b, s.Settle(b.Context()))
	}
	b.Logf("%s: %d messages in %v", m.Name, n, time.Since(begin).Round(time.Second))
	return x
}
