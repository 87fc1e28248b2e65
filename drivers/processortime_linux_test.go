package drivers

import (
	"os"
	"testing"
	"time"
)

// TestProcessorTime: this process uses a processor until its time grows.
func TestProcessorTime(t *testing.T) {
	if ProcessorTime() != 0 || ProcessorTime(os.Getpid(), 1<<30) != 0 {
		t.Error("a time is told of no process")
	}
	began := ProcessorTime(os.Getpid())
	for ended := time.Now().Add(time.Minute); ProcessorTime(os.Getpid()) < began+50*time.Millisecond; {
		if time.Now().After(ended) {
			t.Fatal("the time of a busy process does not grow")
		}
	}
}
