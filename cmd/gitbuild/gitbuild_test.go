package gitbuild

import (
	"debug/buildinfo"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuild builds a program in a subfolder of a shallow clone, from its only commit and from
// the working tree. Both know the commit.
func TestBuild(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	first := t.TempDir()
	git := func(dir string, args ...string) {
		t.Helper()
		args = append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	write := func(file, text string) {
		t.Helper()
		if err := write(file, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(first, "own", "go.mod"), "module example.com/own\n\ngo 1.24\n")
	write(filepath.Join(first, "own", "main.go"), "package main\n\nfunc main() {}\n")
	git(first, "init", "-q")
	git(first, "add", ".")
	git(first, "commit", "-q", "-m", "one")
	git(first, "commit", "-q", "-m", "two", "--allow-empty")
	clone := filepath.Join(t.TempDir(), "clone")
	git(first, "clone", "-q", "--depth", "1", "file://"+first, clone)
	write(filepath.Join(clone, "own", "new.go"), "package main\n")
	t.Setenv("GOWORK", "off")
	s, err := Find(t.Context(), filepath.Join(clone, "own"))
	if err != nil {
		t.Fatal(err)
	}
	head, err := s.Commit(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	for changed, commit := range map[string]string{"false": head, "true": ""} {
		file := filepath.Join(t.TempDir(), "program")
		if err := s.Build(t.Context(), commit, "", file); err != nil {
			t.Errorf("commit %q: %v", commit, err)
			continue
		}
		info, err := buildinfo.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		told := map[string]string{}
		for _, s := range info.Settings {
			told[s.Key] = s.Value
		}
		if told["vcs.revision"] != head || told["vcs.modified"] != changed || told["-trimpath"] != "true" {
			t.Errorf("commit %q: the program says %v, want commit %s, modified %s, and -trimpath", commit, told, head, changed)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(clone, ".git", "worktrees", "*")); len(left) > 0 {
		t.Errorf("left in the repository: %q", left)
	}
}

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
