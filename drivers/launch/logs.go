package launch

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers/private"
)

// logPath returns the path of a node's log.
func (in *Instance) logPath(n *Node) string { return filepath.Join(in.nodeDir(n), "log") }

// logTail returns the last few lines that a node has logged since its start, for an
// error.
func (in *Instance) logTail(n *Node) string {
	const lines, most = 5, 64 << 10 // it reads at most the last 64 KiB
	f, err := private.OpenFile(in.logPath(n), os.O_RDONLY)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err.Error()
	}
	from := max(n.logFrom, end-most)
	text, err := io.ReadAll(io.NewSectionReader(f, from, end-from))
	if err != nil {
		return err.Error()
	}
	return tail(string(text), lines)
}

// Log prints a node's log ("" is the first node). With follow it also prints what the
// node logs later, until the context ends.
func (in *Instance) Log(ctx context.Context, w io.Writer, node string, follow bool) error {
	if node == "" {
		node = in.state.Nodes[0].Name
	}
	n, err := in.node(node)
	if err != nil {
		return err
	}
	f, err := private.OpenFile(in.logPath(n), os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	defer f.Close()
	for {
		if _, err := io.Copy(w, f); err != nil || !follow {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// tail returns the last lines of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
