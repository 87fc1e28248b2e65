package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/schemas/words"
)

// Files of an instance's folder, next to one folder for each node.
const (
	stateName = "mailbench-engine.json" // also the mark that the folder is mailbench's
	lockName  = "lock"
	sharedDir = "shared" // files that HBase's processes share
	authDir   = "auth"   // passwords and certificates
)

// ErrAbsent is the error for a folder that holds no instance.
var ErrAbsent = errors.New("engine was not started")

// state is what the state file holds: the configuration with its defaults, and the nodes.
type state struct {
	Config
	Version string `json:"version"`
	Nodes   []Node `json:"nodes"`
}

// Node is one process of an instance.
type Node struct {
	Name string `json:"name"` // node1; hbase; zookeeper, master, regionserver1
	// Address is what clients connect to, host:port.
	Address string   `json:"address"`
	Listens []string `json:"listens"` // all addresses that it listens on
	Process Process  `json:"process"` // the last one that was started

	logFrom int64 // length in bytes of the log when this process started the node, else 0
}

// Process identifies a process, even if its id is used again.
type Process struct {
	PID     int       `json:"pid"`
	Start   string    `json:"start"` // start time: Linux: boot id and clock ticks since boot; macOS: seconds since 1970
	Started time.Time `json:"started"`
}

// reload reads the folder's state file. It returns ErrAbsent if there is none. The nodes of an instance follow from its
// size and its port: only their processes are taken from the file, because names become folders that launch removes.
func (in *Instance) reload() error {
	err := private.Check(in.dir)
	var data []byte
	if err == nil {
		data, err = private.ReadFile(filepath.Join(in.dir, stateName))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: no %s in %s", ErrAbsent, in.Engine(), in.dir)
	} else if err != nil {
		return err
	}
	damaged := func(err error) error {
		return fmt.Errorf("%s is damaged (%w): end the engine's processes by hand and remove %s",
			filepath.Join(in.dir, stateName), err, in.dir)
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return damaged(err)
	}
	e := in.engine
	if s.Engine != e.Name {
		return fmt.Errorf("%s contains %s, not %s", in.dir, s.Engine, e.Name)
	}
	if err := s.Check(); err != nil {
		return damaged(err)
	}
	if s.Config.Nodes < e.MinNodes || s.Port <= 0 || s.HeapBytes <= 0 {
		return damaged(fmt.Errorf("expected at least %s, a port and a heap; found %d, port %d, heap %d",
			words.Plural(e.MinNodes, e.Unit), s.Config.Nodes, s.Port, s.HeapBytes))
	}
	nodes := e.layOut(s.Port, s.Config.Nodes)
	if len(s.Nodes) != len(nodes) {
		return damaged(fmt.Errorf("it has %d nodes, expected %d", len(s.Nodes), len(nodes)))
	}
	for i := range nodes {
		if found := s.Nodes[i].Name; found != nodes[i].Name {
			return damaged(fmt.Errorf("it has a node %q, expected %q", found, nodes[i].Name))
		}
		nodes[i].Process = s.Nodes[i].Process
	}
	s.Nodes = nodes
	in.state = &s
	return nil
}

// save writes the state file whole or not at all.
func (s *state) save(dir string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := private.WriteFile(filepath.Join(dir, stateName), append(data, '\n')); err != nil {
		return fmt.Errorf("save the state of the instance: %w", err)
	}
	return nil
}

// lock takes the lock of a folder, and creates the folder if it is absent. It waits
// while another process has the lock, and says what that one does. The lock ends with its process.
func lock(ctx context.Context, dir, other string, progress func(string)) (unlock func() error, err error) {
	for waited := false; ; waited = true {
		if err := private.Make(dir); err != nil {
			return nil, err
		}
		unlock, err := private.Lock(filepath.Join(dir, lockName))
		switch {
		case err == nil:
			return unlock, nil
		case !errors.Is(err, private.ErrLocked):
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		case !waited:
			progress("waiting for another mailbench that " + other)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
