package drive

import (
	"context"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/latency"
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

func (idleStore) Session() (drivers.Session, error) { return new(idleSession), nil }

// idleSession runs nothing, between the beginning and the end of a call.
type idleSession struct {
	drivers.Meter
	noCalls
}

type noCalls struct{ drivers.Session }

func (*idleSession) Close() error { return nil }

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
	return t, func(p *workloads.Phase) plan.Stream { return plan.StreamOf(w, p, census) }
}

// readingMailbox runs one access pattern for each operation, through the worker's session.
type readingMailbox struct {
	models.Mailbox
	session drivers.Session
}

func (m readingMailbox) List(ctx context.Context, _ *models.Folder, _ models.Handle, _ int,
	_ func(*models.Entry) error,
) error {
	return m.session.Read(ctx, idleStatement{}, nil, nil)
}

func (m readingMailbox) Stats(ctx context.Context, _ *models.Folder) (models.Stats, error) {
	return models.Stats{}, m.session.Read(ctx, idleStatement{}, nil, nil)
}

type readingBound struct{}

func (readingBound) Mailbox(s drivers.Session) models.Mailbox { return readingMailbox{session: s} }

type idleStatement struct{ drivers.Statement }

var idlePattern = &schemas.Pattern{Name: "idle"}

func (idleStatement) Pattern() *schemas.Pattern  { return idlePattern }
func (idleStatement) Emulates() *schemas.Pattern { return nil }

func (s *idleSession) Read(_ context.Context, st drivers.Statement, _ []drivers.Value, _ func([]drivers.Value) error) error {
	return s.Run(st, func() error {
		s.Cost.Requests++
		return nil
	})
}

// hotWorker is a worker of a schedule that is always late, so that nothing
// waits, over a mailbox that does nothing.
func hotWorker(tb testing.TB) *worker { return hotWorkerOf(tb, hotPhase, idleBound{}) }

var hotPhase = workloads.Phase{
	Kind: workloads.Measure, Arrivals: workloads.Constant, Rate: workloads.Rate{Count: 1e8, Per: time.Second},
	Operations: 1 << 60, Mix: workloads.Mix{workloads.List: 50, workloads.Counters: 50},
}

func hotWorkerOf(tb testing.TB, phase workloads.Phase, bound models.Bound) *worker {
	t, stream := testTarget(tb, bound)
	p := newPhase(t, Spec{Phase: phase, Stream: stream(&phase), Workers: 1, MaxWait: 1000 * time.Hour})
	p.clock = startClock()
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
	hot.last = 1           // all scheduled starts are past
	hot.idealEnd = 1 << 60 // and none of the waits is the client's
	return hot
}

// next executes one operation.
func (w *worker) next(tb testing.TB, ctx context.Context) {
	due, ok := w.draw()
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
	for i := range several.Streams { // always late, so that nothing waits
		several.Streams[i].Rate.Count *= 100_000
	}
	of := hotWorkerOf(t, several, idleBound{})
	for range 1000 {
		of.next(t, t.Context())
	}
	if n := testing.AllocsPerRun(1000, func() { of.next(t, t.Context()) }); n != 0 {
		t.Errorf("%v allocations an operation of streams", n)
	}
	timed := hotWorkerOf(t, hotPhase, readingBound{})
	for range 100 {
		timed.next(t, t.Context())
	}
	if n := testing.AllocsPerRun(1000, func() { timed.next(t, t.Context()) }); n != 0 {
		t.Errorf("%v allocations an operation that runs a pattern", n)
	}
	if p := timed.phase.recorder.Parts(int(workloads.List), int(workloads.Counters)); len(p) != 1 ||
		p[0].Name != "idle" || p[0].Times.Count() != 1101 {
		t.Errorf("times of patterns: %+v", p)
	}
	w.phase.recorder.Tick()
	if done := w.phase.recorder.Total[int(w.op.Op)].Counts[latency.OK]; done == 0 {
		t.Error("nothing was recorded")
	}
}

// BenchmarkHotPath is the harness overhead: scheduled start, choice of operation and key, two readings of the
// clock, and recording, over a mailbox that does nothing. It also reports its processor
// time without the two readings: the least of 100,000 operations in a row, as other programs empty
// its caches.
func BenchmarkHotPath(b *testing.B) {
	w, ctx := hotWorker(b), context.Background()
	b.ReportAllocs()
	var floor, reading leastTime
	for b.Loop() { // as in worker.work
		due, ok := w.draw()
		if !ok {
			b.Fatal("the stream has ended")
		}
		if err := w.step(ctx, ctx, due); err != nil {
			b.Fatal(err)
		}
		floor.next()
	}
	for range 20 * inARow {
		w.phase.clock.now()
		reading.next()
	}
	if floor.ns > 0 { // there were enough operations
		b.ReportMetric(floor.ns, "least-cpu-ns/op")
		b.ReportMetric(2*reading.ns, "two-clock-readings-ns")
		b.ReportMetric(floor.ns-2*reading.ns, "least-cpu-ns/op-without")
	}
}

// inARow is how many times something is done for one measurement of its processor time.
const inARow = 100_000

// leastTime is the least processor time of something that is done many times, in nanoseconds.
type leastTime struct {
	ns  float64
	n   int
	cpu time.Duration // when the measurement began
}

// next notes that it was done once more.
func (l *leastTime) next() {
	if l.n++; l.n%inARow != 0 {
		return
	}
	now := processUsage().cpu
	if each := float64(now-l.cpu) / inARow; l.cpu > 0 && (l.ns == 0 || each < l.ns) {
		l.ns = each
	}
	l.cpu = now
}

// BenchmarkPatternTimes measures the cost of timing an access pattern: operations that run one
// pattern, with and without its two readings of the clock and its record, one after the other in
// blocks of 10,000.
func BenchmarkPatternTimes(b *testing.B) {
	const block = 10_000
	w, ctx := hotWorkerOf(b, hotPhase, readingBound{}), context.Background()
	var spent [2]time.Duration
	var blocks [2]int
	at := 0
	for b.Loop() {
		if at%2 == 0 {
			w.session.Watch(w.phase.clock.now, w.traced)
		} else {
			w.session.Watch(nil, func(drivers.Statement, time.Duration, int64) {})
		}
		began := processUsage().cpu
		for range block {
			w.next(b, ctx)
		}
		spent[at%2] += processUsage().cpu - began
		blocks[at%2]++
		at++
	}
	with := float64(spent[0]) / float64(max(1, blocks[0])*block)
	without := float64(spent[1]) / float64(max(1, blocks[1])*block)
	b.ReportMetric(with, "cpu-ns/op-with")
	b.ReportMetric(without, "cpu-ns/op-without")
}
