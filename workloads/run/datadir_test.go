package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

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

func TestForeignFolderIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o644); err != nil {
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

func TestDatasetFits(t *testing.T) {
	loaded := dataset{Model: "james", Workload: "quick", Mail: "a", Schema: "b", Seed: 1, Complete: true}
	for _, c := range []struct {
		name   string
		change func(have, want *dataset)
		differ string
	}{
		{"same", func(_, _ *dataset) {}, ""},
		{"another rate or name", func(_, want *dataset) { want.Workload = "quick2" }, ""},
		{"mail", func(_, want *dataset) { want.Mail = "x" }, "mail or population"},
		{"schema", func(_, want *dataset) { want.Schema = "x" }, "schema of james"},
		{"seed", func(_, want *dataset) { want.Seed = 2 }, "seed (it was 1, now 2)"},
		{"broken off", func(have, _ *dataset) { have.Complete = false }, "not loaded to the end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			have, want := loaded, loaded
			c.change(&have, &want)
			if err := have.write(dir); err != nil {
				t.Fatal(err)
			}
			read, err := readDataset(dir)
			if err != nil {
				t.Fatal(err)
			}
			err = read.fits(&want, dir)
			if c.differ == "" && err != nil || c.differ != "" && (err == nil || !strings.Contains(err.Error(), c.differ)) {
				t.Errorf("err = %v, want %q", err, c.differ)
			}
		})
	}
	if d, err := readDataset(t.TempDir()); d != nil || err != nil {
		t.Errorf("of an empty folder: %v, %v", d, err)
	}
}
