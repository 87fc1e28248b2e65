//go:build unix

package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// abandon makes a folder as a process leaves it that is killed: marked, not locked.
func abandon(t *testing.T, path string) {
	t.Helper()
	f := claim(t, path)
	if err := os.WriteFile(filepath.Join(path, "data"), make([]byte, 1000), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func claim(t *testing.T, path string) *Folder {
	t.Helper()
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := Claim(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFind: of all folders only one is offered for removal and removed.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	abandon(t, at("a-left"))
	abandon(t, at("b-left")) // has another name than is looked for
	live := claim(t, at("a-live"))
	kept := claim(t, at("a-kept"))
	if err := errors.Join(kept.Keep(), kept.Close(), os.Mkdir(at("a-foreign"), 0o755)); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	abandon(t, elsewhere)
	if err := os.Symlink(elsewhere, at("a-link")); err != nil {
		t.Fatal(err)
	}
	found, err := Find(dir, "a-*")
	if err != nil || len(found) != 1 || found[0].Path != at("a-left") {
		t.Fatalf("found %+v, %v", found, err)
	}
	if l := found[0]; l.Bytes < 1000 || l.Bytes > 2000 || time.Since(l.Since) > time.Minute {
		t.Errorf("found %+v, want 1,000 bytes and the mark, made now", l)
	}
	if !Abandoned(at("a-left")) || Abandoned(at("a-live")) || Abandoned(at("a-none")) {
		t.Error("Abandoned does not agree with Find")
	}
	for name, want := range map[string]string{
		"a-live": "in use by another process", "a-kept": "not left by", "a-foreign": "not left by", "a-link": "not left by", "a-none": "not left by",
	} {
		if err := Remove(at(name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("remove %s: %v, want %s", name, err, want)
		}
	}
	if err := Remove(at("a-left")); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 5 {
		t.Errorf("%v are there, %v; want all but a-left", entries, err)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "data")); err != nil {
		t.Errorf("what a link points to: %v", err)
	}
	if err := live.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(at("a-live")); !os.IsNotExist(err) {
		t.Errorf("a folder that its own process removed: %v", err)
	}
	if found, err := Find(at("nowhere"), "*"); err != nil || len(found) > 0 {
		t.Errorf("in a folder that is not there: %v, %v", found, err)
	}
}

// TestOthersAreLeft: in a folder for all users, what another user made to look like a left
// folder is not listed, and a pipe blocks nothing.
func TestOthersAreLeft(t *testing.T) {
	dir := t.TempDir()
	theirs := filepath.Join(dir, "a-theirs")
	if err := errors.Join(os.Mkdir(theirs, 0o755), os.WriteFile(filepath.Join(theirs, Mark), nil, 0o644),
		syscall.Mkfifo(filepath.Join(dir, "a-pipe"), 0o666)); err != nil {
		t.Fatal(err)
	}
	if found, err := Find(dir, "a-*"); len(found) != 1 || err != nil {
		t.Fatalf("found %v, %v; want the one with the mark", found, err)
	}
	if err := os.Chown(theirs, 12345, -1); err != nil {
		t.Skipf("only root can give a folder to another user: %v", err)
	}
	if found, err := Find(dir, "a-*"); len(found) != 0 || err != nil {
		t.Errorf("found %v, %v; want nothing of another user", found, err)
	}
	if err := Remove(theirs); !errors.Is(err, errForeign) {
		t.Errorf("removing it: %v", err)
	}
}
