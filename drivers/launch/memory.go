package launch

import (
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/mem"

	"github.com/mailbench/mailbench/schemas/words"
)

// checkMemory returns an error if the nodes would make the machine swap, or exceed the limit of a container, so that
// the kernel kills a process.
func checkMemory(e *Engine, heap int64, processes int) error {
	memory, err := mem.VirtualMemory()
	if err != nil {
		return fmt.Errorf("find out how much memory is free: %w", err)
	}
	groups, _ := os.ReadFile("/proc/self/cgroup") // only Linux has it
	available := min(int64(memory.Available), cgroupMemory(string(groups), "/sys/fs/cgroup"))
	if need := (heap + e.overhead) * int64(processes); need > available {
		return fmt.Errorf("not enough memory: %s of %s need %s and %s is available; start fewer, or give each less with --heap",
			words.Plural(processes, "process"), e.Name, words.Size(float64(need)), words.Size(float64(available)))
	}
	return nil
}

// cgroupMemory returns how many bytes the control groups leave this process. Beyond that
// the kernel kills, however much the machine has. cgroups is the text of /proc/self/cgroup.
// root is the folder where they are mounted. Without a limit the result is math.MaxInt64.
func cgroupMemory(cgroups, root string) int64 {
	left := int64(math.MaxInt64)
	for line := range strings.Lines(cgroups) {
		// "0::/path" of version 2; "7:memory:/path" of version 1
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		files := memoryFiles{"memory.max", "memory.current", "inactive_file"}
		mount := root
		switch {
		case parts[0] == "0" && parts[1] == "":
		case parts[1] == "memory":
			files = memoryFiles{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
			mount = filepath.Join(root, "memory")
		default:
			continue
		}
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) { // every group above limits too
			left = min(left, files.left(filepath.Join(mount, group)))
			if group == "/" {
				break
			}
		}
	}
	return left
}

// memoryFiles are the names of a group's files with its limit and its use, and of the
// line in memory.stat with what the kernel can take back: cached files.
type memoryFiles struct{ limit, used, cached string }

// left returns how many bytes a group may still take.
func (m memoryFiles) left(group string) int64 {
	limit, limited := readNumber(filepath.Join(group, m.limit))
	used, known := readNumber(filepath.Join(group, m.used))
	if !limited || !known {
		return math.MaxInt64
	}
	stat, err := os.ReadFile(filepath.Join(group, "memory.stat"))
	if err == nil {
		for line := range strings.Lines(string(stat)) {
			if n, ok := strings.CutPrefix(line, m.cached+" "); ok {
				cached, _ := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
				used -= cached
			}
		}
	}
	return max(limit-used, 0)
}

// readNumber reads a file with one number. ok is false for other text, such as "max".
func readNumber(file string) (n int64, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}
