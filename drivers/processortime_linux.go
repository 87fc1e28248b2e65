package drivers

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// ProcessorTime returns the processor time that the processes have used since they began, user and
// system: utime and stime of proc_pid_stat(5), in steps of 10 ms. It returns 0 if that is not
// known of one of them, or if there is none.
func ProcessorTime(pids ...int) (total time.Duration) {
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return 0
		}
		_, rest, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" ")) // a name may have blanks
		fields := bytes.Fields(rest)
		if len(fields) < 13 {
			return 0
		}
		for _, text := range fields[11:13] {
			ticks, err := strconv.ParseInt(string(text), 10, 64)
			if err != nil {
				return 0
			}
			total += time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100 on all that Go runs on
		}
	}
	return total
}
