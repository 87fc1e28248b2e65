//go:build !linux

package drive

import (
	"os"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// timer wakes one worker at a scheduled time, as well as the runtime can.
type timer struct{}

func newTimer() (*timer, error) { return &timer{}, nil }

func (*timer) sleep(d time.Duration) error {
	time.Sleep(d)
	return nil
}

func (*timer) close() {}

// processCPU is the processor time that this process has used; 0: not known.
func processCPU() time.Duration {
	p := process.Process{Pid: int32(os.Getpid())}
	t, err := p.Times()
	if err != nil {
		return 0
	}
	return time.Duration((t.User + t.System) * float64(time.Second))
}

func doze(d time.Duration) { time.Sleep(d) }
