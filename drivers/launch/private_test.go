//go:build linux

package launch

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPrivate: only the user can read the files of an engine and its start.
func TestPrivate(t *testing.T) {
	fakeJava(t, "echo data > made; "+sleep)
	in := mustUp(t, Config{Engine: "cassandra", Dir: filepath.Join(t.TempDir(), "c"), Port: AnyPort})
	defer in.Down(t.Context(), true)
	seen := make(map[string]bool)
	must(t, filepath.WalkDir(in.dir, func(path string, d fs.DirEntry, err error) error {
		must(t, err)
		info, err := d.Info()
		must(t, err)
		if seen[d.Name()] = true; info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	}))
	for _, name := range []string{"made", "log", "cassandra.yaml", stateName, lockName} {
		if !seen[name] {
			t.Errorf("%s was not looked at", name)
		}
	}
}

// TestForeignInstance: a folder that others own or can write to is not started, stopped or
// removed, and says what to do.
func TestForeignInstance(t *testing.T) {
	fakeJava(t, sleep)
	dir := filepath.Join(t.TempDir(), "c")
	c := Config{Engine: "cassandra", Dir: dir, Port: AnyPort}
	in := mustUp(t, c)
	defer func() {
		must(t, os.Chmod(dir, 0o700))
		must(t, in.Down(t.Context(), true))
	}()
	refused := func(what string) {
		t.Helper()
		_, uerr := Up(t.Context(), c)
		_, oerr := Open("cassandra", dir)
		for _, err := range []error{uerr, oerr, in.Down(t.Context(), true)} {
			if err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("error %v, want %q", err, what)
			}
		}
	}
	must(t, os.Chmod(dir, 0o777))
	refused("chmod 700 it")
	must(t, os.Chmod(dir, 0o700))
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder to another user")
	}
	must(t, os.Chown(dir, 12345, -1))
	refused("belongs to user 12345")
	must(t, os.Chown(dir, 0, -1))
}

// TestForgedState: names of nodes are computed. A state file that names others makes no command
// write or remove elsewhere, and none panics.
func TestForgedState(t *testing.T) {
	fakeJava(t, sleep)
	at := t.TempDir()
	victim := filepath.Join(at, "victim")
	must(t, os.Mkdir(victim, 0o755))
	in := mustUp(t, Config{Engine: "cassandra", Dir: filepath.Join(at, "c"), Port: AnyPort})
	defer in.Down(t.Context(), true)
	good := *in.state
	for what, forge := range map[string]func(*state){
		`a node "../victim", expected "node1"`: func(s *state) { s.Nodes = []Node{{Name: "../victim"}} },
		"0 nodes, expected 1":                  func(s *state) { s.Nodes = nil },
		"expected at most 3":                   func(s *state) { s.Config.Nodes = 1 << 40 },
		"-1 nodes":                             func(s *state) { s.Config.Nodes = -1 },
		"port 99999":                           func(s *state) { s.Port = 99999 },
		"heap of ":                             func(s *state) { s.HeapBytes = 1 << 60 },
	} {
		s := good
		forge(&s)
		data, err := json.Marshal(s)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(in.dir, stateName), data, 0o600))
		_, oerr := Open("cassandra", in.dir)
		for _, err := range []error{oerr, in.Down(t.Context(), true)} {
			if err == nil || !strings.Contains(err.Error(), "is damaged") || !strings.Contains(err.Error(), what) {
				t.Errorf("error %v, want that the state is damaged: %s", err, what)
			}
		}
	}
	if _, err := os.Stat(victim); err != nil {
		t.Error(err)
	}

	// Addresses, too: clients are sent to loopback only.
	s := good
	s.Nodes = []Node{{Name: "node1", Address: "192.0.2.1:9042", Process: good.Nodes[0].Process}}
	must(t, s.save(in.dir))
	again, err := Open("cassandra", in.dir)
	must(t, err)
	if got, want := again.Contact()[0], good.Nodes[0].Address; got != want {
		t.Errorf("clients are sent to %s, want %s", got, want)
	}

	// A node's log may be no link to a file that the engine would write to.
	must(t, good.save(in.dir))
	log := in.logPath(&good.Nodes[0])
	must(t, in.Down(t.Context(), false))
	must(t, os.Remove(log))
	outside := filepath.Join(victim, "file")
	must(t, os.Symlink(outside, log))
	if _, err := Up(t.Context(), Config{Engine: "cassandra", Dir: in.dir}); err == nil || !strings.Contains(err.Error(), "log is a link") {
		t.Errorf("a node whose log is a link: %v", err)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("the engine wrote to a file outside")
	}
}
