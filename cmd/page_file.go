package cmd

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mailbench/mailbench/reports/page"
)

// writePage writes the page, over one of its own only.
func writePage(file string, text []byte, force bool) error {
	if err := noneOrPlain(file); err != nil { // before it is opened
		return err
	}
	if !force {
		if err := replaceable(file); err != nil {
			return err
		}
	}
	if err := writeWhole(file, text); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// writeWhole writes a file under a temporary name first, so that nobody sees half of it.
func writeWhole(file string, text []byte) error {
	if err := noneOrPlain(file); err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target // a link stays one
	}
	name := filepath.Join(filepath.Dir(file), ".mailbench-"+rand.Text()+filepath.Ext(file))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // the user's umask says who may read it
	if errors.Is(err, fs.ErrNotExist) {
		return usagef("there is no folder %s", filepath.Dir(file))
	} else if err != nil {
		return missing(err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// noneOrPlain returns an error if there is something of that name that is no plain file: a named pipe makes
// its writer wait for ever, and a device is not to be replaced.
func noneOrPlain(file string) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return usagef("%s is no file to write to (%v); name another one", file, info.Mode().Type())
	}
	return nil
}

// replaceable returns an error if the file exists and mailbench has not written it.
func replaceable(file string) error {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, page.HeadSize))
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	if !page.Ours(head) {
		return usagef("%s was not written by mailbench: name another file with -o, or overwrite it with --overwrite", file)
	}
	return nil
}
