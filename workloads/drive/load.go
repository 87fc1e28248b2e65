package drive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
)

// load delivers messages of the load, in order of arrival, until there are no
// more. Unlike an operation of a mix, a delivery that fails ends the load, because
// later phases would measure another data set. Over a network a few may be missing.
func (w *worker) load(ctx, opCtx context.Context) error {
	// A message in a ledger was acknowledged, and must be as durable as the engine
	// promises. A data set that lives for one run need not be durable.
	if b, ok := w.session.(drivers.Bulk); ok && w.target.Acknowledged == nil {
		b.Bulk(true)
		defer b.Bulk(false)
		w.phase.mu.Lock()
		w.phase.bulk = true
		w.phase.mu.Unlock()
	}
	for ctx.Err() == nil {
		if _, ok := w.phase.Stream.Next(w.last, &w.op); !ok {
			return nil
		}
		w.tally().due++
		cause, err := w.loadOne(ctx, opCtx)
		if interrupted(ctx, err) {
			w.tally().due--
			return nil
		}
		if err == nil && ctx.Err() == nil {
			err = w.phase.miss(cause)
		}
		if err != nil {
			folder, account := plan.FolderName(w.op.Folder), plan.Address(w.op.User)
			return fmt.Errorf("load message %d into %s of %s: %w", w.op.N, folder, account, err)
		}
	}
	return nil
}

// A load over a network may miss missesMost messages, or the share missesShare of
// them, whichever is more. A delivery that is known to have failed is tried up to
// loadTries times, with pauses of 25 s in all: by then another node has taken over
// from one that died. A delivery of unknown outcome is not tried again, since the
// message might then be there twice. A load that nobody answers ends much sooner: see silenceMost.
const (
	missesMost  = 10
	missesShare = 0.01
	loadTries   = 9
)

// miss counts a message that was not delivered, for the given cause. The error, if any,
// ends the load.
func (p *phase) miss(cause error) error {
	if cause == nil || errors.Is(cause, drivers.ErrTooLarge) {
		return nil // the recorder has counted it
	}
	if !p.target.Engine.Remote {
		return cause
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.undelivered++; float64(p.undelivered) > max(missesMost, missesShare*float64(p.Total)) {
		return fmt.Errorf("no more than %d messages may be missing: %w", p.undelivered-1, cause)
	}
	return nil
}

// loadOne tries to deliver one message; cause is why it was not delivered.
func (w *worker) loadOne(ctx, opCtx context.Context) (cause, err error) {
	// If the size is known, the memory bound also covers parsing and decoding.
	if m, ok := w.mail.(messages.Measurer); ok {
		held, err := w.reserve(opCtx, m.Size(w.op.Message))
		if err != nil {
			return nil, err
		}
		_, err = chooseRecipients(&w.task)
		w.target.Large.Release(held)
		if err != nil {
			return nil, err
		}
	} else if _, err := chooseRecipients(&w.task); err != nil {
		return nil, err
	}
	held, err := w.reserve(opCtx, w.bytes())
	if err != nil {
		return nil, err
	}
	defer w.target.Large.Release(held)
	for try := range loadTries {
		if try > 0 {
			sleep(ctx, 50*time.Millisecond<<try)
		}
		end, err := w.carryOut(opCtx, &operations[workloads.Deliver], 0, 0)
		if err != nil {
			return nil, err
		}
		if cause = end.cause; cause != nil {
			w.phase.mu.Lock()
			w.phase.lastCause = cause
			w.phase.mu.Unlock()
		}
		if end.outcome == latency.OK {
			w.stats.copies += int64(len(w.sets))
			w.stats.mailBytes += int64(len(w.sets)) * w.message.Raw.Size()
		}
		if end.outcome != latency.Failed || !w.target.Engine.Remote || ctx.Err() != nil {
			break
		}
	}
	return cause, nil
}
