package pebble

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/schemas"
)

// TestContract runs the contract of all engines, each topic on a new store, and compares its index entries with its rows.
func TestContract(t *testing.T) {
	ctx := context.Background()
	drivertest.Run(t, func(t testing.TB, _ *schemas.Schema) drivers.Store {
		st, err := Engine().Open(ctx, drivers.Options{Dir: t.TempDir(), Durability: drivers.Memory})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if found := faults(t, st.(*Store)); len(found) > 0 {
				t.Errorf("index entries and rows differ: %q", found)
			}
			if err := st.Close(); err != nil {
				t.Errorf("close the store: %v", err)
			}
		})
		return st
	})
}

// TestClosing runs the contract of Close.
func TestClosing(t *testing.T) {
	drivertest.Closing(t, Engine(), drivers.Options{Dir: t.TempDir(), Durability: drivers.Memory})
}

// TestReadOnly runs the contract of stores that are open for reading only. Nothing
// in the folder changes.
func TestReadOnly(t *testing.T) {
	o := drivers.Options{Dir: t.TempDir(), Durability: drivers.Power}
	drivertest.ReadOnly(t, Engine(), o, nil)

	before := filesIn(t, o.Dir)
	o.ReadOnly = true
	for range 2 {
		st, err := Engine().Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if after := filesIn(t, o.Dir); !maps.Equal(before, after) {
		t.Errorf("files before\n%v\nand after\n%v", before, after)
	}
	for what, dir := range map[string]string{"absent": filepath.Join(o.Dir, "absent"), "empty": t.TempDir()} {
		if _, err := Engine().Open(t.Context(), drivers.Options{Dir: dir, ReadOnly: true}); err == nil {
			t.Errorf("a folder that is %s was opened", what)
		}
		if files, err := os.ReadDir(dir); len(files) > 0 || what == "absent" && err == nil {
			t.Errorf("a folder that was %s has %d files", what, len(files))
		}
	}
}

// filesIn returns the content of each file in a folder.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}
