package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads/scratch"
)

// A data folder and all in it are their user's only (package private). It holds one
// folder for each model and engine:
//
//	DIR/mailbench-data              the mark: mailbench may write here
//	DIR/lock                        held while a run uses the folder
//	DIR/james-embedded/dataset.json what was loaded, and where on a shared engine
//	DIR/james-embedded/ledger       what was acknowledged
//	DIR/james-embedded/store/       the embedded engine's files
//	DIR/james-embedded-point2/      the same at a point of a sweep
type dataDir struct {
	path      string
	temporary bool
	close     func() error // unlocks the folder, or removes it if it is temporary
}

const (
	markFile = "mailbench-data"
	lockFile = "lock"
)

// openDataDir makes and locks a data folder; an empty path makes a temporary one.
func openDataDir(path string) (*dataDir, error) {
	if path == "" {
		tmp, err := scratch.Temporary()
		if err != nil {
			return nil, err
		}
		return &dataDir{path: tmp.Path, temporary: true, close: tmp.Remove}, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := private.Make(path); err != nil {
		if errors.As(err, new(*os.PathError)) {
			err = fmt.Errorf("%w; name a folder that you may write with --data DIR", err)
		}
		return nil, fmt.Errorf("create data folder: %w", err)
	}
	files, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	for _, f := range files {
		// Another run that began at the same moment, or was killed in it, may have made these.
		made := f.Name() == lockFile || strings.HasPrefix(f.Name(), markFile)
		if !made && !marked(path) {
			return nil, fmt.Errorf("data folder %s contains %s and was %w; name an empty or new folder",
				path, f.Name(), drivers.ErrForeign)
		}
	}
	if err := private.Restrict(path); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	unlock, err := private.Lock(filepath.Join(path, lockFile))
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w; wait for the other run, or name another folder", path, err)
	}
	if !marked(path) {
		const text = "Data of mailbench runs. Remove the folder when it is no longer needed.\n"
		if err := private.WriteFile(filepath.Join(path, markFile), []byte(text)); err != nil {
			return nil, errors.Join(fmt.Errorf("mark data folder: %w", err), unlock())
		}
	}
	return &dataDir{path: path, close: unlock}, nil
}

// marked reports whether a run has claimed a folder for its data.
func marked(path string) bool {
	info, err := os.Lstat(filepath.Join(path, markFile))
	return err == nil && info.Mode().IsRegular()
}

// dir is the folder of a data set; trials after the first have their own, and so has each point of a sweep, from 1.
func (d *dataDir) dir(m models.Model, e drivers.Engine, point, trial int) string {
	name := m.Name + "-" + e.Name
	if point > 0 {
		name += fmt.Sprintf("-point%d", point)
	}
	if trial > 1 {
		name += fmt.Sprintf("-trial%d", trial)
	}
	return filepath.Join(d.path, name)
}

// contact is the addresses of a remote engine's nodes, or nil for its default.
func (c *Config) contact(engine string) []string {
	if e := c.Workload.Engines[engine]; e != nil {
		return e.Contact
	}
	return nil
}
