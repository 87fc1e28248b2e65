package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
)

// A data folder holds one folder for each model and engine:
//
//	DIR/mailbench-data              the mark: mailbench may write here
//	DIR/lock                        held while a run uses the folder
//	DIR/james-embedded/dataset.json what was loaded
//	DIR/james-embedded/ledger       what was acknowledged
//	DIR/james-embedded/store/       the engine's files
type dataDir struct {
	path      string
	temporary bool
	unlock    func() error
}

const (
	markFile    = "mailbench-data"
	lockFile    = "lock"
	datasetFile = "dataset.json"
	ledgerFile  = "ledger"
	storeFolder = "store"
)

// openDataDir makes and locks a data folder; an empty path makes a temporary one.
func openDataDir(path string) (*dataDir, error) {
	if path == "" {
		tmp, err := os.MkdirTemp("", "mailbench-")
		if err != nil {
			return nil, fmt.Errorf("make a temporary data folder (TMPDIR says where): %w", err)
		}
		return &dataDir{path: tmp, temporary: true, unlock: func() error { return nil }}, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	if err := mark(path); err != nil {
		return nil, err
	}
	unlock, err := lock(filepath.Join(path, lockFile))
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w; wait for the other run, or name another folder", path, err)
	}
	return &dataDir{path: path, unlock: unlock}, nil
}

// mark claims a folder that is empty and accepts one that was claimed before.
func mark(path string) error {
	name := filepath.Join(path, markFile)
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	files, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	for _, f := range files {
		// Another run that began at the same moment may have made these.
		if f.Name() != markFile && f.Name() != lockFile {
			return fmt.Errorf("data folder %s holds %s and was %w; name an empty or new folder", path, f.Name(), drivers.ErrForeign)
		}
	}
	if err := os.WriteFile(name, []byte("Data of mailbench runs. Remove the whole folder when it is no longer needed.\n"), 0o644); err != nil {
		return fmt.Errorf("mark data folder: %w", err)
	}
	return nil
}

// close unlocks the folder, or removes it if it is temporary.
func (d *dataDir) close() error {
	if d.temporary {
		return os.RemoveAll(d.path)
	}
	return d.unlock()
}

// cellDir is the folder of one model on one engine; trials after the first
// have their own.
func (d *dataDir) cellDir(model, engine string, trial int) string {
	name := model + "-" + engine
	if trial > 1 {
		name += fmt.Sprintf("-trial%d", trial)
	}
	return filepath.Join(d.path, name)
}

// dataset says what a store was loaded with. It is written before the load
// begins and again when it is complete.
type dataset struct {
	Model    string    `json:"model"`
	Engine   string    `json:"engine"`
	Workload string    `json:"workload"` // its name, for messages
	Mail     string    `json:"mail"`     // digest of what mail and population come from
	Schema   string    `json:"schema"`   // digest of the schema's source
	Seed     uint64    `json:"seed"`
	Began    time.Time `json:"began"`
	Complete bool      `json:"complete"`
	Promise  promise   `json:"promise"`
}

// readDataset returns nil if the folder holds none.
func readDataset(dir string) (*dataset, error) {
	b, err := os.ReadFile(filepath.Join(dir, datasetFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	d := new(dataset)
	if err == nil {
		err = json.Unmarshal(b, d)
	}
	if err != nil {
		return nil, fmt.Errorf("read data set in %s: %w", dir, err)
	}
	return d, nil
}

// write replaces the file whole.
func (d *dataset) write(dir string) error {
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return fmt.Errorf("write data set: %w", err)
	}
	name := filepath.Join(dir, datasetFile)
	if err := os.WriteFile(name+".new", append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write data set: %w", err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		return fmt.Errorf("write data set: %w", err)
	}
	return nil
}

// fits says why a data set cannot be used in place of the one wanted.
func (d *dataset) fits(want *dataset, dir string) error {
	var differ []string
	if d.Mail != want.Mail {
		differ = append(differ, fmt.Sprintf("the workload's mail or population (it was loaded by %q)", d.Workload))
	}
	if d.Schema != want.Schema {
		differ = append(differ, "the schema of "+d.Model)
	}
	if d.Seed != want.Seed {
		differ = append(differ, fmt.Sprintf("the seed (it was %d, now %d)", d.Seed, want.Seed))
	}
	switch {
	case len(differ) > 0:
		return fmt.Errorf("the data set in %s cannot be used again: %s differ; remove that folder or name another", dir, strings.Join(differ, " and "))
	case !d.Complete:
		return fmt.Errorf("the data set in %s was not loaded to the end; remove that folder, or audit it with --audit=only", dir)
	}
	return nil
}
