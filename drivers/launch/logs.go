package launch

import (
	"os"
	"path/filepath"
	"strings"
)

// logPath is where a node's output goes.
func (in *Instance) logPath(n *Node) string { return filepath.Join(in.nodeDir(n), "log") }

// logTail is the end of a node's log.
func (in *Instance) logTail(n *Node, lines int) string {
	const most = 64 << 10 // bytes of the end that are looked at
	f, err := os.Open(in.logPath(n))
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err.Error()
	}
	size := min(info.Size(), most)
	buf := make([]byte, size)
	k, _ := f.ReadAt(buf, info.Size()-size)
	return tail(string(buf[:k]), lines)
}

// tail returns the last lines of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
