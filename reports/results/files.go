package results

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"os"
	"runtime"
)

// logFile is the latency log while the run writes it.
type logFile struct {
	file *os.File
	size int64
	safe int64 // bytes that are on the disk, in whole lines
	err  error // the first error; nothing is written after it

	sum     hash.Hash // SHA-256 of what was written
	safeSum []byte    // of the safe bytes
}

func newLogFile(f *os.File) logFile { return logFile{file: f, sum: sha256.New()} }

// digest describes what is safe on the disk; nil if nothing is.
func (f *logFile) digest() *LogDigest {
	if f.safeSum == nil {
		return nil
	}
	return &LogDigest{Bytes: f.safe, SHA256: hex.EncodeToString(f.safeSum)}
}

// Write implements io.Writer.
func (f *logFile) Write(b []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.file.Write(b)
	f.size, f.err = f.size+int64(n), err
	f.sum.Write(b[:n])
	return n, err
}

// sync brings what was written to the disk. It is called when all lines are whole.
func (f *logFile) sync() error {
	if f.err == nil {
		f.err = f.file.Sync()
	}
	if f.err == nil {
		f.safe, f.safeSum = f.size, f.sum.Sum(nil)
	}
	return f.err
}

// end closes the file. If something could not be written, it cuts the file off behind the
// last whole line that is known to be on the disk.
func (f *logFile) end() error {
	err := f.sync()
	if err != nil {
		_ = f.file.Truncate(f.safe) // the first error tells more
	}
	if cerr := f.file.Close(); err == nil {
		err = cerr
	}
	return err
}

// writeFile brings one file to the disk. Until all of it is there, the file of that name
// keeps its old contents.
func writeFile(name string, write func(io.Writer) error) error {
	temp := name + ".new"
	f, err := os.Create(temp)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		_ = os.Remove(temp) // the first error tells more
	}
	return err
}

// syncDir makes the names in a folder durable. Windows does not sync folders.
func syncDir(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
