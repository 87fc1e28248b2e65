package latency

import (
	"fmt"
	"io"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// ReadLog reads an interval log. It returns the sum of all intervals of each tag that
// keep accepts.
func ReadLog(r io.Reader, keep func(tag string) bool) (map[string]*hdr.Histogram, error) {
	total := map[string]*hdr.Histogram{}
	for in := hdr.NewHistogramLogReader(r); ; {
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
