package screen

import (
	"io"
	"os"
	"strings"
	"testing"
)

// Text that goes to no terminal is as wide as COLUMNS says, and has no colors.
func TestWidthOfAPipe(t *testing.T) {
	for columns, want := range map[string]int{"": defaultWidth, "60": 60, "160": 160, "wide": defaultWidth, "0": defaultWidth, "-5": defaultWidth} {
		t.Setenv("COLUMNS", columns)
		for name, w := range map[string]io.Writer{"a buffer": new(strings.Builder), "a file": tempFile(t)} {
			if got := Width(w); got != want {
				t.Errorf("with COLUMNS=%q %s is %d columns wide, want %d", columns, name, got, want)
			}
			if IsTerminal(w) {
				t.Errorf("%s has colors", name)
			}
		}
	}
}

func tempFile(t *testing.T) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
