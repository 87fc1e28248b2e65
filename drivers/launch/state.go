package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Files of an instance's folder, beside one folder for each node.
const (
	stateName = "mailbench-engine.json" // also the mark that the folder is mailbench's
	lockName  = "lock"
	sharedDir = "shared" // what HBase's processes share
	authDir   = "auth"   // passwords and certificates
)

// ErrAbsent is the error for a folder that holds no instance.
var ErrAbsent = errors.New("was not started")

// state is what the state file holds.
type state struct {
	Engine    string `json:"engine"`
	Version   string `json:"version"`
	Port      int    `json:"port"`
	HeapBytes int64  `json:"heap_bytes"`
	Count     int    `json:"count"` // Config.Nodes
	Auth      bool   `json:"auth,omitempty"`
	Nodes     []Node `json:"nodes"`
}

// Node is one process of an instance.
type Node struct {
	Name string `json:"name"` // node1; hbase; zookeeper, master, regionserver1
	// Address is what clients connect to, host:port.
	Address string   `json:"address"`
	Listens []string `json:"listens"` // all that it listens on
	Process Process  `json:"process"` // the last one that was started

	logFrom int64 // where its log begins, if this process has started it
}

// Process identifies a process, even if its id is used again.
type Process struct {
	PID     int       `json:"pid"`
	Start   string    `json:"start"` // when: on Linux boot of the machine and clock ticks since it, on macOS the time
	Started time.Time `json:"started"`
}

// load reads the folder's state file. It returns ErrAbsent if there is none.
func load(dir string) (*state, error) {
	path := filepath.Join(dir, stateName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrAbsent
	}
	if err != nil {
		return nil, err
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w): end the engine's processes by hand and remove %s", path, err, dir)
	}
	return &s, nil
}

// save writes the state file whole or not at all.
func (s *state) save(dir string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, stateName)
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("save what was started: %w", err)
	}
	return os.Rename(path+".new", path)
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
			return fmt.Errorf("%s holds files that are not mailbench's, %s among them; name an empty folder", dir, e.Name())
		}
	}
	return nil
}
