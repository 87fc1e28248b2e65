package drive

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// doze stops the calling thread for that long. It gives up what the thread needs to run Go
// code before it sleeps, so that the runtime's monitor need not come and take it: see
// docs/decisions/0014-doze.md.
//
//go:nosplit
//go:norace
func doze(d time.Duration) {
	ts := unix.Timespec{Sec: int64(d / time.Second), Nsec: int64(d % time.Second)}
	entersyscallblock()
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0) // a signal only shortens it
	exitsyscall()
}

// The runtime keeps these three as they are for packages that need them: go.dev/issue/67401.

//go:linkname entersyscallblock runtime.entersyscallblock
func entersyscallblock()

//go:linkname exitsyscall runtime.exitsyscall
func exitsyscall()

// nanotime reads CLOCK_MONOTONIC, the clock of timers.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64
