package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/reports/scratch"
)

// A data folder and all in it are their user's only (package private). It holds one
// folder for each model and engine:
//
//	DIR/mailbench-data              the mark: mailbench may write here
//	DIR/lock                        held while a run uses the folder
//	DIR/datasets                    the folders below, a line each: an audit misses one that is gone
//	DIR/james-embedded/dataset.json what was loaded, and where on a shared engine
//	DIR/james-embedded/ledger       what was acknowledged
//	DIR/james-embedded/store/       the embedded engine's files
//	DIR/james-embedded-point2/      the same at a point of a sweep that has a data set of its own
type dataDir struct {
	path      string
	temporary bool
	unlock    func() error
	scratch   *scratch.Folder // the claim on a temporary folder; else nil
	list      []string        // folders of the data sets that it must hold, sorted
}

// TemporaryPattern matches the names of temporary data folders.
const TemporaryPattern = "mailbench-*"

const (
	markFile = "mailbench-data"
	lockFile = "lock"
	listFile = "datasets"
)

// openDataDir makes and locks a data folder; an empty path makes a temporary one.
func openDataDir(path string) (*dataDir, error) {
	if path == "" {
		tmp, err := os.MkdirTemp("", TemporaryPattern)
		if err != nil {
			return nil, fmt.Errorf("make a temporary data folder (TMPDIR says where): %w", err)
		}
		claimed, err := scratch.Claim(tmp)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("make a temporary data folder: %w", err), os.Remove(tmp))
		}
		return &dataDir{path: tmp, temporary: true, scratch: claimed}, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := private.Make(path); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	if err := mark(path); err != nil {
		return nil, err
	}
	if err := private.Restrict(path); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	unlock, err := private.Lock(filepath.Join(path, lockFile))
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w; wait for the other run, or name another folder", path, err)
	}
	d := &dataDir{path: path, unlock: unlock}
	if err := d.readList(); err != nil {
		return nil, errors.Join(err, unlock())
	}
	return d, nil
}

// mark claims a folder that is empty and accepts one that was claimed before.
func mark(path string) error {
	name := filepath.Join(path, markFile)
	if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() {
		return nil
	}
	files, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	for _, f := range files {
		// Another run that began at the same moment may have made these.
		if f.Name() != markFile && f.Name() != lockFile {
			return fmt.Errorf("data folder %s holds %s and was %w; name an empty or new folder",
				path, f.Name(), drivers.ErrForeign)
		}
	}
	const text = "Data of mailbench runs. Remove the whole folder when it is no longer needed.\n"
	f, err := private.OpenFile(name, os.O_WRONLY|os.O_CREATE)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("mark data folder: %w", err)
	}
	return nil
}

// close unlocks the folder, or removes it if it is temporary.
func (d *dataDir) close() error {
	if d.temporary {
		return d.scratch.Remove()
	}
	return d.unlock()
}

// dir is the folder of one model on one engine; trials after the first
// have their own, and so has each point of a sweep, from 1.
func (d *dataDir) dir(model, engine string, trial, point int) string {
	name := model + "-" + engine
	if point > 0 {
		name += fmt.Sprintf(pointSuffix+"%d", point)
	}
	if trial > 1 {
		name += fmt.Sprintf(trialSuffix+"%d", trial)
	}
	return filepath.Join(d.path, name)
}
