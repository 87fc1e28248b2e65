package gitbuild

import (
	"strings"
	"testing"
)

// TestTools: without git, or without go, the error says what there is to do. The rest is
// tested by cmd/testdata/script/compare_git.txt.
func TestTools(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Find(t.Context(), "."); err == nil || !strings.Contains(err.Error(), "there is no git on PATH: install it, or build both sides") {
		t.Error(err)
	}
}

func TestFirstLines(t *testing.T) {
	for text, want := range map[string]string{
		"fatal: not a git repository\n":   "not a git repository",
		"# own/cmd\nmain.go:3: undefined": "\n  # own/cmd\n  main.go:3: undefined",
		strings.Repeat("line\n", 13):      strings.Repeat("\n  line", 10) + "\n  and 3 lines more",
	} {
		if got := firstLines(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
