package oraclenosql

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/nosqlerr"
)

// retries decides which requests of one SDK client are sent again. The SDK's own handler
// repeats every request, so that an increment whose answer was lost would be applied twice.
type retries struct {
	most int
	// again: the call under way is a read, or a put of a whole row without a condition.
	again bool
	// uncertain: an attempt of the call may have been applied, so a later refusal proves
	// nothing.
	uncertain bool
	// throttled are refusals because a table's throughput is used up, backoff the time waited
	// after them.
	throttled int64
	backoff   time.Duration
	repeated  int64 // requests that were sent again

	credential *credential // nil without a login
}

var _ nosqldb.RetryHandler = (*retries)(nil)

// begin prepares for a call.
func (r *retries) begin(again bool) { r.again, r.uncertain = again, false }

// MaxNumRetries implements nosqldb.RetryHandler.
func (r *retries) MaxNumRetries() uint { return uint(r.most) }

// ShouldRetry implements nosqldb.RetryHandler. The SDK asks it about errors that may pass.
func (r *retries) ShouldRetry(_ nosqldb.Request, times uint, err error) bool {
	if classify(err) == tooLarge {
		return false
	}
	refused := refusedForNow(err)
	if codeOf(err) == nosqlerr.RetryAuthentication && r.credential != nil {
		r.credential.refused = true // the next attempt logs in again
	}
	if throttles(err) {
		r.throttled++
	}
	if !refused {
		r.uncertain = true
	}
	if int(times) >= r.most || !refused && !r.again {
		return false
	}
	r.repeated++
	return true
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
		r.backoff += d
	}
}

func codeOf(err error) nosqlerr.ErrorCode {
	var e *nosqlerr.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return nosqlerr.NoError
}

// throttles reports whether a request was refused because too much was asked for.
func throttles(err error) bool {
	switch codeOf(err) {
	case nosqlerr.ReadLimitExceeded, nosqlerr.WriteLimitExceeded, nosqlerr.OperationLimitExceeded:
		return true
	}
	return false
}

// refusedForNow reports whether a request was refused before it did anything, for a
// reason that may pass.
func refusedForNow(err error) bool {
	switch codeOf(err) {
	case nosqlerr.TableBusy, nosqlerr.TableNotReady, nosqlerr.SecurityInfoUnavailable, nosqlerr.RetryAuthentication:
		return true
	}
	return throttles(err)
}
