package cassandra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
)

// writeKind is a kind of write, by what Cassandra may have done with it when it refuses it.
type writeKind uint8

const (
	// plainWrite is refused before a request to any replica.
	plainWrite writeKind = iota
	// preparedWrite is a logged batch or an addition to a counter. When the coordinator
	// refuses it as overloaded, the batch log may have the batch, or one replica may have
	// counted (StorageProxy.mutateAtomically, counterWriteTask).
	preparedWrite
	// paxosWrite is a conditional write. Replicas may have accepted it in one round of
	// Paxos when the next round is refused (StorageProxy.doPaxos, Paxos.cas).
	paxosWrite
)

// refusalLeavesOpen reports whether the write may have been applied though the cluster
// answered that it refuses it.
func (k writeKind) refusalLeavesOpen(code int) bool {
	switch code {
	case gocql.ErrCodeOverloaded:
		return k != plainWrite
	case gocql.ErrCodeUnavailable:
		return k == paxosWrite
	}
	return false
}

// classify says what became of a write that was not acknowledged: nil if it was not applied, drivers.ErrTooLarge if it
// was refused for its size, or drivers.ErrUnknown unless the error proves a refusal: long after a time-out the cluster
// may still replay a batch log, deliver a hint or finish a Paxos round.
func classify(err error, kind writeKind) error {
	var refused gocql.RequestError
	if errors.As(err, &refused) && kind.refusalLeavesOpen(refused.Code()) {
		return drivers.ErrUnknown
	}
	refusals := []error{
		gocql.ErrNoConnections, gocql.ErrNoStreams, gocql.ErrSessionClosed, gocql.ErrUnavailable, gocql.ErrTooManyStmts,
		drivers.ErrClosed,
	}
	switch {
	case slices.ContainsFunc(refusals, func(refusal error) bool { return errors.Is(err, refusal) }):
		return nil
	case refused == nil:
		return drivers.ErrUnknown
	}
	switch refused.Code() {
	case gocql.ErrCodeInvalid, gocql.ErrCodeProtocol:
		// The protocol has no error code for a size limit. The driver checks the limits of clusters that show them before
		// it sends anything.
		if containsAny(refused.Message(), "Batch too large", "oversized mutation", "is longer than maximum", "too big",
			"Mutation of") {
			return drivers.ErrTooLarge
		}
		return nil
	case gocql.ErrCodeUnavailable, gocql.ErrCodeOverloaded, gocql.ErrCodeBootstrapping, gocql.ErrCodeCredentials,
		gocql.ErrCodeSyntax, gocql.ErrCodeUnauthorized, gocql.ErrCodeConfig, gocql.ErrCodeAlreadyExists,
		gocql.ErrCodeUnprepared:
		return nil
	}
	return drivers.ErrUnknown
}

func containsAny(text string, phrases ...string) bool {
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(text, phrase) })
}

// writeError wraps the error of a write that was sent. uncertain is true if an
// earlier attempt may have been applied; then the last refusal proves nothing.
func writeError(err error, kind writeKind, uncertain bool) error {
	if err == nil {
		return nil
	}
	what := classify(err, kind)
	switch {
	case errors.Is(err, gocql.ErrSessionClosed):
		what = drivers.ErrClosed
	case uncertain:
		what = drivers.ErrUnknown
	case what == nil:
		return err
	}
	return fmt.Errorf("%w: %w", what, err)
}

// away and awayCodes are the errors and refusals of a read for which too few nodes answered.
var (
	away      = []error{gocql.ErrNoConnections, gocql.ErrNoStreams, gocql.ErrTimeoutNoResponse, gocql.ErrConnectionClosed}
	awayCodes = []int{
		gocql.ErrCodeUnavailable, gocql.ErrCodeOverloaded, gocql.ErrCodeBootstrapping, gocql.ErrCodeReadTimeout,
	}
)

// readError wraps the error of a read, if there is one. The time of a read includes it.
func readError(err error) error {
	if err == nil {
		return nil
	}
	var refused gocql.RequestError
	what := error(nil)
	switch {
	case errors.Is(err, gocql.ErrSessionClosed):
		what = drivers.ErrClosed
	case slices.ContainsFunc(away, func(e error) bool { return errors.Is(err, e) }),
		errors.As(err, &refused) && slices.Contains(awayCodes, refused.Code()):
		what = drivers.ErrUnreachable
	case refused != nil && classify(err, plainWrite) == drivers.ErrTooLarge: // the key
		what = drivers.ErrTooLarge
	default:
		return err
	}
	return fmt.Errorf("%w: %w", what, err)
}

// retries is the retry policy of one idempotent request. It retries after a pause
// if a connection was lost, and at once if a node refused the request. After a time-out it
// retries only one kind of read. Other requests (counters, list appends,
// conditional writes) have no retry policy, and are sent once.
//
// Each request has its own. So retries can remember, as gocql does not, that a lost
// attempt may have been applied.
type retries struct {
	most, left int
	kind       writeKind
	uncertain  bool
	meter      *drivers.Meter  // counts further attempts
	ctx        context.Context // of the request
}

// firstPause is the time before a request whose connection was lost is sent again. Each further pause takes
// twice as long.
const firstPause = 50 * time.Millisecond

// Attempt implements gocql.RetryPolicy.
func (r *retries) Attempt(q gocql.RetryableQuery) bool {
	r.left--
	r.ctx = q.Context()
	return r.left >= 0 && q.Context().Err() == nil
}

// GetRetryType implements gocql.RetryPolicy.
func (r *retries) GetRetryType(err error) gocql.RetryType {
	t := r.typeOf(err)
	if t != gocql.Rethrow {
		r.meter.Count(drivers.Cost{Retries: 1})
	}
	return t
}

func (r *retries) typeOf(err error) gocql.RetryType {
	var readTimeout *gocql.RequestErrReadTimeout
	var refused gocql.RequestError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, gocql.ErrTimeoutNoResponse):
		return gocql.Rethrow
	case errors.As(err, &readTimeout):
		// Enough replicas answered, but not the one that was to send the data.
		// The coordinator now knows that this one is slow.
		if readTimeout.Received >= readTimeout.BlockFor && readTimeout.DataPresent == 0 {
			return gocql.Retry
		}
		return gocql.Rethrow
	case errors.As(err, &refused):
		switch refused.Code() {
		case gocql.ErrCodeUnavailable, gocql.ErrCodeOverloaded, gocql.ErrCodeBootstrapping:
			r.uncertain = r.uncertain || r.kind.refusalLeavesOpen(refused.Code())
			return gocql.RetryNextHost
		}
		return gocql.Rethrow
	}
	_ = drivers.Pause(r.ctx, firstPause<<(r.most-r.left-1)) // a node that starts again needs time
	// The connection was lost, or there was none. The node itself may be well, so
	// it gets the next attempt. If it has no connections left, gocql tries the
	// next node.
	r.uncertain = r.uncertain || classify(err, r.kind) == drivers.ErrUnknown
	if r.left > 0 {
		return gocql.Retry
	}
	return gocql.RetryNextHost
}
