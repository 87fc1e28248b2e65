package plan

import (
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
)

// GuardWrite calls do, which writes, and turns its panic into an error. The error wraps
// drivers.ErrUnknown, since the engine may have got the write.
func GuardWrite(do func() error) error {
	err := crash.Guard(do)
	if c := new(crash.Error); errors.As(err, &c) {
		return fmt.Errorf("%w: %w", drivers.ErrUnknown, c)
	}
	return err
}
