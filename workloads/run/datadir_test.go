package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/null"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/james"
	"github.com/mailbench/mailbench/workloads/results"
)

// The null engine keeps no data set: each run on one data folder loads again.
func TestNullEngineTwiceOnOneDataDir(t *testing.T) {
	c := config(t, newFake(), "  - measure: {clients: 1, operations: 5, mix: {list: 1}}\n")
	c.Models, c.Engines = []models.Model{james.Model()}, []drivers.Engine{null.Engine()}
	c.DataDir = filepath.Join(t.TempDir(), "data")
	for range 2 {
		if load := phaseOf(t, runOK(t, c), "load"); load.Verdict == results.Failed || load.Ops["deliver"].Count != 150 {
			t.Errorf("load: %s %s, %d delivered", load.Verdict, why(load), load.Ops["deliver"].Count)
		}
	}
}

func TestTwoRunsOnOneDataDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first, err := openDataDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openDataDir(dir); !errors.Is(err, drivers.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second run: err = %v, want that %s is in use", err, dir)
	}
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	again, err := openDataDir(dir)
	if err != nil {
		t.Fatalf("after the first run: %v", err)
	}
	again.close()
}

// A run that was killed while it claimed the folder has left the new mark under its temporary name.
func TestHalfClaimedFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, markFile+".new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := openDataDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.close(); err != nil || !marked(dir) {
		t.Errorf("the folder is not claimed; close: %v", err)
	}
}

func TestForeignFolderIsNotUsed(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := openDataDir(dir); !errors.Is(err, drivers.ErrForeign) {
		t.Errorf("err = %v, want %v", err, drivers.ErrForeign)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("the folder now holds %v", files)
	}
}

func TestTemporaryDataDirIsRemoved(t *testing.T) {
	d, err := openDataDir("")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(d.path); !os.IsNotExist(err) {
		t.Errorf("%s is still there", d.path)
	}
}
