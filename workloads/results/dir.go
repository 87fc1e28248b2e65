package results

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/mailbench/mailbench/workloads/scratch"
)

// Files of a run directory.
const (
	RunFile     = "run.json"
	LatencyFile = "latency.hlog"
)

// partial ends the name of a run directory that is being written.
const partial = ".partial"

// PartialPattern matches the names of run directories that are being written.
const PartialPattern = "*" + partial

// ErrTaken is the error for a run directory that has contents already.
var ErrTaken = errors.New("run directory is taken")

// Report is a file of a run directory that is made from run.json.
type Report struct {
	Name string // of the file
	// Write writes the report of r. Dir is the name of the run's directory.
	Write func(w io.Writer, dir string, r *Run) error
}

// Dir is a run directory that is being written. It gets its final name when the run has
// ended. Until then it keeps what Save wrote, whatever happens.
type Dir struct {
	// Name is where the results are, as the user wrote it. That is a temporary name until Commit has succeeded.
	Name    string
	path    string // "" once committed or aborted
	temp    string // where it is now
	reports []Report
	log     logFile
	saved   *LogDigest // the log that run.json on the disk has; nil: none
	// scratch marks the temporary directory until it holds results.
	scratch *scratch.Folder
	made    string // the folder around it, if Create made that; "" else
	// syncDir makes the names in a folder durable; tests look at it.
	syncDir func(string) error
}

