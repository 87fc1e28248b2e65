package launch

import (
	"errors"
	"fmt"
	"os"

	"github.com/shirou/gopsutil/v4/process"
)

// Running reports whether the process that was started as the node still runs.
func (n Node) Running() bool {
	start, running := startOf(n.Process.PID)
	return n.Process.PID > 0 && running && start == n.Process.Start
}

// RSS returns the resident memory of the node's process, in bytes; 0: not known.
func (n Node) RSS() int64 {
	memory, err := (&process.Process{Pid: int32(n.Process.PID)}).MemoryInfo()
	if err != nil {
		return 0
	}
	return int64(memory.RSS)
}

// signal sends a signal to the process that was started as the node, if it still runs, and never
// to another process that has its id now.
func (n Node) signal(sig os.Signal) error {
	if n.Process.PID <= 0 {
		return nil
	}
	// FindProcess comes before the check. On Linux its handle stays with the process
	// that had the id then, so the check covers it. On macOS another process could
	// get the id between the check and the signal.
	handle, err := os.FindProcess(n.Process.PID)
	if err != nil {
		return err
	}
	defer handle.Release()
	if !n.Running() {
		return nil
	}
	if err := handle.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %w", n.Process.PID, err)
	}
	return nil
}
