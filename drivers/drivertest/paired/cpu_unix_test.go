//go:build unix

package paired

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the processor time of this process, user and system.
func cpuTime() time.Duration {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		panic(err) // Getrusage fails only for a bad selector or pointer
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
