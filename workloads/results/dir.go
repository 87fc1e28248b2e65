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
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/growth"
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

// Report is a file of a run directory that is made from run.json and the latency log.
type Report struct {
	Name string // of the file
	// Write writes the report of r. Dir is the name of the run's directory.
	Write func(w io.Writer, dir string, r *Run, curves []Curve) error
}

// Dir is a run directory that is being written. It gets its final name when the run has
// ended. Until then it keeps what Save wrote, whatever happens.
type Dir struct {
	name string // as the user wrote it
	path string // "" once committed or aborted
	temp string // where it is now
	// parent says that Create made the parent directory of path.
	parent bool

	reports []Report
	log     logFile
	// scratch marks the temporary directory until it holds results.
	scratch *scratch.Folder
	kept    bool // scratch has no mark any more
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
	switch {
	case err == nil && len(entries) > 0:
		return nil, fmt.Errorf("%w: %s %s; remove it, or choose another run directory", ErrTaken, dir, holds(path))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	_, err = os.Stat(filepath.Dir(path))
	d := &Dir{
		reports: reports, name: filepath.Clean(dir) + partial, path: path, temp: path + partial,
		parent: errors.Is(err, fs.ErrNotExist), syncDir: syncDir,
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	if err := os.Mkdir(d.temp, 0o755); errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w: %s exists: %s choose another run directory", ErrTaken, dir+partial, whose(d.temp))
	} else if err != nil {
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	if d.scratch, err = scratch.Claim(d.temp); err != nil {
		err = errors.Join(err, os.Remove(d.temp))
		d.removeParent()
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	log, err := os.Create(filepath.Join(d.temp, LatencyFile))
	if err != nil {
		d.Abort()
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	d.log = newLogFile(log)
	return d, nil
}

// whose says which run an unfinished run directory belongs to, and what to do about it.
func whose(temp string) string {
	if scratch.Abandoned(temp) {
		return "a run that was killed left it; remove it or"
	}
	if _, err := os.Stat(filepath.Join(temp, RunFile)); err == nil && !scratch.InUse(temp) {
		return "it has the values of a killed run; move or remove it, or"
	}
	return "another run may be writing it;"
}

// holds says what a folder that is not empty holds.
func holds(path string) string {
	if _, err := os.Stat(filepath.Join(path, RunFile)); err == nil {
		return "has the results of another run"
	}
	return "is not empty"
}

// LatencyLog is where the run writes its interval log.
func (d *Dir) LatencyLog() io.Writer { return &d.log }

// Name is where the results are. That is a temporary name until Commit has succeeded.
func (d *Dir) Name() string { return d.name }

// Save brings to the disk what was measured so far: r as run.json, and the latency log so
// far. Each file is whole at any time, also if the process is killed. After the first
// Save only the user removes the directory.
func (d *Dir) Save(r *Run) error {
	logErr := d.log.sync()
	r.LatencyLog = d.log.digest()
	if err := cmp.Or(d.writeRun(r), logErr); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

// Commit writes the results of r and gives the directory its final name. Whatever fails, all
// that could be written stays, and the error says where. If run.json could not be written,
// that is the temporary name.
func (d *Dir) Commit(r *Run) error {
	defer d.scratch.Close()
	logErr := d.log.end()
	r.LatencyLog = d.log.digest()
	if err := d.writeRun(r); err != nil {
		d.path = ""
		return fmt.Errorf("write results: %w; saved files are in %s", err, d.temp)
	}
	err := cmp.Or(logErr, d.writeReports(r))
	if err := d.rename(); err != nil {
		return err
	}
	if err != nil {
		return fmt.Errorf("write results: %w; all else is in %s", err, d.temp)
	}
	return nil
}

// rename gives the directory its name.
func (d *Dir) rename() error {
	path := d.path
	d.path = ""
	// There may be an empty directory of that name, and not every system renames over one.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d.taken(err)
	}
	if err := os.Rename(d.temp, path); err != nil {
		return d.taken(err)
	}
	d.temp, d.name = path, strings.TrimSuffix(d.name, partial)
	if err := d.syncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

// taken is the error of a commit that could not rename the directory. The results are
// complete and stay where they are.
func (d *Dir) taken(err error) error {
	return fmt.Errorf("the results are complete, but in %s: %w", d.temp, err)
}

func (d *Dir) writeRun(r *Run) error {
	if err := writeFile(filepath.Join(d.temp, RunFile), func(w io.Writer) error { return WriteJSON(w, r) }); err != nil {
		return err
	}
	if !d.kept {
		if err := d.scratch.Keep(); err != nil {
			return err
		}
		d.kept = true
	}
	return d.syncDir(d.temp)
}

// writeReports writes the reports that are made from run.json and the latency log. It writes
// each that it can, and returns the first error.
func (d *Dir) writeReports(r *Run) error {
	curves, err := d.curves(r)
	for _, f := range d.reports {
		write := func(w io.Writer) error { return f.Write(w, strings.TrimSuffix(d.name, partial), r, curves) }
		err = cmp.Or(err, writeFile(filepath.Join(d.temp, f.Name), write))
	}
	return cmp.Or(err, d.syncDir(d.temp))
}

func (d *Dir) curves(r *Run) ([]Curve, error) {
	f, err := os.Open(filepath.Join(d.temp, LatencyFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadCurves(r, f)
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
	d.removeParent()
	return nil
}

// removeParent removes the parent directory if Create made it and no other run has results there.
func (d *Dir) removeParent() {
	if d.parent {
		_ = os.Remove(filepath.Dir(d.temp))
	}
}

// Open reads the results in a run directory. Figures that reports cannot show are
// an error.
func Open(dir string) (*Run, error) {
	name := filepath.Join(dir, RunFile)
	b, err := ReadRun(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, notRun(dir)
	} else if err != nil {
		return nil, err
	}
	r, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("read results: %s: %w", name, err)
	}
	return r, nil
}

// mostRun is how many bytes run.json may have. That of 10,000 cells has 73 MB.
const mostRun = 1 << 30

// leastObject is how many bytes of run.json there are for each object, on average: about 100 in results of runs.
const leastObject = 32

// ReadRun reads run.json as it is.
func ReadRun(dir string) ([]byte, error) {
	f, err := plainfile.OpenIn(dir, RunFile)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	defer f.Close()
	b, err := plainfile.ReadAll(f, mostRun)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	return b, nil
}

// notRun says why a folder without run.json holds no results.
func notRun(dir string) error {
	switch {
	case scratch.InUse(dir):
		return fmt.Errorf("%s has no results yet: its run is not finished", dir)
	case scratch.Abandoned(dir):
		return fmt.Errorf("%s has no results: its run was killed before its first phase had ended", dir)
	}
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is not a run directory: it has no %s; the folder does not exist", dir, RunFile)
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is not a run directory: it is a file; name the folder of a run", dir)
	}
	return fmt.Errorf("%s is not a run directory: it has no %s", dir, RunFile)
}

// Parse reads run.json.
func Parse(b []byte) (*Run, error) {
	var version struct {
		Format string `json:"format"`
	}
	if !json.Valid(b) {
		return nil, errors.New("it is damaged: incomplete JSON")
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, errors.New("it is not of mailbench: its JSON has another form")
	}
	if version.Format != Format && version.Format != OlderFormat {
		return nil, otherFormat(version.Format)
	}
	// An empty object or a null of a few bytes may take a kilobyte of memory. Those of a run are longer.
	if n := bytes.Count(b, []byte("{")) + bytes.Count(b, []byte("null")); n > 1<<16 && n > len(b)/leastObject {
		return nil, fmt.Errorf("it is damaged: it has %d objects in %d bytes", n, len(b))
	}
	r := &Run{}
	if err := strict.JSON(b, r); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	r.rename()
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	return r, nil
}

// rename puts the words of this version in place of those that earlier builds wrote.
func (r *Run) rename() {
	for i := range r.Cells {
		if r.Cells[i].Kind == "cold" {
			r.Cells[i].Kind = KindCold
		}
	}
	for i, text := range r.Answer {
		r.Answer[i] = oldMetric.ReplaceAllStringFunc(text, func(s string) string { return "." + strict.Renamed(s[1:]) })
	}
	if r.Sweep == nil {
		return
	}
	for i := range r.Sweep.Growth {
		g := &r.Sweep.Growth[i]
		if g.Figure == "calls" || g.Figure == "examined" {
			g.Figure = Figure(strict.Renamed(string(g.Figure)))
		}
		if g.Class == "cannot tell" {
			g.Class = growth.Unclear
		}
	}
}

// oldMetric is a counter of an operation in a sentence, as earlier builds called it.
var oldMetric = regexp.MustCompile(`\.(calls|examined)\b`)

// otherFormat is the error for a format that this mailbench does not read.
func otherFormat(format string) error {
	name, text, _ := strings.Cut(format, "/")
	own, ownText, _ := strings.Cut(Format, "/")
	version, err := strconv.Atoi(text)
	this, ownErr := strconv.Atoi(ownText)
	if name != own || errors.Join(err, ownErr) != nil {
		return fmt.Errorf("it is not of mailbench: its format is %q, not %q", format, Format)
	}
	age := "a newer"
	if version < this {
		age = "an older"
	}
	return fmt.Errorf("it was written by %s mailbench: its format is %q, and this one reads %q; use the one that wrote it",
		age, format, Format)
}

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

// end closes the file. If something could not be written, it cuts the file off after the
// last whole line that is known to be on the disk.
func (f *logFile) end() error {
	err := f.sync()
	if err != nil {
		_ = f.file.Truncate(f.safe) // the first error says more
	}
	return cmp.Or(err, f.file.Close())
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
