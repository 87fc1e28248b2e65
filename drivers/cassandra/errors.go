package cassandra

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
)

// outcome says what became of a write that was not acknowledged.
type outcome uint8

const (
	notApplied outcome = iota // refused before any replica was asked
	tooLarge                  // refused for its size
	unknown                   // it may have been applied, or be applied later
)

// classify tells from an error what became of the write. What is not known to
// have been refused is unknown: a batch log may be replayed, a hint delivered
// and a Paxos round finished by somebody else long after a time-out.
func classify(err error) outcome {
	for _, before := range []error{
		gocql.ErrNoConnections, gocql.ErrNoStreams, gocql.ErrSessionClosed, gocql.ErrUnavailable,
		gocql.ErrTooManyStmts, drivers.ErrClosed,
	} {
		if errors.Is(err, before) {
			return notApplied
		}
	}
	var refused gocql.RequestError
	if !errors.As(err, &refused) {
		return unknown
	}
	switch refused.Code() {
	case gocql.ErrCodeInvalid, gocql.ErrCodeProtocol:
		if sizeRefused(refused.Message()) {
			return tooLarge
		}
		return notApplied
	case gocql.ErrCodeUnavailable, gocql.ErrCodeOverloaded, gocql.ErrCodeBootstrapping, gocql.ErrCodeCredentials,
		gocql.ErrCodeSyntax, gocql.ErrCodeUnauthorized, gocql.ErrCodeConfig, gocql.ErrCodeAlreadyExists, gocql.ErrCodeUnprepared:
		return notApplied
	}
	return unknown
}

// sizeRefused reports whether a message is about a limit of size: the protocol
// has no code for it. The limits are asked of the cluster and checked before
// anything is sent; these are for clusters that do not tell them.
func sizeRefused(msg string) bool {
	for _, phrase := range []string{"Batch too large", "oversized mutation", "is longer than maximum", "too big", "Mutation of"} {
		if strings.Contains(msg, phrase) {
			return true
		}
	}
	return false
}

// writeError wraps the error of a write that was sent. Uncertain says that an
// earlier attempt at it may have been applied: then its last refusal means
// nothing.
func writeError(err error, uncertain bool) error {
	if err == nil {
		return nil
	}
	switch o := classify(err); {
	case errors.Is(err, gocql.ErrSessionClosed):
		return fmt.Errorf("%w: %w", drivers.ErrClosed, err)
	case o == unknown || uncertain:
		return fmt.Errorf("%w: %w", drivers.ErrUnknown, err)
	case o == tooLarge:
		return fmt.Errorf("%w: %w", drivers.ErrTooLarge, err)
	}
	return err
}

// readError wraps the error of a read, or of what is no write of data.
func readError(err error) error {
	if errors.Is(err, gocql.ErrSessionClosed) {
		return fmt.Errorf("%w: %w", drivers.ErrClosed, err)
	}
	return err
}

// retries is the policy of one session's statements that may be sent twice: at
// once, where a connection was lost or a node turned the request away.
// What a time-out has decided stays decided, with one exception. No other
// statement has a policy: counters, list appends and conditional writes are sent
// once.
//
// It is the session's own and its session runs one call at a time: it remembers
// of the call under way what gocql forgets, that a lost attempt may have been
// applied.
type retries struct {
	most, left int
	uncertain  bool
}

// begin forgets the call before.
func (r *retries) begin() { r.left, r.uncertain = r.most, false }

// give lets a request be sent again, or not.
func (r *retries) allow(q *gocql.Query, again bool) {
	if again = again && r.most > 0; again {
		q.RetryPolicy(r)
	} else {
		q.RetryPolicy(nil)
	}
	q.Idempotent(again)
}

// Attempt implements gocql.RetryPolicy.
func (r *retries) Attempt(q gocql.RetryableQuery) bool {
	r.left--
	return r.left >= 0 && q.Context().Err() == nil
}

// GetRetryType implements gocql.RetryPolicy.
func (r *retries) GetRetryType(err error) gocql.RetryType {
	var readTimeout *gocql.RequestErrReadTimeout
	var refused gocql.RequestError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, gocql.ErrTimeoutNoResponse):
		return gocql.Rethrow
	case errors.As(err, &readTimeout):
		// Enough replicas answered, but the one asked for the data did not: by
		// now it is known to be slow.
		if readTimeout.Received >= readTimeout.BlockFor && readTimeout.DataPresent == 0 {
			return gocql.Retry
		}
		return gocql.Rethrow
	case errors.As(err, &refused):
		switch refused.Code() {
		case gocql.ErrCodeUnavailable, gocql.ErrCodeOverloaded, gocql.ErrCodeBootstrapping:
			return gocql.RetryNextHost
		}
		return gocql.Rethrow
	}
	// The connection was lost, or there was none. The node may be well, and is
	// asked first; where it has no connections left, gocql goes on to the next.
	r.uncertain = r.uncertain || classify(err) == unknown
	if r.left > 0 {
		return gocql.Retry
	}
	return gocql.RetryNextHost
}
