package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/growth"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/scratch"
)

// Open reads the results in a run directory. Figures that reports cannot show are
// an error.
func Open(dir string) (*Run, error) {
	f, err := plainfile.OpenIn(dir, RunFile)
	switch {
	case err == nil:
	case scratch.InUse(dir):
		return nil, fmt.Errorf("%s has no results yet: its run is not finished", dir)
	case scratch.Abandoned(dir):
		return nil, fmt.Errorf("%s has no results: its run was killed before its first phase had ended", dir)
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("%s is not a run directory: it has no %s", dir, RunFile)
	}
	var b []byte
	if err == nil {
		defer f.Close()
		b, err = plainfile.ReadAll(f, mostRun)
	}
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
	if bytes.Contains(b, []byte(`"shard"`)) { // each cell of an earlier build has one
		b = oldKey.ReplaceAllFunc(b, func(key []byte) []byte { return []byte(newKeys.Replace(string(key))) })
	}
	r := &Run{}
	if err := strict.JSON(b, r); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	r.renew()
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	return r, nil
}

// oldKey is a key that earlier builds wrote, with the begin of its value: an operation may have the same name, and its
// value is another object. In JSON a quote before a colon ends a key, and one after a backslash is part of a text.
// newKeys has the words of today.
var (
	oldKey = regexp.MustCompile(`[^\\]"((shard|calls|calls_deviation|blob_calls|rows_examined\w*)"\s*:\s*[\d-]|` +
		`shard"\s*:\s*\{\s*"index"|shards"\s*:\s*\[)`)
	newKeys = strings.NewReplacer("shard", "segment", "calls", "requests", "examined", "scanned")
)

// oldMetric is a counter of an operation in a sentence, as earlier builds called it.
var oldMetric = regexp.MustCompile(`\.(calls|examined)\b`)

// oldPatterns is the line of a workload with the access patterns of a schema, as earlier builds wrote it: a mapping,
// which said of each name whether the pattern reads or writes. newPatterns makes it the list of names.
var (
	oldPatterns = regexp.MustCompile(`(?m)^patterns: \{.*\}$`)
	newPatterns = strings.NewReplacer("{", "[", "}", "]", `: "read"`, "", `: "write"`, "")
)

// renew replaces values that earlier builds wrote.
func (r *Run) renew() {
	r.Workload.Text = oldPatterns.ReplaceAllStringFunc(r.Workload.Text, newPatterns.Replace)
	for c := range r.All {
		if c.Kind == "cold" {
			c.Kind = KindCold
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
	counts := func(values ...int64) bool { return slices.Min(values) >= 0 && slices.Max(values) <= mostCounted }
	if !within(0, c.Seconds) {
		return fmt.Errorf("it lasts %g s", c.Seconds)
	}
	if slices.ContainsFunc(c.Streams, func(s Stream) bool { return s.Name == "" }) {
		return errors.New("it has a stream without a name")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Ops)) {
		o := c.Ops[name]
		if !counts(o.Count, o.NotFound, o.Failed, o.Unknown, o.Dropped, o.NoTarget, o.TooLarge) {
			return fmt.Errorf("%s has an impossible count", name)
		}
	}
	for i := range c.Timeline {
		in := &c.Timeline[i]
		if !within(in.At, in.Seconds) {
			return fmt.Errorf("interval %d begins at %g s and lasts %g s", i+1, in.At, in.Seconds)
		}
		if !counts(in.OK, in.NotFound, in.Failed, in.Unknown, in.Dropped, in.TooLarge) {
			return fmt.Errorf("interval %d has an impossible count", i+1)
		}
	}
	if g := c.Gap; g != nil && !within(g.At, g.Seconds) {
		return fmt.Errorf("its longest gap begins at %g s and lasts %g s", g.At, g.Seconds)
	}
	return nil
}

// Curve is the distribution of one operation's latencies in one phase of one model on
// one engine, over all trials and segments. Latencies are the response times of an open
// loop and the service times of a closed loop.
type Curve struct {
	Model, Engine, Phase, Op string
	Points                   []Point // in the order of percentiles
}

// Point is one point of a curve: Percentile percent of the operations took at most
// Nanoseconds.
type Point struct {
	Percentile  float64
	Nanoseconds int64
}

// stepsPerDecade is how many points a curve has between 0 and 90 %, 90 and
// 99 %, and so on.
const stepsPerDecade = 20

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
	n, err := io.Copy(sum, io.LimitReader(log, d.Bytes))
	if err != nil {
		return err
	}
	rest, err := io.Copy(io.Discard, io.LimitReader(log, 1))
	switch {
	case err != nil:
		return err
	case n < d.Bytes:
		return fmt.Errorf("it is damaged: it has %d bytes, and had %d", n, d.Bytes)
	case hex.EncodeToString(sum.Sum(nil)) != d.SHA256:
		return errors.New("it is damaged: its SHA-256 is not the one in " + RunFile)
	case rest > 0 && !more:
		return fmt.Errorf("it is damaged: it has more than the %d bytes that it had", d.Bytes)
	}
	_, err = log.Seek(0, io.SeekStart)
	return err
}

// OpenCurves reads the curves of a run from its directory.
func OpenCurves(dir string, r *Run) ([]Curve, error) {
	f, err := OpenLog(dir, r)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	curves, err := ReadCurves(r, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return curves, nil
}

// ReadCurves reads the curves of the run's measured phases from its latency log, in the order of its
// cells.
func ReadCurves(r *Run, log io.Reader) ([]Curve, error) {
	type of struct{ model, engine, phase, op string }
	var order []of
	tags := map[string]of{}
	for _, c := range r.Select((*Cell).Measured) {
		for _, op := range OpsOf([]*Cell{c}) {
			k := of{c.Model, c.Engine, c.Where(), op}
			order, tags[c.Tag(op, c.logged().String())] = append(order, k), k
		}
	}
	total, err := latency.ReadLog(log, func(tag string) (of, bool) { k, ok := tags[tag]; return k, ok })
	if err != nil {
		return nil, fmt.Errorf("read percentile curves: %w", err)
	}
	var curves []Curve
	for _, k := range order {
		if h := total[k]; h != nil {
			curves = append(curves, Curve{k.model, k.engine, k.phase, k.op, points(h)})
		}
		delete(total, k) // other trials have the same
	}
	return curves, nil
}

// logged is the kind of time in the latency log of which the cell shows percentiles. Logs of mailbench 0.1
// have no latencies: see Times.OK.
func (c *Cell) logged() latency.Kind {
	for _, o := range c.Ops {
		if o.Latency != nil {
			return latency.Latency
		}
	}
	if c.Arrivals == "closed" || !c.Measured() {
		return latency.Service
	}
	return latency.Response
}

// points samples a distribution at even steps of the logarithm of 1/(1-p). The last
// percentile is the one that only the slowest value is beyond.
func points(h *latency.Histogram) (all []Point) {
	last := math.Log10(float64(h.Count()))
	for i := 0; float64(i) < last*stepsPerDecade; i++ {
		p := 100 * (1 - math.Pow(10, -float64(i)/stepsPerDecade))
		all = append(all, Point{p, h.At(p, 0)})
	}
	return append(all, Point{100 * (1 - math.Pow(10, -last)), h.Max()}) // the maximum that the figures have
}
