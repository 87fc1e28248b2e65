package cmd

import (
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
