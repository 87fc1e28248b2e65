package drive

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/subject"
)

// holder is a mailbox whose calls hold so much of each message.
type holder struct {
	models.Mailbox
	held models.Holding
}

func (h holder) Holds(*mail.Message) models.Holding { return h.held }

type holderBound struct{ holder }

func (b holderBound) Mailbox(drivers.Session) models.Mailbox { return b.holder }

func (holder) Deliver(context.Context, *mail.Message, []*models.Folder, []models.Handle) error {
	return nil
}

// madeMail counts its messages, all of which are empty.
type madeMail struct {
	messages.Source
	made int
	err  error
}

func (m *madeMail) Reader() messages.Reader { return m }

func (m *madeMail) Message(uint64, time.Time, *mail.Message) error {
	m.made++
	return m.err
}

func (*madeMail) From(uint64) (string, error) { return "", nil }

// TestBrokenOffIsNotDue: a delivery that the end of the phase interrupts while its message is
// made, or while it waits for memory, was never offered to the store. It is not scheduled, in its stream either.
func TestBrokenOffIsNotDue(t *testing.T) {
	stream := func(name string) workloads.Phase {
		return workloads.Phase{
			Kind: workloads.Measure, Name: name, Arrivals: workloads.Constant,
			Rate: workloads.RateOf(1e6), Mix: workloads.Mix{workloads.Deliver: 1},
		}
	}
	phase := stream("measure")
	phase.Operations, phase.Streams = 1000, []workloads.Phase{stream("a"), stream("b")}
	at, of := testTarget(t, holderBound{holder{held: models.Holding{Deliver: 2 * models.LargeMessage}}})
	made := &madeMail{}
	at.Mail, at.Large = made, subject.NewBudget(32<<20)
	p := newPhase(at, Spec{Phase: phase, Stream: of(&phase), Workers: 1, MaxWait: time.Hour})
	now := time.Second // all scheduled starts are past
	p.clock = virtualClock(&now)
	p.hiccups = watchHiccups(&p.clock)
	defer p.hiccups.close()
	w, err := newWorker(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	w.last = now

	for range 4 {
		w.next(t, t.Context())
	}
	if !at.Large.TryAcquire(at.Large.Most) { // others take all of it
		t.Fatal("a delivery gave nothing back")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for range 3 {
		w.next(t, ended)
	}
	made.err = context.Canceled // like that of a message whose creation the end interrupted
	w.next(t, ended)
	p.stats.add(&w.stats)
	p.recorder.Tick()
	m := p.measurement()
	if made.made != 8 || m.Evidence.LargeWaits != 3 {
		t.Fatalf("%d messages made, %d waits; want 8 and 3", made.made, m.Evidence.LargeWaits)
	}
	sum := int64(0)
	for _, s := range m.Streams {
		sum += s.Offered.Due
	}
	if o := m.Ops["deliver"]; m.Offered.Due != 4 || sum != 4 || o.Count != 4 || o.Dropped != 0 {
		t.Errorf("%d due, %d in its streams, %d delivered, %d dropped; want 4, 4, 4, 0", m.Offered.Due, sum, o.Count, o.Dropped)
	}
}

// TestInterruptedIsNotDue: an operation whose time had not come when the phase ended was never
// scheduled: it was neither executed nor dropped.
func TestInterruptedIsNotDue(t *testing.T) {
	w := hotWorkerOf(t, workloads.Phase{
		Kind: workloads.Measure, Arrivals: workloads.Constant, Rate: workloads.Rate{Count: 1, Per: time.Hour},
		Operations: 10, Mix: workloads.Mix{workloads.Counters: 1},
	}, idleBound{})
	w.next(t, t.Context()) // scheduled at the beginning
	now := time.Second
	w.phase.clock = virtualClock(&now)
	ended, end := context.WithCancel(t.Context())
	end()
	w.next(t, ended)
	w.phase.recorder.Tick()
	if due, counts := w.tally().Due, w.phase.recorder.Total[w.slot].Counts; due != 1 || counts[latency.OK] != 1 || counts[latency.Dropped] != 0 {
		t.Errorf("%d due, %d carried out, %d dropped; want 1, 1, 0", due, counts[latency.OK], counts[latency.Dropped])
	}
}

// TestLargeWaits: an operation that holds much of a message waits while too many such are
// under way, and no other operation does.
func TestLargeWaits(t *testing.T) {
	const most, least = models.LargeMessage, models.LargeMessage + 1
	of := func(d, o, a, m int64) holder {
		return holder{held: models.Holding{Deliver: d, Open: o, Attachment: a, Move: m}}
	}
	row := func(n int64) holder { return holder{held: models.Holding{Open: 2 * least, Row: n}} }
	for _, c := range []struct {
		op    workloads.Op
		mb    models.Mailbox
		waits bool
	}{
		{workloads.Deliver, of(least, 0, 0, 0), true},
		{workloads.Deliver, of(100<<30, 0, 0, 0), true},
		{workloads.Deliver, of(most, least, least, least), false},
		{workloads.Deliver, struct{ models.Mailbox }{}, false}, // says nothing
		{workloads.Open, of(least, least, 0, 0), true},
		{workloads.Open, of(least, most, least, least), false},
		{workloads.Attachment, of(least, 0, least, 0), true},
		{workloads.Attachment, of(least, least, most, least), false},
		{workloads.Move, of(least, least, least, most/2+1), true}, // two of them
		{workloads.Move, of(least, least, least, most/2), false},
		{workloads.Flag, of(least, least, least, least), false},
		{workloads.Flag, row(least), true},
		{workloads.Delete, row(least), true},
		{workloads.Seen, row(least), true},
		{workloads.List, row(least), true},
		{workloads.List, row(most), false},
		{workloads.Counters, row(least), true},
		{workloads.Folders, row(least), true},
		{workloads.Label, row(least), false},
	} {
		w := &worker{task: task{mb: c.mb, live: &subject.Live{}, target: &subject.Target{Large: subject.NewBudget(32 << 20)}}}
		w.stats.streams = make([]tally, 1)
		h, f := models.Handle{1}, subject.Folder{FolderSet: &subject.FolderSet{}}
		w.live.Add(f.FolderSet, h, nil, w.memoryNeeds())
		w.op.Op, w.task.handle, w.task.many = c.op, h, []models.Handle{h, h}
		w.task.from, w.task.account = f, &subject.Account{Folders: []subject.Folder{f}}
		held, err := w.reserve(t.Context(), w.bytes())
		if err != nil {
			t.Fatal(err)
		}
		w.target.Large.Release(held)
		large := w.target.Large
		if !large.TryAcquire(large.Most) { // of others
			t.Fatalf("%+v was not given back", c)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err = w.reserve(ended, w.bytes()); errors.Is(err, context.Canceled) != c.waits || w.tally().LargeWaits > 0 != c.waits {
			t.Errorf("%v of %+v: waits %t (%v, %d noted), want %t", c.op, c.mb, !c.waits, err, w.tally().LargeWaits, c.waits)
		}
	}
}
