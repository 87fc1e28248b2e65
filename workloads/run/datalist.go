package run

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/drivers/private"
)

// In the name of a data set's folder, what stands before the number of its point and its trial.
const (
	pointSuffix = "-point"
	trialSuffix = "-trial"
)

// readList reads which data sets the folder must hold. A new folder has no list.
func (d *dataDir) readList() error {
	b, err := private.ReadFile(filepath.Join(d.path, listFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("data folder: %w", err)
	}
	d.list = strings.FieldsFunc(string(b), func(c rune) bool { return c == '\n' })
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
func (d *dataDir) holds(dir string) bool { return slices.Contains(d.list, filepath.Base(dir)) }

// points is the highest number of a point in the list, and trials that of a trial.
func (d *dataDir) points() int { return d.highest(pointSuffix) }
func (d *dataDir) trials() int { return d.highest(trialSuffix) }

func (d *dataDir) highest(suffix string) (n int) {
	number := regexp.MustCompile(suffix + `(\d{1,6})(-|$)`)
	for _, name := range d.list {
		if m := number.FindStringSubmatch(name); m != nil {
			one, _ := strconv.Atoi(m[1])
			n = max(n, one)
		}
	}
	return n
}
