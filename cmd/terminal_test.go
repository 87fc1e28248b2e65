package cmd

import (
	"io"
	"os"
	"strings"
	"testing"
)

// A table that is too wide has its last column in several lines, and nothing is lost.
func TestColumns(t *testing.T) {
	rows := [][]string{
		{"MODEL", "WHAT IT IS"},
		{"james", "a row a message, newest first; größere Teile apart"},
		{"long", strings.Repeat("x", 30)},
	}
	long := strings.Repeat("x", 30)
	for width, want := range map[int]string{
		100: `MODEL  WHAT IT IS
james  a row a message, newest first; größere Teile apart
long   ` + long + "\n",
		32: `MODEL  WHAT IT IS
james  a row a message, newest
       first; größere Teile
       apart
long   ` + long + "\n",
		26: `MODEL
    WHAT IT IS
james
    a row a message,
    newest first; größere
    Teile apart
long
    ` + long + "\n",
	} {
		if got := columns(rows, width); got != want {
			t.Errorf("in %d columns:\n%swant\n%s", width, got, want)
		}
	}
}

// Text that goes to no terminal is as wide as COLUMNS says, and has no colours.
func TestWidthOfAPipe(t *testing.T) {
	for columns, want := range map[string]int{"": defaultWidth, "60": 60, "160": 160, "wide": defaultWidth, "0": defaultWidth, "-5": defaultWidth} {
		t.Setenv("COLUMNS", columns)
		for name, w := range map[string]io.Writer{"a buffer": new(strings.Builder), "a file": tempFile(t)} {
			if got := width(w); got != want {
				t.Errorf("with COLUMNS=%q %s is %d columns wide, want %d", columns, name, got, want)
			}
			if colour(w) {
				t.Errorf("%s has colours", name)
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
