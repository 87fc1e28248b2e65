//go:build !linux

package run

import "time"

// timer wakes one worker at a due time, as well as the runtime can.
type timer struct{}

func newTimer() (*timer, error) { return &timer{}, nil }

func (*timer) wait(d time.Duration) error {
	time.Sleep(d)
	return nil
}

func (*timer) close() {}
