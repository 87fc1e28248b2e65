package launch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
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
	f, err := private.OpenFile(in.logPath(n), os.O_RDONLY)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	since := io.NewSectionReader(f, n.logFrom, math.MaxInt64-n.logFrom)
	err = seekLast(since, 5)
	var text []byte
	if err == nil {
		text, err = io.ReadAll(since)
	}
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
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
	var begins []int64 // of the last lines
	var err error
	at := int64(0)
	for r := bufio.NewReader(f); err == nil; {
		var line string
		if line, err = r.ReadString('\n'); line != "" {
			begins = append(begins, at)
			begins = begins[max(0, len(begins)-lines):]
			at += int64(len(line))
		}
	}
	if err == io.EOF && len(begins) > 0 {
		at = begins[0]
	} else if err != io.EOF {
		return err
	}
	_, err = f.Seek(at, io.SeekStart)
	return err
}

// tail returns the last lines of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
