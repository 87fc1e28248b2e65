package drivers

import (
	"slices"
	"strings"
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

// JavaOptions returns the heap and the garbage collector of an engine's processes on this machine,
// as settings of results: the words of -Xmx and -XX:+Use…GC in their command lines. Values that are not
// known of one of them are left out, and values that differ between them are a list.
func JavaOptions(pids ...int) map[string]string {
	var heaps, collectors []string
	for _, pid := range pids {
		words, err := (&process.Process{Pid: int32(pid)}).CmdlineSlice()
		if err != nil {
			return nil
		}
		heap, collector := "", ""
		for _, word := range words {
			if of, ok := strings.CutPrefix(word, "-Xmx"); ok {
				heap = of
			}
			of, is := strings.CutPrefix(word, "-XX:+Use")
			if of, gc := strings.CutSuffix(of, "GC"); is && gc {
				collector = of
			}
		}
		heaps, collectors = append(heaps, heap), append(collectors, collector)
	}
	settings := make(map[string]string)
	for name, values := range map[string][]string{"server_heap": heaps, "server_gc": collectors} {
		slices.Sort(values)
		if values = slices.Compact(values); len(values) > 0 && values[0] != "" {
			settings[name] = strings.Join(values, ", ")
		}
	}
	return settings
}
