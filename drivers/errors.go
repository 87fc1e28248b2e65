package drivers

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"syscall"

	"github.com/mailbench/mailbench/drivers/private"
)

// Errors that callers distinguish. Drivers wrap them with the call that failed.
var (
	// ErrUnsupported: the engine cannot run the pattern. Prepare, a Compiler and
	// Prepared.Get return it, never a call.
	ErrUnsupported = errors.New("not supported by this engine")
	// ErrUnknown: a write was sent and its outcome is not known (timed out,
	// connection lost). Any other error of a write means: not applied.
	ErrUnknown = errors.New("outcome unknown")
	// ErrUnreachable: no node of the cluster answered. Only Open returns it.
	ErrUnreachable = errors.New("unreachable")
	// ErrNotApplied: a row that a batch deletes "if: present" is not there. Nothing of the batch was applied.
	ErrNotApplied = errors.New("the condition of a batch does not hold, so nothing was applied")
	// ErrTooLarge: a limit of the engine would be exceeded; nothing was applied.
	ErrTooLarge = errors.New("too large for this engine")
	// ErrUnreported: this user may not read whether the engine still flushes or compacts.
	// Only Settle returns it.
	ErrUnreported = errors.New("the engine does not report it")
	// ErrLocked: another process has the store open.
	ErrLocked = private.ErrLocked
	// ErrForeign: mailbench did not make the folder, table or namespace, and leaves it alone.
	ErrForeign = errors.New("not made by mailbench")
	// ErrReadOnly: the store was opened with Options.ReadOnly.
	ErrReadOnly = errors.New("the store is open for reading only")
	// ErrCorrupt: files of the store are damaged or gone.
	ErrCorrupt = errors.New("the store is corrupt")
	// ErrNoValues: a table has no values for the parameters of a Question.
	ErrNoValues = errors.New("no values for its parameters")
	// ErrClosed: the store or session is closed.
	ErrClosed = errors.New("closed")
)

// OptionError is an error of Options that say what an engine does not have. Its text is that of Err.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }

func (e *OptionError) Unwrap() error { return e.Err }

// WrongOption returns err as an OptionError; nil if err is nil.
func WrongOption(err error) error {
	if err == nil {
		return nil
	}
	return &OptionError{err}
}

// IsOutage reports whether the engine or the user ended a read. Any other error of a read of data
// that were not checked before is about the data, and a finding.
func IsOutage(err error) bool {
	var network net.Error
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) ||
		errors.Is(err, ErrUnreachable) || errors.Is(err, ErrClosed) || IsUnread(err)
}

// IsUnread reports whether a system call failed on a file that is there: too few descriptors, a disk
// that does not answer. Such an error says nothing about what is in the file.
func IsUnread(err error) bool {
	return errors.As(err, new(syscall.Errno)) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrCorrupt)
}
