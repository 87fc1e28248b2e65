//go:build unix

package private

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFolders: only the user can read a folder of Make, whatever the umask is. It refuses folders that
// others own or may write to, with the remedy.
func TestFolders(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	at := t.TempDir()
	folder := func(name string, mode fs.FileMode, files ...string) string {
		path := filepath.Join(at, name)
		must(t, os.Mkdir(path, mode))
		for _, f := range files {
			must(t, os.WriteFile(filepath.Join(path, f), nil, 0o666))
		}
		return path
	}
	link := filepath.Join(at, "link")
	must(t, os.Symlink(folder("target", 0o700), link))
	pipe := filepath.Join(at, "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	for path, want := range map[string]struct {
		mode  fs.FileMode // afterwards
		fault string
	}{
		filepath.Join(at, "new", "below"): {0o700, ""},
		folder("empty", 0o777):            {0o700, ""},
		folder("readable", 0o755, "f"):    {0o755, ""}, // until it is known to be mailbench's
		folder("group", 0o770, "f"):       {0o770, "others may write to " + at + "/group (its mode is 0770) and mailbench does not use it: if all in it is yours, chmod 700 it; or name a new folder"},
		folder("all", 0o707, "f"):         {0o707, "chmod 700 it"},
		link:                              {0o700, "link is a link to " + at + "/target and mailbench does not use it: name the folder itself"},
		pipe:                              {0o600, "pipe"},
	} {
		err := Make(path)
		if said := text(err); !strings.Contains(said, want.fault) || want.fault == "" && err != nil {
			t.Errorf("Make(%s): %q, want %q", path, said, want.fault)
		}
		if got := mode(t, path); got != want.mode {
			t.Errorf("%s has mode %04o, want %04o", path, got, want.mode)
		}
		if check := Check(path); text(check) != text(err) && path != pipe {
			t.Errorf("Check(%s): %q, and Make: %q", path, text(check), text(err))
		}
	}
	if got := mode(t, filepath.Join(at, "new")); got != 0o700 {
		t.Errorf("the folder above has mode %04o", got)
	}
	must(t, Restrict(filepath.Join(at, "readable")))
	if got := mode(t, filepath.Join(at, "readable")); got != 0o700 {
		t.Errorf("Restrict leaves mode %04o", got)
	}
	if err := Check(filepath.Join(at, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Check of what is not there: %v", err)
	}
}

// TestForeignFolder: the mode does not matter, if somebody else can change it.
func TestForeignFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "theirs")
	must(t, os.Mkdir(path, 0o700))
	if err := os.Chown(path, 12345, -1); err != nil {
		t.Skipf("only root can give a folder to another user: %v", err)
	}
	for name, check := range map[string]func(string) error{"Make": Make, "Check": Check, "CheckOwner": CheckOwner} {
		if err := check(path); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "belongs to user 12345, this process runs as user 0") ||
			!strings.Contains(err.Error(), "name a folder of your own") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFiles: files are their user's only, replaced whole, and never reached by a link.
func TestFiles(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	at := t.TempDir()
	victim := filepath.Join(at, "victim")
	must(t, os.WriteFile(victim, []byte("mine"), 0o600))
	dir := filepath.Join(at, "dir")
	must(t, Make(dir))
	name := filepath.Join(dir, "file")
	must(t, os.Symlink(victim, name+".new")) // of somebody who knew the temporary name
	must(t, WriteFile(name, []byte("first")))
	must(t, WriteFile(name, []byte("second")))
	if b, err := ReadFile(name); string(b) != "second" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
	opened := filepath.Join(dir, "opened")
	f, err := OpenFile(opened, os.O_CREATE|os.O_RDWR)
	must(t, err)
	must(t, f.Close())
	for _, made := range []string{name, opened} {
		if got := mode(t, made); got != 0o600 {
			t.Errorf("%s has mode %04o", made, got)
		}
	}
	must(t, PlainFiles(dir))

	pipe := filepath.Join(dir, "pipe")
	must(t, syscall.Mkfifo(pipe, 0o600))
	for _, to := range []string{victim, "../victim", "file", "none"} {
		link := filepath.Join(dir, "link")
		must(t, os.Symlink(to, link))
		for _, name := range []string{link, pipe} {
			_, rerr := ReadFile(name)
			_, oerr := OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC)
			for _, err := range []error{rerr, oerr, WriteFile(name, []byte("theirs")), PlainFiles(dir)} {
				if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "remove it") {
					t.Errorf("%s (to %s): %v", name, to, err)
				}
			}
		}
		must(t, os.Remove(link))
	}
	if b, err := os.ReadFile(victim); string(b) != "mine" || err != nil {
		t.Errorf("the file outside holds %q, %v", b, err)
	}
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Mode().Perm()
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
