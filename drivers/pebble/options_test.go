package pebble

import (
	"runtime"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// TestCompactions: compactions may take half of the processors, at most four, and results say how
// many may run.
func TestCompactions(t *testing.T) {
	for processors, want := range map[int]int{1: 1, 2: 1, 3: 1, 4: 2, 8: 4, 64: 4} {
		if got := compactions(processors); got != want {
			t.Errorf("%d processors: %d compactions; expected %d", processors, got, want)
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(6))
	st, err := Engine().Open(t.Context(), drivers.Options{Dir: t.TempDir(), Durability: drivers.Memory})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if got := st.(drivers.Observer).Observe().Settings["compactions"]; got != "1 to 3" {
		t.Errorf("settings say %q compactions; expected 1 to 3", got)
	}
	if _, upper := Tuned(0).CompactionConcurrencyRange(); upper != 3 {
		t.Errorf("Pebble may run %d compactions; expected 3", upper)
	}
}
