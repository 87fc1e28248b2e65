package plan

import (
	"errors"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
)

// TestGuardWrite: a write that panics may have been made, one that fails says itself what it did.
func TestGuardWrite(t *testing.T) {
	var c *crash.Error
	if err := GuardWrite(func() error { panic("x") }); !errors.As(err, &c) || !errors.Is(err, drivers.ErrUnknown) {
		t.Errorf("a panic is %v", err)
	}
	err := GuardWrite(func() error { return drivers.ErrTooLarge })
	if !errors.Is(err, drivers.ErrTooLarge) || errors.Is(err, drivers.ErrUnknown) {
		t.Errorf("a failure is %v", err)
	}
}
