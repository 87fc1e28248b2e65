package plainfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(path("plain"), []byte("text"), 0o600), os.Symlink("plain", path("link")),
		os.Symlink(os.DevNull, path("device"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		path("plain"): nil, path("link"): nil, path("device"): ErrNotPlain, os.DevNull: ErrNotPlain, dir: syscall.EISDIR,
		path("absent"): fs.ErrNotExist,
	} {
		b, err := Read(name, 4)
		if !errors.Is(err, want) || want == nil && string(b) != "text" {
			t.Errorf("%s: %q, %v, want %v", name, b, err, want)
		}
	}
	if _, err := Read(path("plain"), 3); !errors.Is(err, ErrNotPlain) || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a file that is too large: %v", err)
	}
	if _, err := OpenIn(dir, "link"); !errors.Is(err, ErrNotPlain) || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("a link in a folder of others: %v", err)
	}
	if f, err := OpenIn(dir, "plain"); err != nil || f.Close() != nil {
		t.Errorf("a file in a folder of others: %v", err)
	}
}
