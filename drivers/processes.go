package drivers

import (
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// DiskReads returns how many bytes the processes have read from disk since they began, past
// the page cache. It returns -1 if that is not known of one of them, or if there is none.
func DiskReads(pids ...int) (total int64) {
	for _, pid := range pids {
		// No NewProcess: that looks up the process first.
		io, err := (&process.Process{Pid: int32(pid)}).IOCounters()
		if err != nil {
			return -1
		}
		total += int64(io.DiskReadBytes)
	}
	if len(pids) == 0 {
		return -1
	}
	return total
}

// ProcessorTime returns the processor time that the processes have used since they began, user and
// system. It returns 0 if that is not known of one of them, or if there is none.
func ProcessorTime(pids ...int) (total time.Duration) {
	for _, pid := range pids {
		used, err := (&process.Process{Pid: int32(pid)}).Times()
		if err != nil {
			return 0
		}
		total += time.Duration((used.User + used.System) * float64(time.Second))
	}
	return total
}
