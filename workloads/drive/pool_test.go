package drive

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/results"
)

// brittleBound makes mailboxes that wait until more of them are called than the phase began
// with workers. The first call beyond these panics.
type brittleBound struct {
	calls *atomic.Int64
	more  chan struct{}
}

func (b brittleBound) Mailbox(drivers.Session) models.Mailbox { return brittleMailbox{brittleBound: b} }

type brittleMailbox struct {
	brittleBound
	idleMailbox
}

func (m brittleMailbox) List(ctx context.Context, _ *models.Folder, _ models.Handle, _ int, _ func(*models.Entry) error) error {
	if m.calls.Add(1) == FirstWorkers+1 {
		close(m.more)
		panic("no such column")
	}
	select {
	case <-m.more:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A panic of a worker that joined a phase later costs the phase, and not the process.
func TestPanicOfAnAddedWorker(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	at, stream := testTarget(t, brittleBound{new(atomic.Int64), make(chan struct{})})
	phase := workloads.Phase{
		Kind: workloads.Measure, Name: "measure", Operations: 1000, Arrivals: workloads.Constant,
		Rate: workloads.RateOf(10_000), Mix: workloads.Mix{workloads.List: 1},
	}
	_, err := executed(ctx, at, Spec{Phase: phase, Stream: stream(&phase), Workers: 2 * FirstWorkers, MaxWait: time.Hour})
	var panicked *crash.Error
	if !errors.As(err, &panicked) || panicked.Value != "no such column" {
		t.Errorf("error %v, want that of the panic", err)
	}
}

// defectiveBound makes mailboxes whose driver had a panic in a goroutine of its own.
type defectiveBound struct{}

type defectiveMailbox struct{ idleMailbox }

func (defectiveBound) Mailbox(drivers.Session) models.Mailbox { return defectiveMailbox{} }

func (defectiveMailbox) List(context.Context, *models.Folder, models.Handle, int, func(*models.Entry) error) error {
	return fmt.Errorf("list: %w", crash.Guard(func() error { panic("no such slot") }))
}

// A panic in a goroutine of the driver, which comes as an error, costs the phase too.
func TestPanicOfADriver(t *testing.T) {
	at, stream := testTarget(t, defectiveBound{})
	phase := workloads.Phase{
		Kind: workloads.Measure, Name: "measure", Operations: 1000, Arrivals: workloads.Constant,
		Rate: workloads.RateOf(10_000), Mix: workloads.Mix{workloads.List: 1},
	}
	_, err := executed(t.Context(), at, Spec{Phase: phase, Stream: stream(&phase), Workers: 2, MaxWait: time.Hour})
	var panicked *crash.Error
	if !errors.As(err, &panicked) || panicked.Value != "no such slot" {
		t.Errorf("error %v, want that of the panic", err)
	}
}

// A panic of the receiver of windows costs the phase, and ends it.
func TestPanicOfALog(t *testing.T) {
	at, stream := testTarget(t, idleBound{})
	phase := workloads.Phase{
		Kind: workloads.Measure, Name: "measure", Operations: 1000, Arrivals: workloads.Constant,
		Rate: workloads.RateOf(10), Mix: workloads.Mix{workloads.List: 1},
	}
	began := time.Now()
	_, err := executed(t.Context(), at, Spec{
		Phase: phase, Stream: stream(&phase), Workers: 2, MaxWait: time.Hour,
		Observe: func(results.Key, func(int) string, []latency.Op) { panic("no such tag") },
	})
	var panicked *crash.Error
	if !errors.As(err, &panicked) || panicked.Value != "no such tag" || time.Since(began) > 30*time.Second {
		t.Errorf("error %v after %s, want that of the panic", err, time.Since(began))
	}
}

// timedOutBound makes mailboxes whose changes may be applied or not.
type timedOutBound struct{}

type timedOutMailbox struct {
	idleMailbox
	models.Subscriber
}

func (timedOutBound) Mailbox(drivers.Session) models.Mailbox { return timedOutMailbox{} }

func (timedOutMailbox) Subscribe(context.Context, *models.Account, string, bool) error {
	return drivers.ErrUnknown
}

// The data set notes that a change has an unknown outcome, and the cell has the engine's state before and after.
func TestUnknownOutcomes(t *testing.T) {
	for op, changes := range map[workloads.Op]bool{workloads.Subscribe: true, workloads.List: false} {
		at, stream := testTarget(t, timedOutBound{})
		phase := workloads.Phase{
			Kind: workloads.Measure, Name: "measure", Operations: 10, Arrivals: workloads.Closed, Clients: 1,
		}
		phase.Mix[op] = 1
		m, err := executed(t.Context(), at, Spec{Phase: phase, Stream: stream(&phase)})
		if err != nil || at.Dataset.Interrupted != changes || m.Ops[op.String()].Unknown > 0 != changes {
			t.Errorf("%s: %v, %v, the data set notes that: %v", op, err, m.Ops[op.String()].Errors, at.Dataset.Interrupted)
		}
		if m.Before == nil || m.Engines == nil {
			t.Errorf("%s: the engine before %v, after %v", op, m.Before, m.Engines)
		}
	}
}

// The length of a phase, and so its rate, is that of its operations, however long the collector takes after them.
func TestSlowCollector(t *testing.T) {
	at, stream := testTarget(t, idleBound{})
	phase := workloads.Phase{
		Kind: workloads.Measure, Name: "measure", Operations: 100, Arrivals: workloads.Closed, Clients: 1,
		Mix: workloads.Mix{workloads.List: 1},
	}
	m, err := executed(t.Context(), at, Spec{
		Phase: phase, Stream: stream(&phase), Workers: 1,
		Observe: func(results.Key, func(int) string, []latency.Op) { time.Sleep(time.Second) },
	})
	last := m.Timeline[len(m.Timeline)-1]
	if err != nil || m.Seconds > 0.5 || m.Ops["list"].Rate < 200 || m.Offered.Span != m.Seconds || last.At+last.Seconds > 0.5 {
		t.Errorf("%g s, %g/s, offered %+v, timeline %+v, error %v", m.Seconds, m.Ops["list"].Rate, m.Offered, m.Timeline, err)
	}
}

// TestPhaseIsFreed: a result does not keep its phase in memory, whose histograms are the largest part of a run's memory.
func TestPhaseIsFreed(t *testing.T) {
	at, stream := testTarget(t, idleBound{})
	phase := workloads.Phase{
		Kind: workloads.Measure, Name: "measure", Operations: 100, Arrivals: workloads.Closed, Clients: 1,
		Mix: workloads.Mix{workloads.List: 1},
	}
	p := newPhase(at, Spec{Cell: new(results.Cell), Phase: phase, Stream: stream(&phase), Workers: 1})
	if err := p.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.complete()
	cell, freed := p.Cell, weak.Make(p)
	p = nil
	runtime.GC()
	if freed.Value() != nil {
		t.Error("the phase is still in memory")
	}
	runtime.KeepAlive(cell)
	runtime.KeepAlive(at)
}
