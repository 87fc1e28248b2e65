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

// Log prints a node's log ("" is the first node), or its last lines (0: all). With follow it also
// prints what the node logs later, until the context ends.
func (in *Instance) Log(ctx context.Context, w io.Writer, node string, last int, follow bool) error {
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
	if last > 0 {
		if err := seekLast(f, last); err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
	}
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

// seekLast puts a file to where its last lines begin.
func seekLast(f io.ReadSeeker, lines int) error {
	at, err := f.Seek(0, io.SeekEnd)
	var b [4 << 10]byte
	for ends := 0; err == nil && at > 0; {
		part := b[:min(at, int64(len(b)))]
		at -= int64(len(part))
		if _, err = f.Seek(at, io.SeekStart); err != nil {
			break
		}
		if _, err = io.ReadFull(f, part); err != nil {
			break
		}
		for i := len(part) - 1; i >= 0; i-- {
			if part[i] != '\n' {
				ends = max(ends, 1) // the last line may have no end
			} else if ends++; ends > lines {
				_, err = f.Seek(at+int64(i)+1, io.SeekStart)
				return err
			}
		}
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	return err
}

// tail returns the last lines of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
