package drive

import (
	"math/bits"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	kernel    = windows.NewLazySystemDLL("kernel32.dll")
	counter   = kernel.NewProc("QueryPerformanceCounter")
	frequency = read(kernel.NewProc("QueryPerformanceFrequency"))
)

func init() { precise = performanceCounter }

// performanceCounter is the time of the performance counter. Go's own clock moves on every 0.5 to 15 ms here, which
// is longer than most operations of an engine in this process.
func performanceCounter() time.Duration {
	hi, lo := bits.Mul64(read(counter), uint64(time.Second))
	ns, _ := bits.Div64(hi, lo, frequency)
	return time.Duration(ns)
}

// read returns the number that a function of Windows gives. It cannot fail since Windows XP.
func read(from *windows.LazyProc) (n uint64) {
	_, _, _ = syscall.SyscallN(from.Addr(), uintptr(unsafe.Pointer(&n)))
	return n
}
