package models

import (
	"context"
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
)

// Partly makes err an error of unknown outcome. An operation returns it if it has
// done a part of its work. The result holds the text of err but does not wrap it:
// a caller that finds ErrNotFound would believe that nothing was changed.
func Partly(err error) error {
	if err == nil || errors.Is(err, drivers.ErrUnknown) {
		return err
	}
	return fmt.Errorf("%w, done in part: %v", drivers.ErrUnknown, err)
}

// Withdraw calls undo to remove what a failed operation has written, and returns
// why, the reason of the failure. If undo fails, the result is ErrUnknown too. An
// operation of unknown outcome is not undone, since it may have succeeded.
func Withdraw(ctx context.Context, why error, undo func(ctx context.Context) error) error {
	if errors.Is(why, drivers.ErrUnknown) {
		return why
	}
	// The operation may have failed because ctx was cancelled.
	if err := undo(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("%w (%w: taking it back failed: %w)", why, drivers.ErrUnknown, err)
	}
	return why
}
