package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"

	"github.com/mailbench/mailbench/drivers"
)

// ErrTimeout ends a call that HBase has not answered within Sender.Timeout.
var ErrTimeout = drivers.Unreachable(errors.New("HBase has not answered within the timeout"))

// refusals are the exceptions that prove that HBase has not applied a mutation. After any
// other exception HBase may have applied it: for instance, a write may survive although the
// sync of the log failed.
var refusals = []string{
	"org.apache.hadoop.hbase.DoNotRetryIOException",
	"org.apache.hadoop.hbase.NotServingRegionException",
	"org.apache.hadoop.hbase.RegionTooBusyException",
	"org.apache.hadoop.hbase.TableNotEnabledException",
	"org.apache.hadoop.hbase.TableNotFoundException",
	"org.apache.hadoop.hbase.UnknownProtocolException",
	"org.apache.hadoop.hbase.UnknownRegionException",
	"org.apache.hadoop.hbase.exceptions.FailedSanityCheckException",
	"org.apache.hadoop.hbase.exceptions.UnknownProtocolException",
	"org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException",
	"org.apache.hadoop.hbase.regionserver.WrongRegionException",
	"org.apache.hadoop.hbase.security.AccessDeniedException",
	"org.apache.hadoop.hbase.quotas.RpcThrottlingException",
}

// moved are the exceptions of a region that has moved, or is not ready.
var moved = []string{
	"org.apache.hadoop.hbase.NotServingRegionException",
	"org.apache.hadoop.hbase.RegionTooBusyException",
	"org.apache.hadoop.hbase.exceptions.RegionMovedException",
	"org.apache.hadoop.hbase.exceptions.RegionOpeningException",
}

// scannerGone are the exceptions after which a scan goes on with a new scanner:
// its region has moved, or its lease has run out.
var scannerGone = []string{
	"org.apache.hadoop.hbase.UnknownScannerException",
	"org.apache.hadoop.hbase.exceptions.ScannerResetException",
	"org.apache.hadoop.hbase.exceptions.OutOfOrderScannerNextException",
	"org.apache.hadoop.hbase.NotServingRegionException",
}

// Exception is an exception of a server. gohbase returns it only as text.
type Exception struct{ class, message string }

// Error returns the class without its package, and the message's first line.
func (e *Exception) Error() string {
	return fmt.Sprintf("HBase: %s: %s", e.class[strings.LastIndexByte(e.class, '.')+1:], e.message)
}

// NewException returns an exception. Its stack trace begins with the class and the message.
func NewException(class, trace string) *Exception {
	first, _, _ := strings.Cut(trace, "\n")
	return &Exception{class, strings.TrimPrefix(first, class+": ")}
}

// Is implements the interface of errors.Is: a region that is not ready does not answer.
func (e *Exception) Is(target error) bool { return target == drivers.ErrUnreachable && e.is(moved) }

func (e *Exception) is(classes []string) bool { return slices.Contains(classes, e.class) }

// explain returns the error of a failed call. It is drivers.ErrUnknown for a write
// that may have been applied. ctx is the caller's context.
func explain(ctx context.Context, c hrpc.Call, err error) error {
	own, ok := c.(*Call)
	changes := ok && own.sent && (own.method == "Mutate" || own.method == "Multi")
	var j *Exception
	if _, text, ok := strings.Cut(err.Error(), "HBase Java exception "); !errors.As(err, &j) && ok { // gohbase's text
		class, trace, _ := strings.Cut(text, "\n")
		j = NewException(strings.TrimSuffix(class, ":"), trace)
	}
	switch {
	case j != nil && (strings.Contains(j.message, "exceeds limit of") ||
		strings.Contains(j.class, "RequestTooBigException") || strings.Contains(j.class, "RowTooBigException")):
		return fmt.Errorf("%w: %w", drivers.ErrTooLarge, j)
	case j != nil && j.is(refusals):
		return j
	case j != nil:
		err = j
	case errors.Is(err, gohbase.TableNotFound):
		return fmt.Errorf("HBase has no table %s: apply its schema first", c.Table())
	case errors.Is(err, gohbase.ErrClientClosed):
		err = drivers.ErrClosed
	case ctx.Err() != nil:
		err = ctx.Err()
	case ok && own.lost:
		err = errLost
	case errors.Is(context.Cause(c.Context()), ErrTimeout):
		err = ErrTimeout
	}
	if changes {
		return fmt.Errorf("%w: %w", drivers.ErrUnknown, err)
	}
	return err
}

// Moved reports whether an error is an exception of a region that has moved, or is not ready.
func Moved(err error) bool { return isOne(err, moved) }

// isOne reports whether an error is an exception of one of the classes.
func isOne(err error, classes []string) bool {
	var j *Exception
	return errors.As(err, &j) && j.is(classes)
}

// IsClass reports whether an error is an exception of a class, whatever its package.
func IsClass(err error, class string) bool {
	var j *Exception
	return errors.As(err, &j) && strings.HasSuffix(j.class, "."+class)
}
