package oraclenosql

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/nosqlerr"

	"github.com/mailbench/mailbench/drivers"
)

// classify says what became of a write whose request returned an error: nil if it was refused or never sent,
// drivers.ErrTooLarge if it was refused for its size, or drivers.ErrUnknown unless the error proves a refusal.
func classify(err error) error {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" || errors.Is(err, errLogin) {
		return nil
	}
	var e *nosqlerr.Error
	if !errors.As(err, &e) {
		if strings.Contains(err.Error(), "error response: 413") { // the proxy takes 64 MiB
			return drivers.ErrTooLarge
		}
		return drivers.ErrUnknown
	}
	if strings.Contains(err.Error(), "exceeds maximum key permissible length") { // a ServerError, "too busy"
		return drivers.ErrTooLarge
	}
	switch e.Code {
	case nosqlerr.RowSizeLimitExceeded, nosqlerr.KeySizeLimitExceeded, nosqlerr.BatchOpNumberLimitExceeded,
		nosqlerr.RequestSizeLimitExceeded:
		return drivers.ErrTooLarge
	case nosqlerr.RequestTimeout:
		if e.Cause != nil && refusedForNow(e.Cause) {
			return nil
		}
		return drivers.ErrUnknown
	case nosqlerr.ServerError, nosqlerr.UnknownError, nosqlerr.IllegalState, nosqlerr.ServiceUnavailable:
		return drivers.ErrUnknown
	}
	return nil
}

// lost reports whether the connection of a request was lost, which the SDK does not
// repeat. A time-out is no loss.
func lost(err error) bool {
	var u *url.Error
	return errors.As(err, &u) && !u.Timeout() && !errors.Is(err, errAnswer) &&
		codeOf(err) == nosqlerr.NoError && classify(err) == drivers.ErrUnknown
}

// writeError wraps the error of a write. uncertain: an attempt before may have been applied.
func writeError(ctx context.Context, err error, uncertain bool) error {
	what := classify(err)
	if uncertain {
		what = drivers.ErrUnknown
	}
	switch {
	case what == nil:
		return err
	case what == drivers.ErrUnknown && ctx.Err() != nil:
		err = ctx.Err()
	}
	return fmt.Errorf("%w: %w", what, err)
}

func readError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// retries decides which requests of one SDK client are sent again. The SDK's own handler
// repeats every request, so that an increment whose answer was lost would be applied twice.
type retries struct {
	most int
	// again: the call under way is a read, or a put of a whole row without a condition.
	again bool
	// uncertain: an attempt of the call may have been applied, so a later refusal proves
	// nothing.
	uncertain bool
	repeats   bool // the next request of the call was sent before
	disturbed bool // others have changed the rows of a write, which is made again

	meter      *drivers.Meter
	credential *credential // nil without a login
}

var _ nosqldb.RetryHandler = (*retries)(nil)

// begin prepares for a call.
func (r *retries) begin(again bool) { r.again, r.uncertain, r.repeats = again, false, false }

// count counts a request. Oracle does not report how many rows it scanned for it.
func (r *retries) count() {
	if r.repeats || r.disturbed {
		r.meter.Count(drivers.Cost{Retries: 1})
	} else {
		r.meter.Count(drivers.Cost{Calls: 1, Unreported: 1})
	}
	r.repeats = false
}

// MaxNumRetries implements nosqldb.RetryHandler.
func (r *retries) MaxNumRetries() uint { return uint(r.most) }

// ShouldRetry implements nosqldb.RetryHandler. The SDK calls it for errors that may pass.
func (r *retries) ShouldRetry(_ nosqldb.Request, times uint, err error) bool {
	if classify(err) == drivers.ErrTooLarge {
		return false
	}
	refused := refusedForNow(err)
	if codeOf(err) == nosqlerr.RetryAuthentication && r.credential != nil {
		r.credential.refused = true // the next attempt logs in again
	}
	if throttles(err) {
		r.meter.Count(drivers.Cost{Throttled: 1})
	}
	if !refused {
		r.uncertain = true
	}
	r.repeats = int(times) < r.most && (refused || r.again)
	return r.repeats
}

// firstDelay is the mean time before the first repetition. Each further one takes twice
// as long, up to maxDelay.
const (
	firstDelay = 20 * time.Millisecond
	maxDelay   = time.Second
)

// delay is the time before a request is sent again for the next time.
func delay(times uint) time.Duration {
	d := min(firstDelay<<min(times, 10), maxDelay)
	return d/2 + rand.N(d)
}

// Delay implements nosqldb.RetryHandler.
func (r *retries) Delay(_ nosqldb.Request, times uint, err error) {
	d := delay(times)
	time.Sleep(d)
	if throttles(err) {
		r.meter.Count(drivers.Cost{Backoff: d})
	}
}

func codeOf(err error) nosqlerr.ErrorCode {
	var e *nosqlerr.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return nosqlerr.NoError
}

// throttles reports whether a request was refused because of a rate limit.
func throttles(err error) bool {
	limits := []nosqlerr.ErrorCode{
		nosqlerr.ReadLimitExceeded, nosqlerr.WriteLimitExceeded, nosqlerr.OperationLimitExceeded,
	}
	return slices.Contains(limits, codeOf(err))
}

// refusedForNow reports whether a request was refused before it did anything, for a
// reason that may pass.
func refusedForNow(err error) bool {
	refusals := []nosqlerr.ErrorCode{
		nosqlerr.TableBusy, nosqlerr.TableNotReady, nosqlerr.SecurityInfoUnavailable, nosqlerr.RetryAuthentication,
	}
	return throttles(err) || slices.Contains(refusals, codeOf(err))
}
