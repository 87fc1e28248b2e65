package crash

import (
	"errors"
	"strings"
	"testing"
)

func broken() error {
	calls := map[string]*int{}
	*calls["list"]++
	return nil
}

func TestGuard(t *testing.T) {
	var crash *Error
	err := Guard(broken)
	if !errors.As(err, &crash) || err.Error() != "panic, which is a defect: runtime error: invalid memory address or nil pointer dereference" {
		t.Fatalf("err = %v", err)
	}
	if !strings.Contains(crash.Stack, "crash.broken") {
		t.Errorf("the stack does not tell where: %s", crash.Stack)
	}
	other := errors.New("no space")
	if err := Guard(func() error { return other }); err != other {
		t.Errorf("err = %v, want %v", err, other)
	}
	if err := Guard(func() error { return nil }); err != nil {
		t.Errorf("err = %v", err)
	}
}
