package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/schemas/words"
)

// Contact returns the addresses that clients connect to: those of all Cassandra
// nodes, or that of HBase's ZooKeeper.
func (in *Instance) Contact() (all []string) {
	for i, n := range in.state.Nodes {
		if i == 0 || in.engine.peers {
			all = append(all, n.Address)
		}
	}
	return all
}

// Serves reports whether each address, a host or host:port, is that of a running node of
// the instance. Without addresses it reports whether the instance runs at the engine's
// usual port.
func (in *Instance) Serves(contact []string) bool {
	running := in.running(true)
	if len(contact) == 0 {
		return in.Usual() && len(running) > 0
	}
	return !slices.ContainsFunc(contact, func(address string) bool {
		return !slices.ContainsFunc(running, func(n *Node) bool {
			host, _, _ := net.SplitHostPort(n.Address)
			return n.Address == address || in.Usual() && host == address
		})
	})
}

// Dir returns the instance's folder.
func (in *Instance) Dir() string { return in.dir }

// String describes the instance and says where clients find it.
func (in *Instance) String() string {
	size := words.Plural(in.state.Config.Nodes, in.engine.Unit)
	if in.state.Config.Nodes == 0 {
		size = "1 process"
	}
	return fmt.Sprintf("%s %s, %s, %s on %s", in.engine.Name, in.state.Version, size, in.engine.protocol,
		strings.Join(in.Contact(), ", "))
}

// Usual reports whether the instance uses the engine's default address.
func (in *Instance) Usual() bool { return in.state.Port == in.engine.Port }

// Shell returns the command that starts the engine's own client; "" if it has none.
func (in *Instance) Shell() string {
	if in.engine.shell == "" {
		return ""
	}
	return in.engine.shell + " " + strings.Replace(in.Contact()[0], ":", " ", 1)
}

// Nodes returns the instance's nodes, running or not.
func (in *Instance) Nodes() []Node { return slices.Clone(in.state.Nodes) }

// node reads the state file again, since another process may have changed it, and
// returns one node.
func (in *Instance) node(name string) (*Node, error) {
	if err := in.reload(); err != nil {
		return nil, err
	}
	var known []string
	for i := range in.state.Nodes {
		if in.state.Nodes[i].Name == name {
			return &in.state.Nodes[i], nil
		}
		known = append(known, in.state.Nodes[i].Name)
	}
	return nil, usagef("%s has no node %q; expected one of %s", in.engine.Name, name, strings.Join(known, ", "))
}

// Down stops the instance's processes and no others. The next Up serves the same
// data, unless purge is set. That removes all that launch and the engine created in the
// folder, and the folder too if nothing else is in it.
func (in *Instance) Down(ctx context.Context, purge bool) error {
	unlock, err := lock(ctx, in.dir, "works on "+in.dir, in.progress)
	if err != nil {
		return err
	}
	defer unlock()
	if err := in.reload(); err != nil {
		return err
	}
	running := in.running(true)
	if !purge {
		// Region servers stop first, then the master, then ZooKeeper. A node that does not end by itself is killed.
		for _, n := range slices.Backward(running) {
			if end(ctx, syscall.SIGTERM, in.engine.patience, n) == nil {
				continue
			}
			if err := kill(ctx, n); err != nil {
				return err
			}
		}
		return nil
	}
	if err := kill(ctx, running...); err != nil { // nothing is worth flushing
		return err
	}
	names := []string{sharedDir, authDir, stateName, lockName}
	for _, n := range in.state.Nodes {
		names = append([]string{n.Name}, names...)
	}
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(in.dir, name)); err != nil {
			return fmt.Errorf("remove the data: %w", err)
		}
	}
	if err := os.Remove(in.dir); err != nil && !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// kill ends nodes at once.
func kill(ctx context.Context, nodes ...*Node) error {
	return end(ctx, os.Kill, 10*time.Second, nodes...)
}

// end sends nodes a signal, and waits until their processes have ended.
func end(ctx context.Context, sig os.Signal, most time.Duration, nodes ...*Node) error {
	for _, n := range nodes {
		if err := n.signal(sig); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for _, n := range nodes {
		for n.Running() {
			select {
			case <-ctx.Done():
				return fmt.Errorf("process %d of %s does not end", n.Process.PID, n.Name)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}

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
	text, err := tailOf(f, n.logFrom, 5)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(text)
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
	var rest io.Reader = f
	if last > 0 {
		text, err := tailOf(f, 0, last)
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		rest = strings.NewReader(text)
	}
	for ; ; rest = f {
		if _, err := io.Copy(w, rest); err != nil || !follow {
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
	all := slices.Collect(strings.Lines(text))
	return strings.Join(all[max(0, len(all)-lines):], "")
}

// tailOf returns the last lines of a file, of those from a place on, and leaves the file at its end. It reads no more
// than a few times what these lines have.
func tailOf(f io.ReadSeeker, from int64, lines int) (string, error) {
	end, err := f.Seek(0, io.SeekEnd)
	for size := int64(16 << 10); err == nil; size *= 2 {
		begin := max(min(from, end), end-size)
		text := make([]byte, end-begin)
		if _, err = f.Seek(begin, io.SeekStart); err == nil {
			_, err = io.ReadFull(f, text)
		}
		if err == nil && (begin <= from || bytes.Count(text, []byte("\n")) > lines) {
			return tail(string(text), lines), nil
		}
	}
	return "", err
}

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
