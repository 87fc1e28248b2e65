package latency

import (
	"bufio"
	"fmt"
	"io"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Log is an interval log (HDR histogram log format 1.3, histograms encoded as
// V2): one line for each interval, operation and kind that has values, with
// times in seconds since 1970. HistogramLogProcessor and hdr-plot read it.
type Log struct {
	out *bufio.Writer
	hdr *hdr.HistogramLogWriter
}

// NewLog begins a log that was started at that time.
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

// Write adds one interval of a cell: ops as Tick returned them. Tag names one
// kind of time of the operation of an index.
func (l *Log) Write(tag func(op int, k Kind) string, ops []Op, from, to time.Time) error {
	for i := range ops {
		for k, h := range ops[i].Times {
			if h == nil || h.TotalCount() == 0 {
				continue
			}
			h.SetTag(tag(i, Kind(k)))
			h.SetStartTimeMs(from.UnixMilli())
			h.SetEndTimeMs(to.UnixMilli())
			if err := l.hdr.OutputIntervalHistogram(h); err != nil {
				return fmt.Errorf("write latency log: %w", err)
			}
		}
	}
	return nil
}

// Flush writes what is buffered. What was flushed is a whole log.
func (l *Log) Flush() error {
	if err := l.out.Flush(); err != nil {
		return fmt.Errorf("write latency log: %w", err)
	}
	return nil
}
