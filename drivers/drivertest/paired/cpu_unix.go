//go:build unix

package paired

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the processor time of this process, user and system.
func cpuTime() time.Duration {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		panic(err) // RUSAGE_SELF and a good pointer cannot be refused
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
