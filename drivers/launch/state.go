package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// load reads the folder's state file. It returns ErrAbsent if there is none.
func load(dir string) (*state, error) {
	err := private.Check(dir)
	var data []byte
	if err == nil {
		data, err = private.ReadFile(filepath.Join(dir, stateName))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrAbsent
	}
	if err != nil {
		return nil, err
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, damaged(dir, err)
	}
	return &s, nil
}

func damaged(dir string, err error) error {
	return fmt.Errorf("%s is damaged (%w): end the engine's processes by hand and remove %s",
		filepath.Join(dir, stateName), err, dir)
}

// layOut computes the nodes of an instance from its size and its port. It keeps only their
// processes from the state file, because names become folders that launch removes.
func (s *state) layOut(e engine) error {
	if err := s.check(e); err != nil {
		return err
	}
	f := e.facts()
	if s.Config.Nodes < f.MinNodes || s.Port <= 0 || s.HeapBytes <= 0 {
		return fmt.Errorf("expected at least %s, a port and a heap; found %d, port %d, heap %d",
			words.Plural(f.MinNodes, f.Unit), s.Config.Nodes, s.Port, s.HeapBytes)
	}
	nodes := e.nodes(s.Port, s.Config.Nodes)
	if len(s.Nodes) != len(nodes) {
		return fmt.Errorf("it has %d nodes, expected %d", len(s.Nodes), len(nodes))
	}
	for i := range nodes {
		if found := s.Nodes[i].Name; found != nodes[i].Name {
			return fmt.Errorf("it has a node %q, expected %q", found, nodes[i].Name)
		}
		nodes[i].Process = s.Nodes[i].Process
	}
	s.Nodes = nodes
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
// while another process has the lock. The lock ends with its process.
func lock(ctx context.Context, dir string, wait func()) (unlock func() error, err error) {
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
			wait()
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// claim checks that the folder holds nothing but a lock, so that no engine writes
// among somebody else's files.
func claim(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != lockName {
			return fmt.Errorf("%s contains files of other programs, such as %s; name an empty folder", dir, e.Name())
		}
	}
	return nil
}
