package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/workloads/scratch"
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
	close     func() error // unlocks the folder, or removes it if it is temporary
	list      []string     // folders of the data sets that it must hold, sorted
	there     []string     // what it held when it was opened
}

const (
	markFile = "mailbench-data"
	lockFile = "lock"
	listFile = "datasets"
)

// openDataDir makes and locks a data folder; an empty path makes a temporary one.
func openDataDir(path string) (*dataDir, error) {
	if path == "" {
		tmp, err := scratch.Temporary()
		if err != nil {
			return nil, err
		}
		return &dataDir{path: tmp.Path(), temporary: true, close: tmp.Remove}, nil
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
	d := &dataDir{path: path, close: unlock}
	if err := d.readList(); err != nil {
		return nil, errors.Join(err, unlock())
	}
	return d, nil
}

// marked reports whether a run has claimed a folder for its data.
func marked(path string) bool {
	info, err := os.Lstat(filepath.Join(path, markFile))
	return err == nil && info.Mode().IsRegular()
}

// mark claims a folder that is empty and accepts one that was claimed before.
func mark(path string) error {
	if marked(path) {
		return nil
	}
	files, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	for _, f := range files {
		// Another run that began at the same moment may have made these.
		if f.Name() != markFile && f.Name() != lockFile {
			return fmt.Errorf("data folder %s contains %s and was %w; name an empty or new folder",
				path, f.Name(), drivers.ErrForeign)
		}
	}
	const text = "Data of mailbench runs. Remove the folder when it is no longer needed.\n"
	f, err := private.OpenFile(filepath.Join(path, markFile), os.O_WRONLY|os.O_CREATE)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("mark data folder: %w", err)
	}
	return nil
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

// In the name of a data set's folder, the text before the number of its point and its trial.
const (
	pointSuffix = "-point"
	trialSuffix = "-trial"
)

// readList reads which data sets the folder must hold, and which are there. A new folder has no list.
func (d *dataDir) readList() error {
	b, err := private.ReadFile(filepath.Join(d.path, listFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	entries, rerr := os.ReadDir(d.path)
	if err = cmp.Or(err, rerr); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	for _, e := range entries {
		d.there = append(d.there, e.Name())
	}
	d.list = strings.FieldsFunc(string(b), func(c rune) bool { return c == '\n' })
	slices.Sort(d.list) // holds searches in it
	return nil
}

// hold enters a folder that has a data set into the list.
func (d *dataDir) hold(dir string) error {
	if d.temporary || d.holds(dir) {
		return nil
	}
	list := append(slices.Clone(d.list), filepath.Base(dir))
	slices.Sort(list)
	if err := private.WriteFile(filepath.Join(d.path, listFile), []byte(strings.Join(list, "\n")+"\n")); err != nil {
		return fmt.Errorf("list the data sets: %w", err)
	}
	d.list = list
	return nil
}

// holds reports whether the list has a folder.
func (d *dataDir) holds(dir string) bool {
	_, found := slices.BinarySearch(d.list, filepath.Base(dir))
	return found
}

// numbered are the numbers of the points or trials that the folder holds or must hold, and the known ones: a list may
// have any, so nothing counts up to them.
func (d *dataDir) numbered(suffix string, known []int) []int {
	number := regexp.MustCompile(suffix + `([1-9]\d{0,5})(-|$)`)
	all := slices.Clone(known)
	for _, name := range slices.Concat(d.list, d.there) {
		if m := number.FindStringSubmatch(name); m != nil {
			n, _ := strconv.Atoi(m[1])
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// contact is the addresses of a remote engine's nodes, or nil for its default.
func (c *Config) contact(engine string) []string {
	if e := c.Workload.Engines[engine]; e != nil {
		return e.Contact
	}
	return nil
}
