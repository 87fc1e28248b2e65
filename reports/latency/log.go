package latency

import (
	"bufio"
	"fmt"
	"io"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Log is an interval log: HdrHistogram's log format 1.3 with histograms encoded as V2.
// It has a line for each interval, operation and kind that has values. Times are
// seconds since 1970. docs/results.md says how to read it.
type Log struct {
	out *bufio.Writer
	hdr *hdr.HistogramLogWriter
}

// NewLog begins a log of a run that started at that time.
func NewLog(w io.Writer, started time.Time) (*Log, error) {
	out := bufio.NewWriterSize(w, 1<<16)
	l := &Log{out: out, hdr: hdr.NewHistogramLogWriter(out)}
	for _, step := range []func() error{
		func() error {
			return l.hdr.OutputComment("[mailbench latencies in nanoseconds; tag: model/engine/phase/trial/shard/operation/kind]")
		},
		l.hdr.OutputLogFormatVersion,
		func() error { return l.hdr.OutputStartTime(started.UnixMilli()) },
		l.hdr.OutputLegend,
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("write latency log: %w", err)
		}
	}
	return l, nil
}

// Write adds one interval of a cell. Ops are what Tick returned. Tag returns the tag of
// one kind of time of the operation with that index.
func (l *Log) Write(tag func(op int, k Kind) string, ops []Op, from, to time.Time) error {
	for i := range ops {
		for k, h := range ops[i].Times {
			if h == nil || h.TotalCount() == 0 {
				continue
			}
			if err := l.WriteOne(tag(i, Kind(k)), h, from, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// WriteOne adds one interval of one histogram.
func (l *Log) WriteOne(tag string, h *hdr.Histogram, from, to time.Time) error {
	h.SetTag(tag)
	h.SetStartTimeMs(from.UnixMilli())
	h.SetEndTimeMs(to.UnixMilli())
	if err := l.hdr.OutputIntervalHistogram(h); err != nil {
		return fmt.Errorf("write latency log: %w", err)
	}
	return nil
}

// Flush writes what is buffered. The lines written so far are then a whole log.
func (l *Log) Flush() error {
	if err := l.out.Flush(); err != nil {
		return fmt.Errorf("write latency log: %w", err)
	}
	return nil
}
