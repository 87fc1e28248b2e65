package drivers

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// DiskReads returns how many bytes the processes have read from disk since they began, past
// the page cache: read_bytes of proc_pid_io(5). It returns -1 if that is not known of one of
// them, or if there is none.
func DiskReads(pids ...int) (total int64) {
	for _, pid := range pids {
		n := diskReads(pid)
		if n < 0 {
			return -1
		}
		total += n
	}
	if len(pids) == 0 {
		return -1
	}
	return total
}

func diskReads(pid int) int64 {
	io, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return -1
	}
	for line := range bytes.Lines(io) {
		if text, ok := bytes.CutPrefix(line, []byte("read_bytes: ")); ok {
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}
