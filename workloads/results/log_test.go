package results

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLatencyLogIsKnown: a latency log that differs from the one of the run is not read, whatever
// happened to it. Lines that a killed run wrote after run.json are no damage.
func TestLatencyLogIsKnown(t *testing.T) {
	written := func(t *testing.T, save bool) (string, []byte) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "results")
		d, err := Create(dir)
		if err != nil {
			t.Fatal(err)
		}
		log := sampleLog(t).Bytes()
		if _, err := d.LatencyLog().Write(log); err != nil {
			t.Fatal(err)
		}
		r := sample()
		if r.Interrupted = save; save {
			if err := d.Save(r); err != nil {
				t.Fatal(err)
			}
			return d.temp, log
		}
		if err := d.Commit(r); err != nil {
			t.Fatal(err)
		}
		return dir, log
	}
	replace := func(b []byte) func(string) error {
		return func(name string) error { return os.WriteFile(name, b, 0o600) }
	}
	dir, log := written(t, false)
	unfinished, _ := written(t, true)
	flipped := bytes.Clone(log)
	flipped[len(log)/2] ^= 1
	for _, x := range []struct {
		name, dir string
		harm      func(name string) error
		want      string
	}{
		{"as it was", dir, replace(log), ""},
		{"random", dir, replace([]byte("\x00\x01\x02 nothing of the kind")), "is damaged: it is not the log of"},
		{"empty", dir, replace(nil), "is damaged: it is not the log of"},
		{"cut at a line", dir, replace(log[:bytes.LastIndexByte(log[:len(log)-1], '\n')+1]), "is damaged: it is not the log of"},
		{"a bit flipped", dir, replace(flipped), "is damaged: it is not the log of"},
		{"longer", dir, replace(append(bytes.Clone(log), '\n')), "is damaged: it is not the log of"},
		{"gone", dir, os.Remove, "no such file"},
		{"of a run that was killed", unfinished, replace(append(bytes.Clone(log), "half a line"...)), ""},
		{"cut, of a run that was killed", unfinished, replace(log[:len(log)-1]), "is damaged: it is not the log of"},
		{"a link", dir, func(name string) error { return errors.Join(os.RemoveAll(name), os.Symlink(os.DevNull, name)) }, "is a link"},
	} {
		if err := x.harm(filepath.Join(x.dir, LatencyFile)); err != nil {
			t.Fatal(err)
		}
		r, err := Open(x.dir)
		if err != nil {
			t.Fatal(err)
		}
		f, err := OpenLog(x.dir, r)
		if err == nil {
			err = f.Close()
		}
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("a log %s: %v, want %q", x.name, err, x.want)
		}
		if gone := x.name == "gone"; errors.Is(err, fs.ErrNotExist) != gone {
			t.Errorf("a log %s: %v is one that is gone: %v", x.name, err, !gone)
		}
	}
}
