package latency

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Log is an interval log: HdrHistogram's log format 1.3 with histograms encoded as V2.
// It has a line for each interval, operation and kind that has values. Times are
// seconds since 1970. docs/results.md says how to read it.
type Log struct {
	out  *bufio.Writer
	hdr  *hdr.HistogramLogWriter
	line [digits + 1]*hdr.Histogram // by digits: the histogram that is written
	err  error                      // the first error; nothing is written after it
}

// NewLog begins a log of a run that started at that time.
func NewLog(w io.Writer, started time.Time) (*Log, error) {
	out := bufio.NewWriterSize(w, 1<<16)
	l := &Log{out: out, hdr: hdr.NewHistogramLogWriter(out)}
	if err := cmp.Or(
		l.hdr.OutputComment("[mailbench latencies in nanoseconds; tag: model/engine/phase/trial/segment/operation/kind]"),
		l.hdr.OutputLogFormatVersion(), l.hdr.OutputStartTime(started.UnixMilli()), l.hdr.OutputLegend(),
	); err != nil {
		return nil, fmt.Errorf("write latency log: %w", err)
	}
	return l, nil
}

// Write adds one interval of a cell. Ops are what Tick returned, of operations with these names; "": the log does not
// have it. Tag returns the tag of one kind of time of an operation.
func (l *Log) Write(tag func(op, kind string) string, names []string, ops []Op, from, to time.Time) {
	for i := range ops {
		for k := range ops[i].Times {
			h := &ops[i].Times[k]
			if names[i] != "" && h.Count() > 0 && Kind(k) < Free { // Service has those of Free, too
				l.WriteOne(tag(names[i], Kind(k).String()), h, from, to)
			}
		}
	}
}

// WriteOne adds one interval of one histogram, which may have no values.
func (l *Log) WriteOne(tag string, h *Histogram, from, to time.Time) {
	precise := cmp.Or(h.digits, digitsRough)
	if l.line[precise] == nil {
		l.line[precise] = hdr.New(1, int64(Highest), precise)
	}
	line := l.line[precise]
	line.Reset()
	for b := range h.Buckets {
		_ = line.RecordValues(b.From, b.Count) // it has the same buckets
	}
	line.SetTag(tag)
	line.SetStartTimeMs(from.UnixMilli())
	line.SetEndTimeMs(to.UnixMilli())
	if l.err == nil {
		l.err = l.hdr.OutputIntervalHistogram(line)
	}
}

// Flush writes what is buffered. The lines written so far are then a whole log. It returns the first error of the log.
func (l *Log) Flush() error {
	if l == nil { // none is written
		return nil
	}
	if err := cmp.Or(l.err, l.out.Flush()); err != nil {
		return fmt.Errorf("write latency log: %w", err)
	}
	return nil
}

// longestLine bounds a line of a log. The fullest histogram of a recorder takes 350 KB.
const longestLine = 1 << 20

// ReadLog reads an interval log. Of returns the key that the intervals of a tag are added to, or
// false if the tag is not wanted. ReadLog returns the sum for each key, and holds only two
// histograms more than these. It leaves out a last line without an end, which a process was
// writing when it was killed.
func ReadLog[K comparable](r io.Reader, of func(tag string) (K, bool)) (map[K]*Histogram, error) {
	total := map[K]*Histogram{}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 1<<16), longestLine)
	lines.Split(func(data []byte, _ bool) (int, []byte, error) {
		if end := bytes.IndexByte(data, '\n'); end >= 0 {
			return end + 1, data[:end], nil
		}
		return 0, nil, nil
	})
	for lines.Scan() {
		line, tagged := bytes.CutPrefix(lines.Bytes(), []byte("Tag="))
		tag, values, _ := bytes.Cut(line, []byte(","))
		name, wanted := of(string(tag))
		if !tagged || !wanted { // three of four kinds of time, which would take most of the time to decode
			continue
		}
		h, err := hdr.Decode(values[bytes.LastIndexByte(values, ',')+1:])
		if err != nil {
			return nil, fmt.Errorf("read latency log: %w", err)
		}
		// Others than those of a recorder are refused: a line of 60 bytes can say that its histogram takes 50 MB.
		d := h.SignificantFigures()
		ours := h.LowestTrackableValue() == 1 && h.HighestTrackableValue() == int64(Highest) &&
			(d == digits || d == digitsRough)
		switch sum := total[name]; {
		case h.TotalCount() == 0:
			continue
		case !ours:
			return nil, fmt.Errorf("read latency log: a histogram of %d to %d with %d digits is not one of mailbench's",
				h.LowestTrackableValue(), h.HighestTrackableValue(), h.SignificantFigures())
		case sum == nil:
			total[name] = NewHistogram(int(d))
		case sum.count > math.MaxInt64-h.TotalCount():
			return nil, errors.New("read latency log: it has more values than can be counted")
		}
		own := NewHistogram(int(d))
		own.of, own.count = h.Export().Counts, h.TotalCount() // the buckets are the same
		total[name].Add(own)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read latency log: %w", err)
	}
	return total, nil
}

// PartTime is how long one part of an operation took, such as a call of an access pattern, and how many requests it
// sent.
type PartTime struct {
	Name  string
	Took  time.Duration
	Calls int64
}

// Part are the times of one part of an operation, and its requests.
type Part struct {
	Name  string
	Calls int64
	Times *Histogram
}

// partOf is the part of that name, which is new if there is none.
func partOf(all *[]Part, name string) *Part {
	for i := range *all {
		if (*all)[i].Name == name {
			return &(*all)[i]
		}
	}
	*all = append(*all, Part{Name: name, Times: NewHistogram(digitsRough)})
	return &(*all)[len(*all)-1]
}

// Parts are the parts of some operations together, when the workers have ended.
func (r *Recorder) Parts(ops ...int) (all []Part) {
	for _, w := range r.workers {
		w.mu.Lock()
		for _, op := range ops {
			for _, p := range w.parts[op] {
				to := partOf(&all, p.Name)
				to.Calls += p.Calls
				to.Times.Add(p.Times)
			}
		}
		w.mu.Unlock()
	}
	return all
}
