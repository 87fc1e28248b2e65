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
