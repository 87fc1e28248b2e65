package pebble

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// dropPages asks the operating system to forget what it caches of the folder's
// files. Pages not yet on the disk cannot be forgotten, so they are synced.
func dropPages(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Sync(); err != nil {
			return err
		}
		return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	})
}

// readBytes returns how many bytes this process has read from disk, or -1.
func readBytes() int64 {
	io, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return -1
	}
	for line := range bytes.Lines(io) {
		if n, ok := bytes.CutPrefix(line, []byte("read_bytes: ")); ok {
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(n)), 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}
