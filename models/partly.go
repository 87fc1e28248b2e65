package models

import (
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
)

// Partly makes of an error one of unknown outcome, for an operation that has
// done a part of what was asked for. Its cause is told, and no more than that:
// a caller who asks for ErrNotFound must not take it for "nothing was changed".
func Partly(err error) error {
	if err == nil || errors.Is(err, drivers.ErrUnknown) {
		return err
	}
	return fmt.Errorf("%w, done in part: %v", drivers.ErrUnknown, err)
}
