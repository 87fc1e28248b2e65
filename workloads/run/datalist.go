package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/workloads/subject"
)

// In the name of a data set's folder, what stands before the number of its point and its trial.
const (
	pointSuffix = "-point"
	trialSuffix = "-trial"
)

// readList reads which data sets the folder must hold. A folder of before 2026-11-23 has no list.
func (d *dataDir) readList() error {
	b, err := private.ReadFile(filepath.Join(d.path, listFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("data folder: %w", err)
	}
	d.list = strings.FieldsFunc(string(b), func(c rune) bool { return c == '\n' })
	return nil
}

// hold enters a folder that has a data set into the list, and all others that have one.
func (d *dataDir) hold(dir string) error {
	if d.temporary || d.holds(dir) {
		return nil
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	list := slices.Clone(d.list)
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if has, err := subject.ReadDataset(filepath.Join(d.path, e.Name())); has != nil && err == nil {
			list = append(list, e.Name())
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
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
