package results

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/growth"
	"github.com/mailbench/mailbench/workloads/scratch"
)

// Open reads the results in a run directory. Figures that reports cannot show are
// an error.
func Open(dir string) (*Run, error) {
	f, err := plainfile.OpenIn(dir, RunFile)
	switch {
	case err == nil:
		defer f.Close()
	case scratch.InUse(dir):
		return nil, fmt.Errorf("%s has no results yet: its run is not finished", dir)
	case scratch.Abandoned(dir):
		return nil, fmt.Errorf("%s has no results: its run was killed before its first phase had ended", dir)
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("%s is not a run directory: it has no %s", dir, RunFile)
	default:
		return nil, fmt.Errorf("read results: %w", err)
	}
	b, err := plainfile.ReadAll(f, mostRun)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	r, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("read results: %s: %w", f.Name(), err)
	}
	return r, nil
}

// Parse reads run.json. The words that earlier builds wrote are replaced by those of this version.
func Parse(b []byte) (*Run, error) {
	var version struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(b, &version); errors.As(err, new(*json.SyntaxError)) {
		return nil, errors.New("it is damaged: incomplete JSON")
	} else if err != nil {
		return nil, errors.New("it is not of mailbench: its JSON has another form")
	}
	if version.Format != Format && version.Format != OlderFormat {
		return nil, fmt.Errorf("its format is %q, and this mailbench reads %q; use the one that wrote it", version.Format, Format)
	}
	// An empty object or a null of a few bytes may take a kilobyte of memory. Those of a run are longer.
	if n := bytes.Count(b, []byte("{")) + bytes.Count(b, []byte("null")); n > 1<<16 && n > len(b)/leastObject {
		return nil, fmt.Errorf("it is damaged: it has %d objects in %d bytes", n, len(b))
	}
	if bytes.Contains(b, []byte(`"shard"`)) { // the expression is slow
		b = oldWords.ReplaceAllFunc(b, func(old []byte) []byte { return []byte(newWords.Replace(string(old))) })
	}
	b = oldPatterns.ReplaceAllFunc(b, func(old []byte) []byte { return []byte(newPatterns.Replace(string(old))) })
	b = oldHiccups.ReplaceAll(b, []byte(`"longest_ns":$1`))
	r := &Run{}
	if err := strict.JSON(b, r); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	return r, nil
}

// Words of earlier builds. In JSON a quote before a colon ends a key, and one after a backslash is part of a text. A
// key is known by the begin of its value, since an operation may have the same name; its value is another object.
var (
	// Builds that called a segment a shard had other names of counters, too.
	oldWords = regexp.MustCompile(`[^\\]"((shard|calls|calls_deviation|blob_calls|rows_examined\w*)"\s*:\s*[\d-]|` +
		`shard"\s*:\s*\{\s*"index"|shards"\s*:\s*\[)` +
		`|"figure":\s*"(calls|examined)"|\{\w+\.(calls|examined)\b` + // of growth, and in a sentence
		`|"class":\s*"cannot tell"|"kind":\s*"cold"`)
	newWords = strings.NewReplacer("calls", "requests", "examined", "scanned", "shard", "segment",
		"cannot tell", string(growth.Unclear), "cold", KindCold)
	// The access patterns of a schema were a mapping in the text of a workload; it said which of them read.
	oldPatterns = regexp.MustCompile(`\\npatterns: \{.*?\}\\n`)
	newPatterns = strings.NewReplacer("{", "[", "}", "]", `: \"read\"`, "", `: \"write\"`, "")
	// Hiccups had the distribution of all wake-ups.
	oldHiccups = regexp.MustCompile(`"lateness":\s*\{\s*"p50"[^{}]*"p99_9"[^{}]*"max":\s*(\d+)[^{}]*\}`)
)

// Bounds of what reports can show. No run comes near them.
const (
	mostRun      = 1 << 30           // bytes of run.json: that of 10,000 cells has 73 MB
	leastObject  = 32                // bytes of run.json for each object, on average: about 100 in results of runs
	longestPhase = 366 * 24 * 3600.0 // seconds
	mostCounted  = 1 << 40           // operations
	mostPoints   = 1000              // points of a sweep
)

// check refuses figures that no run can have and that reports cannot show.
func (r *Run) check() error {
	if s := r.Sweep; s != nil {
		if len(s.Points) > mostPoints {
			return fmt.Errorf("its sweep has %d points", len(s.Points))
		}
		for _, p := range s.Points {
			if !(p.Size > 0 && p.Size < 1e15) {
				return fmt.Errorf("its sweep has a point of size %g", p.Size)
			}
		}
	}
	if !(r.Seconds >= 0 && r.Seconds <= longestPhase*mostPoints) {
		return fmt.Errorf("it lasts %g s", r.Seconds)
	}
	for c := range r.All {
		if err := c.check(); err != nil {
			return fmt.Errorf("result %s: %w", c.Key, err)
		}
	}
	return nil
}

func (c *Cell) check() error {
	within := func(at, seconds float64) bool { return at >= 0 && seconds >= 0 && at+seconds <= longestPhase }
	if !within(0, c.Seconds) {
		return fmt.Errorf("it lasts %g s", c.Seconds)
	}
	for i, in := range c.Timeline {
		if !within(in.At, in.Seconds) {
			return fmt.Errorf("interval %d begins at %g s and lasts %g s", i+1, in.At, in.Seconds)
		}
	}
	all := map[string]map[string]Op{"": c.Ops}
	for _, s := range c.Streams {
		place := "stream " + s.Name + ": "
		if s.Name == "" || all[place] != nil {
			return errors.New("it has a stream without a name, or two of one name")
		}
		all[place] = s.Ops
	}
	for place, ops := range all {
		for name, o := range ops {
			counts := []int64{o.Count, o.NotFound, o.Failed, o.Unknown, o.Dropped, o.NoTarget, o.TooLarge, o.Clamped}
			if slices.Min(counts) < 0 || slices.Max(counts) > mostCounted {
				return fmt.Errorf("%s%s has an impossible count", place, name)
			}
		}
	}
	return nil
}

// OpenLog opens the latency log of a run. The error says if it is not what the run wrote. A log
// that is gone is fs.ErrNotExist.
func OpenLog(dir string, r *Run) (*os.File, error) {
	f, err := plainfile.OpenIn(dir, LatencyFile)
	if err != nil {
		return nil, fmt.Errorf("read latencies: %w", err)
	}
	if err := r.LatencyLog.check(f, r.Interrupted); err != nil {
		return nil, errors.Join(fmt.Errorf("read latencies: %s: %w", f.Name(), err), f.Close())
	}
	return f, nil
}

// check compares a log with what it was, and goes back to its start. A run that was killed may have written more.
func (d *LogDigest) check(log io.ReadSeeker, more bool) error {
	if d == nil {
		return errors.New("its run does not report it")
	}
	sum := sha256.New()
	_, err := io.Copy(sum, io.LimitReader(log, d.Bytes))
	rest, unread := io.Copy(io.Discard, io.LimitReader(log, 1))
	_, unmoved := log.Seek(0, io.SeekStart)
	if err = cmp.Or(err, unread, unmoved); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != d.SHA256 || rest > 0 && !more {
		return fmt.Errorf("it is damaged: it is not the log of %d bytes that the run wrote", d.Bytes)
	}
	return nil
}
