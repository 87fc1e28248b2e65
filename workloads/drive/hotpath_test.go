package drive

import (
	"context"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/random"
	"github.com/mailbench/mailbench/workloads/subject"
)

type idleMailbox struct{ models.Mailbox }

func (idleMailbox) List(context.Context, *models.Folder, models.Handle, int, func(*models.Entry) error) error {
	return nil
}

func (idleMailbox) Stats(context.Context, *models.Folder) (models.Stats, error) {
	return models.Stats{}, nil
}

type idleBound struct{}

func (idleBound) Mailbox(drivers.Session) models.Mailbox { return idleMailbox{} }

type idleStore struct{ drivers.Store }

func (idleStore) Session() (drivers.Session, error) { return idleSession{}, nil }

type idleSession struct{ drivers.Session }

func (idleSession) Close() error { return nil }

type idleMail struct{ messages.Source }

func (idleMail) Reader() messages.Reader { return nil }

// testTarget is a target of 1000 users with one folder each, whose mailboxes are
// those of bound. Users are as popular as Zipf's law says. The function returns a
// phase's stream.
func testTarget(tb testing.TB, bound models.Bound) (*subject.Target, func(*workloads.Phase) plan.Stream) {
	w := &workloads.Workload{
		Seed: 1, Mail: workloads.Mail{Recipients: random.Constant{Value: 1}},
		Population: workloads.Population{Users: 1000, Folders: random.Constant{Value: 1}, Messages: random.Constant{Value: 1}},
		Keys:       workloads.Keys{Users: random.Keys{Theta: random.DefaultTheta}},
	}
	census, err := plan.NewCensus(tb.Context(), w)
	if err != nil {
		tb.Fatal(err)
	}
	t := &subject.Target{
		Config: subject.Config{Mail: idleMail{}}, Store: idleStore{}, Bound: bound, Dataset: &subject.Dataset{},
		Live: &subject.Live{Accounts: make([]subject.Account, census.Users())},
	}
	for i := range t.Live.Accounts {
		t.Live.Accounts[i].Folders = []subject.Folder{{Ref: &models.Folder{}, FolderSet: &subject.FolderSet{}}}
	}
	for op := range t.Offers {
		t.Offers[op] = true
	}
	return t, func(p *workloads.Phase) plan.Stream { return plan.StreamOf(w, p, census) }
}

// hotWorker is a worker of a schedule that is always behind, so that nothing
// waits, over a mailbox that does nothing.
func hotWorker(tb testing.TB) *worker {
	return hotWorkerOf(tb, workloads.Phase{
		Kind: workloads.Measure, Arrivals: workloads.Constant, Rate: workloads.Rate{Count: 1e8, Per: time.Second},
		Operations: 1 << 60, Mix: workloads.Mix{workloads.List: 50, workloads.Counters: 50},
	})
}

func hotWorkerOf(tb testing.TB, phase workloads.Phase) *worker {
	t, stream := testTarget(tb, idleBound{})
	p := newPhase(t, Spec{Phase: phase, Stream: stream(&phase), Workers: 1, MaxLag: 1000 * time.Hour})
	var err error
	if p.clock, err = startClock(); err != nil {
		tb.Fatal(err)
	}
	own := p.clock // a test may make the worker's virtual
	p.hiccups = watchHiccups(&own)
	tb.Cleanup(p.hiccups.close)
	hot, err := newWorker(p, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := hot.close(); err != nil {
			tb.Error(err)
		}
	})
	hot.last = 1           // all due times are past
	hot.idealEnd = 1 << 60 // and none of the waits is the client's
	return hot
}

// next carries out one operation.
func (w *worker) next(tb testing.TB, ctx context.Context) {
	due, ok := w.phase.Stream.Next(w.last, &w.op)
	if !ok {
		tb.Fatal("the stream has ended")
	}
	if err := w.step(ctx, ctx, due); err != nil {
		tb.Fatal(err)
	}
}

// Between two operations the harness allocates nothing: not in the schedule, the
// choice of operation and key, nor the recorder.
func TestHotPathAllocatesNothing(t *testing.T) {
	w := hotWorker(t)
	for range 100 { // the first make the histograms
		w.next(t, t.Context())
	}
	if n := testing.AllocsPerRun(1000, func() { w.next(t, t.Context()) }); n != 0 {
		t.Errorf("%v allocations an operation", n)
	}
	several := mixes()
	several.Operations = 1 << 60
	for i := range several.Streams { // always behind, so that nothing waits
		several.Streams[i].Rate.Count *= 100_000
	}
	of := hotWorkerOf(t, several)
	for range 1000 {
		of.next(t, t.Context())
	}
	if n := testing.AllocsPerRun(1000, func() { of.next(t, t.Context()) }); n != 0 {
		t.Errorf("%v allocations an operation of streams", n)
	}
	w.phase.recorder.Tick()
	if done := w.phase.recorder.Total(int(w.op.Op)).Counts[latency.OK]; done == 0 {
		t.Error("nothing was recorded")
	}
}

// BenchmarkHotPath is the harness floor: due time, choice of operation and key, two readings of the
// clock, and recording, over a mailbox that does nothing. It also tells what is left of its processor
// time without the two readings.
func BenchmarkHotPath(b *testing.B) {
	w, ctx := hotWorker(b), context.Background()
	b.ReportAllocs()
	cpu := processUsage().cpu
	for b.Loop() { // as in worker.work
		due, ok := w.phase.Stream.Next(w.last, &w.op)
		if !ok {
			b.Fatal("the stream has ended")
		}
		if err := w.step(ctx, ctx, due); err != nil {
			b.Fatal(err)
		}
	}
	each := float64(processUsage().cpu-cpu) / float64(b.N) // of a machine that does other things too
	const readings = 1_000_000
	cpu = processUsage().cpu
	for range readings {
		w.phase.clock.now()
	}
	two := 2 * float64(processUsage().cpu-cpu) / readings
	b.ReportMetric(each, "cpu-ns/op")
	b.ReportMetric(two, "two-clock-readings-ns")
	b.ReportMetric(each-two, "cpu-ns/op-without")
}
