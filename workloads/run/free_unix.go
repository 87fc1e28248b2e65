//go:build linux || darwin

package run

import "golang.org/x/sys/unix"

// freeBytes is how much can be written on the disk of a folder; 0: not known.
func freeBytes(dir string) float64 {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0
	}
	return float64(s.Bavail) * float64(s.Bsize)
}
