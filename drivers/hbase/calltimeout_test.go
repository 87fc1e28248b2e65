package hbase

import (
	"context"
	"testing"
	"time"
)

// TestCallTimeout checks that calls under one parent share a context, and that a
// new parent or a call that was too slow gets a new one.
func TestCallTimeout(t *testing.T) {
	timeout := callTimeout{timeout: time.Hour}
	first, _ := timeout.start(t.Context())
	timeout.stop()
	if again, _ := timeout.start(t.Context()); again != first {
		t.Error("a second call made a context of its own")
	}
	timeout.stop()
	other, cancel := context.WithCancel(t.Context())
	second, _ := timeout.start(other)
	if second == first || first.Err() == nil {
		t.Error("the context of another parent is still in use")
	}
	cancel()
	if second.Err() == nil {
		t.Error("a context outlives its parent")
	}
	timeout.timeout = time.Nanosecond
	third, _ := timeout.start(t.Context())
	<-third.Done()
	timeout.stop()
	timeout.timeout = time.Hour
	if fourth, _ := timeout.start(t.Context()); fourth == third || fourth.Err() != nil {
		t.Error("a context that has run out is used again")
	}
	timeout.end()
}
