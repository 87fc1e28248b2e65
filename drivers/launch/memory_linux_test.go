package launch

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// TestCgroupMemory: the tightest of a process's control groups counts, without the files
// that it has cached.
func TestCgroupMemory(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"memory.max":                             "max\n",
		"box/memory.max":                         "3000\n",
		"box/memory.current":                     "2500\n",
		"box/memory.stat":                        "anon 1500\ninactive_file 1000\nactive_file 5\n",
		"box/inner/memory.max":                   "9000\n",
		"box/inner/memory.current":               "100\n",
		"box/full/memory.max":                    "10\n",
		"box/full/memory.current":                "12\n",
		"memory/old/memory.limit_in_bytes":       "700\n",
		"memory/old/memory.usage_in_bytes":       "300\n",
		"memory/old/memory.stat":                 "inactive_file 1\ntotal_inactive_file 50\n",
		"memory/free/memory.limit_in_bytes":      "9223372036854771712\n",
		"memory/free/memory.usage_in_bytes":      "5\n",
		"memory/elsewhere/memory.usage_in_bytes": "5\n",
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	for cgroups, want := range map[string]int64{
		"0::/box/inner\n": 1500,
		"0::/box\n":       1500,
		"0::/box/full\n":  0,
		"0::/\n":          math.MaxInt64,
		"0::/not/there\n": math.MaxInt64,
		"":                math.MaxInt64,
		"7:memory:/old\n3:cpu,cpuacct:/old\n0::/\n": 450,
		"7:memory:/free\n":                          9223372036854771712 - 5,
		"7:memory:/elsewhere\n":                     math.MaxInt64,
	} {
		if got := cgroupMemory(cgroups, root); got != want {
			t.Errorf("%q: %d bytes left, want %d", cgroups, got, want)
		}
	}
}
