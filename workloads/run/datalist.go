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

// points are the numbers of points in the list, and trials the numbers of its trials and of the known ones:
// a list may have any, so nothing counts up to them.
func (d *dataDir) points() []int            { return d.numbered(pointSuffix, nil) }
func (d *dataDir) trials(known []int) []int { return d.numbered(trialSuffix, known) }

func (d *dataDir) numbered(suffix string, known []int) []int {
	number := regexp.MustCompile(suffix + `([1-9]\d{0,5})(-|$)`)
	all := slices.Clone(known)
	for _, name := range d.list {
		if m := number.FindStringSubmatch(name); m != nil {
			n, _ := strconv.Atoi(m[1])
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
