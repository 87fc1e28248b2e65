//go:build !unix

package private

import (
	"io/fs"
	"os"
)

// On Windows rights are in access lists, which a folder takes from the one above it: that of a
// user's own files lets no other user in. mailbench neither reads nor changes them.

func checkOwner(string, fs.FileInfo) error { return nil }

func checkMode(string, fs.FileInfo) error { return nil }

func restrict(*os.Root, fs.FileInfo) error { return nil }
