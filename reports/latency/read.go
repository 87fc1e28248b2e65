package latency

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// ReadLog reads an interval log. It returns the sum of all intervals of each tag that
// keep accepts. A last line without an end is what a process was writing when it was
// killed; it is left out.
func ReadLog(r io.Reader, keep func(tag string) bool) (map[string]*hdr.Histogram, error) {
	total := map[string]*hdr.Histogram{}
	for in := hdr.NewHistogramLogReader(&wholeLines{in: bufio.NewReaderSize(r, 1<<16)}); ; {
		h, err := in.NextIntervalHistogram()
		if err != nil {
			return nil, fmt.Errorf("read latency log: %w", err)
		}
		if h == nil {
			return total, nil
		}
		switch tag := h.Tag(); {
		case !keep(tag):
		case total[tag] == nil:
			total[tag] = h
		default:
			total[tag].Merge(h)
		}
	}
}

// longestLine bounds a line of a log, which has all histograms of mailbench in less than 1 MB.
const longestLine = 16 << 20

// wholeLines reads what ends with a line's end, line by line.
type wholeLines struct {
	in   *bufio.Reader
	line []byte // what of it was not asked for yet
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