// Create begins the run directory dir, which must be empty or not exist. It fails if
// dir cannot be written, so that a user learns of that before the run. Commit writes the
// reports.
func Create(dir string, reports ...Report) (*Dir, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	entries, err := os.ReadDir(path)
	if len(entries) > 0 {
		return nil, fmt.Errorf("%w: %s is not empty; remove it, or choose another run directory", ErrTaken, dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	d := &Dir{
		reports: reports, Name: filepath.Clean(dir) + partial, path: path, temp: path + partial, syncDir: syncDir,
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		d.made = filepath.Dir(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	if err := os.Mkdir(d.temp, 0o755); errors.Is(err, fs.ErrExist) {
		whose := "another run is writing it; choose another run directory"
		if !scratch.InUse(d.temp) {
			whose = "a killed run may have left it; move or remove it, or choose another run directory"
		}
		return nil, fmt.Errorf("%w: %s exists: %s", ErrTaken, d.Name, whose)
	} else if err != nil {
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	if d.scratch, err = scratch.Claim(d.temp); err != nil {
		return nil, fmt.Errorf("create run directory: %w", errors.Join(err, os.Remove(d.temp)))
	}
	log, err := os.Create(filepath.Join(d.temp, LatencyFile))
	if err != nil {
		d.Abort()
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	d.log = logFile{file: log, sum: sha256.New()}
	return d, nil
}

// LatencyLog is where the run writes its interval log.
func (d *Dir) LatencyLog() io.Writer { return &d.log }

// Save brings to the disk what was measured so far: r as run.json, and the latency log so
// far. Each file is whole at any time, also if the process is killed. After the first
// Save only the user removes the directory.
func (d *Dir) Save(r *Run) error {
	logErr := d.log.sync()
	if err := cmp.Or(d.writeRun(r), logErr); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

// Commit writes the results of r and gives the directory its final name. Whatever fails, all
// that could be written stays, and the error says where. If run.json could not be written,
// that is the temporary name. On a full disk run.json comes first: what the log has got since the last run.json is cut
// off, or all of it.
func (d *Dir) Commit(r *Run) error {
	defer d.scratch.Close()
	logErr := d.log.sync()
	err := d.writeRun(r)
	for _, to := range []*LogDigest{d.saved, nil} {
		if full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT); full && d.log.safe != to {
			d.log.cut(to, fmt.Errorf("%s is cut off, so that %s fits: %w", LatencyFile, RunFile, err))
			logErr, err = d.log.err, d.writeRun(r)
		}
	}
	logErr = cmp.Or(logErr, d.log.file.Close())
	if err != nil {
		if d.log.safe != d.saved { // without its log, the last run.json is read; with another, it is damaged
			_ = os.Remove(filepath.Join(d.temp, LatencyFile))
		}
		d.path = ""
		return fmt.Errorf("write results: %w; saved files are in %s", err, d.temp)
	}
	// Each report that can be written is.
	name, path := strings.TrimSuffix(d.Name, partial), d.path
	err = logErr
	for _, f := range d.reports {
		write := func(w io.Writer) error { return f.Write(w, name, r) }
		err = cmp.Or(err, writeFile(filepath.Join(d.temp, f.Name), write))
	}
	err, d.path = cmp.Or(err, d.syncDir(d.temp)), ""
	// There may be an empty directory of that name, and not every system renames over one.
	renamed := os.Remove(path)
	if renamed == nil || errors.Is(renamed, fs.ErrNotExist) {
		renamed = os.Rename(d.temp, path)
	}
	if renamed != nil { // the results stay where they are
		return fmt.Errorf("the results are complete, but in %s: %w", d.temp, renamed)
	}
	d.temp, d.Name = path, name
	if err := d.syncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	if err != nil {
		return fmt.Errorf("write results: %w; all else is in %s", err, d.temp)
	}
	return nil
}

// writeRun writes run.json, which has the log that is on the disk.
func (d *Dir) writeRun(r *Run) error {
	r.LatencyLog = d.log.safe
	if err := writeFile(filepath.Join(d.temp, RunFile), func(w io.Writer) error { return WriteJSON(w, r) }); err != nil {
		return err
	}
	d.saved = r.LatencyLog
	return cmp.Or(d.scratch.Keep(), d.syncDir(d.temp))
}

// Abort removes what was written. After Commit it does nothing.
func (d *Dir) Abort() error {
	if d.path == "" {
		return nil
	}
	d.path = ""
	if d.log.file != nil {
		_ = d.log.file.Close() // the file is removed anyway
	}
	if err := d.scratch.Remove(); err != nil {
		return fmt.Errorf("remove unfinished results: %w", err)
	}
	if d.made != "" {
		_ = os.Remove(d.made) // another run may have put its results there
	}
	return nil
}

// logFile is the latency log while the run writes it.
type logFile struct {
	file *os.File
	size int64
	sum  hash.Hash  // SHA-256 of what was written
	err  error      // the first error; nothing is written after it
	safe *LogDigest // what is on the disk, in whole lines; nil: nothing
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

// sync brings what was written to the disk. It is called when all lines are whole. If something could not be
// written, it cuts the file off after the last whole line that is known to be on the disk: run.json may need that
// space.
func (f *logFile) sync() error {
	if f.err == nil {
		f.err = f.file.Sync()
	}
	if f.err != nil {
		f.cut(f.safe, f.err)
	} else {
		f.safe = &LogDigest{Bytes: f.size, SHA256: hex.EncodeToString(f.sum.Sum(nil))}
	}
	return f.err
}

// cut ends the log after what it had at an earlier time, because of an error.
func (f *logFile) cut(to *LogDigest, err error) {
	f.safe, f.err = to, err
	_ = f.file.Truncate(cmp.Or(to, &LogDigest{}).Bytes) // the first error says more
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
	if err = cmp.Or(write(w), w.Flush(), f.Sync(), f.Close()); err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		_ = os.Remove(temp) // the first error says more
	}
	return err
}

// WriteJSON writes a run as run.json has it, so that people can read it and tools can search it by lines:
// indented, with each cell and each search on a line of its own.
func WriteJSON(w io.Writer, r *Run) error {
	head := *r
	head.Cells, head.Searches = nil, nil
	b, err := json.MarshalIndent(&head, "", "  ")
	b = bytes.TrimSuffix(b, []byte("\"cells\": null\n}")) // the last field
	if len(r.Searches) > 0 {
		b = append(inLines(b, "searches", r.Searches, &err), ",\n  "...)
	}
	b = append(inLines(b, "cells", r.Cells, &err), "\n}\n"...)
	if err != nil {
		return fmt.Errorf("write results as JSON: %w", err)
	}
	_, err = w.Write(b)
	return err
}

// inLines adds a list with a value on each line to b. It leaves an earlier error.
func inLines[V any](b []byte, name string, values []V, err *error) []byte {
	b = fmt.Appendf(b, "%q: [", name)
	for i := range values {
		text, wrong := json.Marshal(&values[i])
		if *err = cmp.Or(*err, wrong); i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, "\n    "...), text...)
	}
	return append(b, "\n  ]"...)
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
