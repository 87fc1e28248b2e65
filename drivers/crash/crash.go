// Package crash turns a panic into an error, so that a defect costs one phase of a run and
// not the run.
//
//	err := crash.Guard(func() error { return worker.work(ctx) })
package crash

import (
	"fmt"
	"runtime/debug"
)

// Error is a panic that Guard has recovered.
type Error struct {
	Value any
	Stack string // stack of the goroutine that panicked
}

// Error implements error, in one line.
func (e *Error) Error() string { return fmt.Sprintf("panic, which is a defect: %v", e.Value) }

// Guard calls do. If do panics, the error is an *Error. Guard does not release locks and
// other resources that do still held.
func Guard(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &Error{Value: v, Stack: string(debug.Stack())}
		}
	}()
	return do()
}
