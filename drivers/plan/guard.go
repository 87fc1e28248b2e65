package plan

import (
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
)

// GuardWrite calls do, which writes, and makes an error of its panic. Nobody knows then whether
// the engine has got the write.
func GuardWrite(do func() error) error {
	err := crash.Guard(do)
	if c := new(crash.Error); errors.As(err, &c) {
		return fmt.Errorf("%w: %w", drivers.ErrUnknown, c)
	}
	return err
}
