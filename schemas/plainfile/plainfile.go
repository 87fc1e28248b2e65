// Package plainfile opens and writes files that a user names, or that others have made. It opens plain files
// only: a named pipe makes its reader wait forever, and a device such as /dev/zero has no end.
package plainfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// ErrNotPlain is what errors are of a file that is no plain one, or too large, or that Write must not replace.
var ErrNotPlain = errors.New("no file to read")

// Small is the most bytes of a small file: a password, a key, certificates.
const Small = 1 << 20

type notPlain string

func (e notPlain) Error() string        { return string(e) }
func (e notPlain) Is(target error) bool { return target == ErrNotPlain }

// Open opens a plain file for reading. It follows a link to one.
func Open(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // else a named pipe waits for who writes into it
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		return f, nil
	case info.IsDir():
		err = &fs.PathError{Op: "read", Path: name, Err: syscall.EISDIR}
	default:
		err = notPlain(fmt.Sprintf("%s is no plain file (%v); name one that is", name, info.Mode().Type()))
	}
	return nil, errors.Join(err, f.Close())
}

// OpenIn opens a plain file in a folder that others may have made. It follows no link.
func OpenIn(dir, file string) (*os.File, error) {
	name := filepath.Join(dir, file)
	if info, err := os.Lstat(name); err != nil {
		return nil, err
	} else if info.Mode()&fs.ModeSymlink != 0 {
		return nil, notPlain(name + " is a link, which is not followed: put the file itself there")
	}
	return Open(name)
}

// Read reads a plain file that has at most so many bytes.
func Read(name string, most int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f, most)
}

// ReadAll reads an open file that has at most so many bytes.
func ReadAll(f *os.File, most int64) ([]byte, error) {
	tooLarge := false
	if info, err := f.Stat(); err == nil { // a sparse file is refused before it is read
		tooLarge = info.Mode().IsRegular() && info.Size() > most
	}
	var b []byte
	var err error
	if !tooLarge {
		b, err = io.ReadAll(io.LimitReader(f, most+1))
	}
	if err == nil && (tooLarge || int64(len(b)) > most) {
		err = notPlain(fmt.Sprintf("%s has more than %d MB; expected less", f.Name(), most>>20))
	}
	return b, err
}

// Output is where a text goes that a command makes: File, or standard output if it is "" or "-".
type Output struct {
	File      string
	Overwrite bool
}

// Std reports whether the text goes to standard output.
func (o *Output) Std() bool { return o.File == "" || o.File == "-" }

// Write writes the text to the file, or to out. A file that is there is replaced if Overwrite is set, or if ours is
// true of it and of the text, and never if it is one of those that were read for the text. The text is written under a
// temporary name first, so that no reader sees half of it.
func (o *Output) Write(out io.Writer, text []byte, ours func(head []byte) bool, read ...string) error {
	if o.Std() {
		_, err := out.Write(text)
		return err
	}
	// A named pipe makes its writer wait forever, and a device is not to be replaced.
	file := o.File
	info, err := os.Stat(file)
	same := func(other string) bool {
		there, missing := os.Stat(other)
		return missing == nil && os.SameFile(info, there)
	}
	switch {
	case err == nil && !info.Mode().IsRegular():
		return notPlain(fmt.Sprintf("%s is no file to write to (%v); name another one", file, info.Mode().Type()))
	case err == nil && slices.ContainsFunc(read, same):
		return notPlain(file + " is what is read: name another file with -o")
	case err == nil && !o.Overwrite && !ours(text):
		return notPlain(file + " exists already: name another file with -o, or overwrite it with --overwrite")
	case err == nil && !o.Overwrite && !ours(head(file)):
		return notPlain(file + " was not written by mailbench: name another file with -o, or overwrite it with --overwrite")
	}
	target := file
	if to, err := filepath.EvalSymlinks(file); err == nil {
		target = to // a link stays one
	}
	name := filepath.Join(filepath.Dir(target), ".mailbench-"+rand.Text()+filepath.Ext(target))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // the user's umask says who may read it
	if errors.Is(err, fs.ErrNotExist) {
		return notPlain(fmt.Sprintf("write %s: no folder %s", file, filepath.Dir(target)))
	} else if err != nil {
		return fmt.Errorf("write %s: %w; name another file with -o", file, errors.Unwrap(err))
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(name, target)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, errors.Join(err, os.Remove(name)))
	}
	return nil
}

// HeadSize is how many bytes of a file Write shows to ours.
const HeadSize = 1024

// head is how a file begins; nil if it cannot be read.
func head(file string) []byte {
	f, err := Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, HeadSize))
	return b
}
