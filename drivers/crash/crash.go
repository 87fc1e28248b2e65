// Package crash makes an error of a panic, so that a defect costs one phase of a run and
// not the run.
//
//	err := crash.Guard(func() error { return worker.work(ctx) })
package crash

import (
	"fmt"
	"runtime/debug"
)

// Error is a panic.
type Error struct {
	Value any
	Stack string // stack of the goroutine that panicked
}

// Error implements error, in one line.
func (e *Error) Error() string { return fmt.Sprintf("panic, which is a defect: %v", e.Value) }

// Guard calls do. If do panics, the error is an *Error. A lock that do took and did not
// release stays locked.
func Guard(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &Error{Value: v, Stack: string(debug.Stack())}
		}
	}()
	return do()
}
