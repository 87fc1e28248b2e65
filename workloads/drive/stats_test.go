package drive

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// The deviation is that of the textbook, also where workers' sums are put together,
// and 0 where all operations cost the same.
func TestDeviationOfCosts(t *testing.T) {
	var parts [2]opStats
	for i, bytes := range []int64{2, 4, 4, 4, 5, 5, 7, 9} { // 32/7 is their variance
		c := drivers.Cost{Requests: 3, RowsRead: bytes, RowsWritten: 1, BytesRead: bytes - 1, BytesWritten: 1}
		parts[i%2].addCost(&c)
	}
	all := parts[0]
	all.merge(&parts[1])
	sum := all.cost
	for name, got := range map[string]float64{
		"bytes": deviation(8, float64(sum.BytesRead+sum.BytesWritten), all.squares[2]),
		"rows":  deviation(8, float64(sum.RowsRead+sum.RowsWritten), all.squares[1]),
	} {
		if want := math.Sqrt(32.0 / 7); math.Abs(got-want) > 1e-9 {
			t.Errorf("of %s %v, want %v", name, got, want)
		}
	}
	if got := deviation(8, float64(sum.Requests), all.squares[0]); got != 0 {
		t.Errorf("of equal calls %v, want 0", got)
	}
	if got := deviation(1, 5, 25); got != 0 {
		t.Errorf("of one operation %v, want 0", got)
	}
	var q opStats
	for range 1_000_000 { // rounding is no deviation
		q.addCost(&drivers.Cost{BytesRead: 333_333_333})
	}
	if got := deviation(1e6, 333_333_333e6, q.squares[2]); got != 0 {
		t.Errorf("of equal bytes %v, want 0", got)
	}
}

// The quota is the least of the process' cgroup and those above it.
func TestCPUQuota(t *testing.T) {
	root := t.TempDir()
	if q := cpuQuota(root); q != 0 {
		t.Errorf("no cgroup: %g", q)
	}
	for name, text := range map[string]string{
		"proc/self/cgroup":               "1:cpu:/old\n0::/pods/one\n",
		"sys/fs/cgroup/cpu.max":          "max 100000\n",
		"sys/fs/cgroup/pods/cpu.max":     "50000 100000\n",
		"sys/fs/cgroup/pods/one/cpu.max": "150000 100000\n",
	} {
		name = filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if q := cpuQuota(root); q != 0.5 {
		t.Errorf("%g, want 0.5", q)
	}
}
