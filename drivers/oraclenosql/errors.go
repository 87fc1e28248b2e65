package oraclenosql

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/oracle/nosql-go-sdk/nosqldb/nosqlerr"

	"github.com/mailbench/mailbench/drivers"
)

// outcome is what became of a write whose request returned an error.
type outcome uint8

const (
	notApplied outcome = iota // refused, or never sent
	tooLarge                  // refused for its size
	unknown                   // perhaps applied
)

// classify returns the outcome of a write from its error. It is unknown unless the error
// proves a refusal.
func classify(err error) outcome {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" || errors.Is(err, errLogin) {
		return notApplied
	}
	var e *nosqlerr.Error
	if !errors.As(err, &e) {
		if strings.Contains(err.Error(), "error response: 413") { // the proxy takes 64 MiB
			return tooLarge
		}
		return unknown
	}
	if strings.Contains(err.Error(), "exceeds maximum key permissible length") { // a ServerError, "too busy"
		return tooLarge
	}
	switch e.Code {
	case nosqlerr.RowSizeLimitExceeded, nosqlerr.KeySizeLimitExceeded, nosqlerr.BatchOpNumberLimitExceeded,
		nosqlerr.RequestSizeLimitExceeded:
		return tooLarge
	case nosqlerr.RequestTimeout:
		if e.Cause != nil && refusedForNow(e.Cause) {
			return notApplied
		}
		return unknown
	case nosqlerr.ServerError, nosqlerr.UnknownError, nosqlerr.IllegalState, nosqlerr.ServiceUnavailable:
		return unknown
	}
	return notApplied
}

// lost reports whether the connection of a request was lost, which the SDK does not
// repeat. A time-out is no loss.
func lost(err error) bool {
	var u *url.Error
	return errors.As(err, &u) && !u.Timeout() && !errors.Is(err, errAnswer) &&
		codeOf(err) == nosqlerr.NoError && classify(err) == unknown
}

// writeError wraps the error of a write. uncertain: an attempt before may have been applied.
func writeError(ctx context.Context, err error, uncertain bool) error {
	switch o := classify(err); {
	case o == unknown || uncertain:
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("%w: %w", drivers.ErrUnknown, err)
	case o == tooLarge:
		return fmt.Errorf("%w: %w", drivers.ErrTooLarge, err)
	}
	return err
}

func readError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
