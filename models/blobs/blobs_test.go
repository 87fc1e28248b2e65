package blobs

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("BLOBS_WRITER"); dir != "" {
		fmt.Println(writer(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func open(t *testing.T, dir string, d drivers.Durability) *Store {
	t.Helper()
	s := Open(dir, d)
	t.Cleanup(func() { s.Close() })
	return s
}

func id(n int) (id [16]byte) {
	binary.BigEndian.PutUint64(id[:], uint64(n))
	return id
}

func put(s *Store, n int, b []byte) error {
	w, err := s.Write(id(n))
	if err != nil {
		return err
	}
	if _, err := w.Write(b); err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Commit()
}

// all are the blobs of a store.
func all(t *testing.T, s *Store) (ids [][16]byte, brokenOff int64) {
	t.Helper()
	off, err := s.Each(func(id [16]byte) error {
		ids = append(ids, id)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids, off
}

func TestFiles(t *testing.T) {
	for _, d := range []drivers.Durability{drivers.Memory, drivers.Power, drivers.DurabilityUnknown} {
		dir := t.TempDir()
		s := open(t, dir, d)
		if s.synced != (d != drivers.Memory) {
			t.Errorf("%v: synced %v", d, s.synced)
		}
		if _, err := s.ReadAt(id(1), make([]byte, 1), 0); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a read before the first write: %v", err)
		}
		if err := s.Remove(id(1)); err != nil {
			t.Errorf("a removal before the first write: %v", err)
		}
		if ids, off := all(t, s); len(ids)+int(off) != 0 {
			t.Errorf("%v and %d before the first write", ids, off)
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 0 {
			t.Errorf("reads have made %v", entries)
		}
		for n := range 300 {
			if err := put(s, n, fmt.Appendf(nil, "blob %d", n)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir, d) // another process
		b := make([]byte, 100)
		if n, err := s.ReadAt(id(299), b, 5); err != io.EOF || string(b[:n]) != "299" {
			t.Errorf("read %q, %v", b[:n], err)
		}
		if err := s.Remove(id(7)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ReadAt(id(7), b, 0); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a read of what was removed: %v", err)
		}
		if ids, off := all(t, s); len(ids) != 299 || off != 0 {
			t.Errorf("%d blobs and %d broken off, want 299 and 0", len(ids), off)
		}
		folders, err := os.ReadDir(filepath.Join(dir, FSLocal))
		if err != nil || len(folders) < 150 {
			t.Errorf("300 blobs in %d folders, %v", len(folders), err)
		}
	}
}

// TestFirstWrites: workers that all write first make one store, also where a process was killed
// that made it.
func TestFirstWrites(t *testing.T) {
	for round := range 50 {
		dir := t.TempDir()
		if round%2 == 1 {
			folder := filepath.Join(dir, FSLocal)
			if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, markFile+".new"), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		s := open(t, dir, drivers.Memory)
		var group errgroup.Group
		for n := range 8 {
			group.Go(func() error { return put(s, n, nil) })
		}
		if err := group.Wait(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if ids, off := all(t, s); len(ids) != 8 || off != 0 {
			t.Errorf("%d blobs and %d broken off", len(ids), off)
		}
	}
}

// TestUnseen: until Commit no reader sees a blob, and the file of a process that was killed between
// the write and the name is counted.
func TestUnseen(t *testing.T) {
	s := open(t, t.TempDir(), drivers.Power)
	w, err := s.Write(id(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadAt(id(1), make([]byte, 4), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a read before the commit: %v", err)
	}
	if ids, off := all(t, s); len(ids) != 0 || off != 1 {
		t.Errorf("%v and %d broken off, want none and 1", ids, off)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if ids, off := all(t, s); len(ids) != 0 || off != 0 {
		t.Errorf("%v and %d broken off after an abort", ids, off)
	}
}

// TestOnlyItsOwn: a folder that is no store, or that others put files into, is not used, and
// files with other names are not blobs.
func TestOnlyItsOwn(t *testing.T) {
	dir := t.TempDir()
	theirs := filepath.Join(dir, FSLocal)
	if err := errors.Join(os.Mkdir(theirs, 0o700), os.WriteFile(filepath.Join(theirs, "mail"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := put(open(t, dir, drivers.Memory), 1, nil); err == nil {
		t.Error("a folder with somebody's files was taken")
	}
	dir = t.TempDir()
	s := open(t, dir, drivers.Memory)
	if err := put(s, 1, nil); err != nil {
		t.Fatal(err)
	}
	name := place(id(1))
	folder := filepath.Dir(filepath.Join(dir, FSLocal, name))
	for _, other := range []string{"notes.txt", "mailbench-12", "x.writing", filepath.Base(name) + ".old"} {
		if err := os.WriteFile(filepath.Join(folder, other), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	astray := filepath.Join(dir, FSLocal, filepath.Base(name)) // a blob's name in another folder than its own
	if err := os.WriteFile(astray, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if ids, off := all(t, s); len(ids) != 1 || off != 0 {
		t.Errorf("%v and %d broken off, want one and none", ids, off)
	}
	if runtime.GOOS == "windows" {
		return
	}
	elsewhere := t.TempDir()
	n := 2
	for path.Dir(place(id(n))) == path.Dir(name) {
		n++
	}
	name = place(id(n))
	if err := os.Symlink(elsewhere, filepath.Join(dir, FSLocal, path.Dir(name))); err != nil {
		t.Fatal(err)
	}
	if err := put(s, n, nil); err == nil {
		t.Error("a link out of the store was followed")
	}
	if entries, _ := os.ReadDir(elsewhere); len(entries) != 0 {
		t.Errorf("a link out of the store was followed: %v", entries)
	}
}

const blobSize = 1 << 20

func blob(n int) []byte { return bytes.Repeat([]byte{byte(n), byte(n >> 8), 'x', '\n'}, blobSize/4) }

// writer writes blobs until it is killed, and prints the number of each that is committed.
func writer(dir string) error {
	s := Open(dir, drivers.Process)
	for n := 0; ; n++ {
		if err := put(s, n, blob(n)); err != nil {
			return err
		}
		if _, err := fmt.Println(n); err != nil {
			return err
		}
	}
}

// TestKills: whenever a writer is killed, what it said it has committed is there, and whatever is
// there is whole. Some kill leaves an interrupted write, and it is counted.
func TestKills(t *testing.T) {
	var brokenOff int64
	for kill := 0; kill < 30 && (kill < 5 || brokenOff == 0); kill++ {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "BLOBS_WRITER="+dir)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines, committed := bufio.NewScanner(out), -1
		for lines.Scan() {
			if _, err := fmt.Sscan(lines.Text(), &committed); err != nil {
				t.Fatalf("the writer says %q", lines.Text())
			}
			if committed == 2 {
				time.AfterFunc(time.Duration(kill)*time.Millisecond/3, func() { cmd.Process.Kill() })
			}
		}
		cmd.Wait()
		s := open(t, dir, drivers.Process)
		ids, off := all(t, s)
		brokenOff += off
		if len(ids) < committed+1 || len(ids) > committed+2 || off > 1 {
			t.Errorf("%d blobs and %d broken off after %d were committed", len(ids), off, committed+1)
		}
		for n := range ids {
			b := make([]byte, blobSize+1)
			if got, err := s.ReadAt(id(n), b, 0); err != io.EOF || !bytes.Equal(b[:got], blob(n)) {
				t.Errorf("blob %d of %d has %d bytes that are not as written: %v", n, committed, got, err)
			}
		}
	}
	if brokenOff == 0 {
		t.Error("no kill left a write that was broken off")
	}
}

// TestMode: a store is its user's only.
func TestMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	dir := t.TempDir()
	s := open(t, dir, drivers.Memory)
	if err := put(s, 1, nil); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(filepath.Join(dir, FSLocal), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := e.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
