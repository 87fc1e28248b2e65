package reports

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/mailbench/mailbench/reports/scratch"
)

// Files of a run directory.
const (
	RunFile     = "run.json"
	LatencyFile = "latency.hlog"
	BenchFile   = "bench.txt"
	HTMLFile    = "report.html"
)

// partial ends the name of a run directory that is being written.
const partial = ".partial"

// PartialPattern matches the names of such directories.
const PartialPattern = "*" + partial

// ErrTaken is the error for a run directory that has contents already.
var ErrTaken = errors.New("choose another run directory")

// Dir is a run directory that is being written. It gets its name when all of it is on
// the disk.
type Dir struct {
	path string // "" once committed or aborted
	temp string
	// parent says that Create made the directory that path is in.
	parent bool

	file *os.File // latency.hlog
	log  *bufio.Writer
	// scratch marks the temporary directory until its contents are complete.
	scratch *scratch.Folder
}

// Create begins the run directory dir, which must be empty or not exist. It fails if
// dir cannot be written, so that a user learns of that before the run.
func Create(dir string) (*Dir, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	entries, err := os.ReadDir(path)
	switch {
	case err == nil && len(entries) > 0:
		return nil, fmt.Errorf("run directory %s is not empty: remove it, or %w", dir, ErrTaken)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	_, err = os.Stat(filepath.Dir(path))
	d := &Dir{path: path, temp: path + partial, parent: errors.Is(err, fs.ErrNotExist)}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	if err := os.Mkdir(d.temp, 0o755); errors.Is(err, fs.ErrExist) {
		why := "another run may be writing it;"
		if scratch.Abandoned(d.temp) {
			why = "a run that was killed left it; remove it or"
		}
		return nil, fmt.Errorf("%s exists: %s %w", dir+partial, why, ErrTaken)
	} else if err != nil {
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	if d.scratch, err = scratch.Claim(d.temp); err != nil {
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	if d.file, err = os.Create(filepath.Join(d.temp, LatencyFile)); err != nil {
		d.Abort()
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	d.log = bufio.NewWriterSize(d.file, 1<<16)
	return d, nil
}

// LatencyLog is where the run writes its interval log. It is buffered until Commit.
func (d *Dir) LatencyLog() io.Writer { return d.log }

// Commit writes the results of r beside the latency log and gives the directory its
// name. If it fails, it leaves nothing. There is one exception: if the name has been
// taken meanwhile, the results stay and the error tells where.
func (d *Dir) Commit(r *Run) error {
	if err := d.write(r); err != nil {
		err = fmt.Errorf("write results: %w", err)
		if aerr := d.Abort(); aerr != nil {
			err = fmt.Errorf("%w; and then: %w", err, aerr)
		}
		return err
	}
	defer d.scratch.Close()
	// An empty directory may have the name, and not every system renames over it.
	if err := os.Remove(d.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d.taken(err)
	}
	if err := os.Rename(d.temp, d.path); err != nil {
		return d.taken(err)
	}
	path := d.path
	d.path = ""
	if err := syncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

// taken ends a commit that could not take its name: the results are complete
// and stay where they are.
func (d *Dir) taken(err error) error {
	d.path = ""
	return fmt.Errorf("the results are complete, but in %s: %w", d.temp, err)
}

// write fills the temporary directory.
func (d *Dir) write(r *Run) error {
	if err := finish(d.log, d.file); err != nil {
		return err
	}
	curves, err := d.curves(r)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{RunFile, func(w io.Writer) error { return writeJSON(w, r) }},
		{BenchFile, func(w io.Writer) error { return WriteBench(w, r) }},
		{HTMLFile, func(w io.Writer) error { return WriteHTML(w, r, curves) }},
	} {
		if err := writeFile(filepath.Join(d.temp, f.name), f.write); err != nil {
			return err
		}
	}
	if err := d.scratch.Keep(); err != nil {
		return err
	}
	return syncDir(d.temp)
}

func (d *Dir) curves(r *Run) ([]Curve, error) {
	f, err := os.Open(d.file.Name())
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
	if d.file != nil {
		_ = d.file.Close() // its contents are not wanted
	}
	if err := d.scratch.Remove(); err != nil {
		return fmt.Errorf("remove unfinished results: %w", err)
	}
	if d.parent {
		_ = os.Remove(filepath.Dir(d.temp)) // fails if another run has results there
	}
	return nil
}

// writeFile writes one file to the disk.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	if err := write(w); err != nil {
		_ = f.Close() // the first error tells more
		return err
	}
	return finish(w, f)
}

// finish brings the file to the disk and closes it. It returns the first error, since
// further ones follow from it.
func finish(w *bufio.Writer, f *os.File) error {
	err := w.Flush()
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
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

func writeJSON(w io.Writer, r *Run) error {
	b, err := cellsApart(r)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// Open reads the results in a run directory. Figures that reports cannot show are
// an error.
func Open(dir string) (*Run, error) {
	name := filepath.Join(dir, RunFile)
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not a run directory: it has no %s", dir, RunFile)
	} else if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	r, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("read results: %s: %w", name, err)
	}
	return r, nil
}

// parse reads run.json.
func parse(b []byte) (*Run, error) {
	var version struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, err
	}
	if version.Format != Format {
		return nil, fmt.Errorf("it has the format %q, but this mailbench reads %q: use the mailbench that wrote it", version.Format, Format)
	}
	r := &Run{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return r, nil
}
