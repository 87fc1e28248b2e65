package latency

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// ReadLog reads an interval log. Of returns the key that the intervals of a tag are added to, or
// false if the tag is not wanted. ReadLog returns the sum for each key, and holds only one
// histogram more than these. It leaves out a last line without an end, which a process was
// writing when it was killed.
func ReadLog[K comparable](r io.Reader, of func(tag string) (K, bool)) (map[K]*hdr.Histogram, error) {
	total := map[K]*hdr.Histogram{}
	for in := hdr.NewHistogramLogReader(&wholeLines{in: bufio.NewReaderSize(r, 1<<16)}); ; {
		h, err := in.NextIntervalHistogram()
		if err != nil {
			return nil, fmt.Errorf("read latency log: %w", err)
		}
		if h == nil {
			return total, nil
		}
		name, wanted := of(h.Tag())
		switch sum := total[name]; {
		case !wanted || h.TotalCount() == 0:
		case !ours(h):
			return nil, fmt.Errorf("read latency log: a histogram of %d to %d with %d digits is not one of mailbench's",
				h.LowestTrackableValue(), h.HighestTrackableValue(), h.SignificantFigures())
		case sum == nil:
			total[name] = h
		case sum.TotalCount() > math.MaxInt64-h.TotalCount():
			return nil, errors.New("read latency log: it has more values than can be counted")
		default:
			sum.Merge(h)
		}
	}
}

// ours reports whether a histogram has the range and digits of a recorder's. Others are
// refused, because a line of 60 bytes can say that its histogram takes 50 MB.
func ours(h *hdr.Histogram) bool {
	d := h.SignificantFigures()
	return h.LowestTrackableValue() == 1 && h.HighestTrackableValue() == int64(Highest) &&
		(d == digits || d == digitsRough)
}

// longestLine bounds a line of a log. The fullest histogram of a recorder takes 350 KB.
const longestLine = 1 << 20

// wholeLines reads whole lines. It leaves out a last line without an end.
type wholeLines struct {
	in   *bufio.Reader
	line []byte // rest of the line that was read last
}

// Read implements io.Reader.
func (w *wholeLines) Read(b []byte) (int, error) {
	if len(w.line) == 0 {
		var line []byte
		for {
			part, err := w.in.ReadSlice('\n')
			if line = append(line, part...); err == nil {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return 0, err
			}
			if len(line) > longestLine {
				return 0, errors.New("it has a line that is too long")
			}
		}
		w.line = line
	}
	n := copy(b, w.line)
	w.line = w.line[n:]
	return n, nil
}
