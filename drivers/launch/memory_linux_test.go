package launch

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// TestContainerMemory: the limit of a container counts, without the files that it has cached.
func TestContainerMemory(t *testing.T) {
	for _, c := range []struct {
		limit, used, stat string
		want              int64
	}{
		{"3000\n", "2500\n", "anon 1500\ninactive_file 1000\nactive_file 5\n", 1500},
		{"3000\n", "2500\n", "", 500},
		{"10\n", "12\n", "", 0},
		{"max\n", "12\n", "", math.MaxInt64},
		{"", "", "", math.MaxInt64},
	} {
		group := t.TempDir()
		for name, text := range map[string]string{"memory.max": c.limit, "memory.current": c.used, "memory.stat": c.stat} {
			if text != "" {
				must(t, os.WriteFile(filepath.Join(group, name), []byte(text), 0o644))
			}
		}
		if got := containerMemory(group); got != c.want {
			t.Errorf("%+v: %d bytes left", c, got)
		}
	}
}
