package latency

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// logged is a log with one interval of a histogram.
func logged(t testing.TB, tag string, h *hdr.Histogram) string {
	var text bytes.Buffer
	start := time.Unix(1_700_000_000, 0)
	l, err := NewLog(&text, start)
	if err == nil {
		h.SetTag(tag)
		h.SetStartTimeMs(start.UnixMilli())
		h.SetEndTimeMs(start.UnixMilli() + 1000)
		l.err = l.hdr.OutputIntervalHistogram(h)
		err = l.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// of returns a histogram with values.
func of(h *hdr.Histogram, values ...int64) *hdr.Histogram {
	for _, v := range values {
		h.RecordValue(v)
	}
	return h
}

// byFirst adds up tags with the same first letter, and wants no others than a and b.
func byFirst(tag string) (byte, bool) {
	if tag == "" || tag[0] != 'a' && tag[0] != 'b' {
		return 0, false
	}
	return tag[0], true
}

// TestForeignHistograms: a log gets no more memory than histograms of mailbench take, and a
// sum never wraps.
func TestForeignHistograms(t *testing.T) {
	own := func() *hdr.Histogram { return hdr.New(1, int64(Highest), digits) }
	good := logged(t, "a1", of(own(), 5, 500)) + logged(t, "a2", of(own(), 7)) + logged(t, "c", of(own(), 9))
	sums, err := ReadLog(strings.NewReader(good), byFirst)
	if err != nil || len(sums) != 1 || sums['a'].Count() != 3 {
		t.Fatalf("sums %v, %v", sums, err)
	}
	full := own()
	if err := full.RecordValues(1, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{
		"is not one of mailbench's":           logged(t, "a", of(hdr.New(1, math.MaxInt64/2, 5), 5)), // 50 MB
		"more values than can be counted":     logged(t, "a", full) + logged(t, "a", of(own(), 5)),
		"too long":                            "Tag=a," + strings.Repeat("1", longestLine+1<<17) + "\n",
		"encoded histogram too short: got 3 ": "Tag=a,1.0,1.0,1.0,QUJD\n",
	} {
		if _, err := ReadLog(strings.NewReader(text), byFirst); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("error %v, want %q", err, what)
		}
	}
}

// FuzzLog: a log is refused, or has the requested part and no more, in histograms of a
// recorder's size.
func FuzzLog(f *testing.F) {
	own := of(hdr.New(1, int64(Highest), digits), 5, 500, 1e9)
	whole := logged(f, "a", own)
	f.Add(whole)
	f.Add(whole[:len(whole)-9])
	f.Add(strings.ReplaceAll(whole, "Tag=a,", "Tag="))
	f.Add(strings.ReplaceAll(whole, "HISTF", "HISTE"))
	f.Add(whole + strings.ReplaceAll(logged(f, "b", of(hdr.New(1, int64(Highest), digitsRough), 5)), "#", ""))
	f.Add(logged(f, "a", of(hdr.New(1, math.MaxInt64/2, 5), 5)))
	f.Add("#[StartTime: ...\nTag=a\n,,,\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		sums, err := ReadLog(strings.NewReader(text), byFirst)
		if err != nil {
			return
		}
		if len(sums) > 2 {
			t.Errorf("%d sums of 2 names", len(sums))
		}
		for name, h := range sums {
			if h.Count() <= 0 || 8*len(h.of) > 300_000 || h.Max() < h.At(0, 0) {
				t.Errorf("%c: %d values from %d to %d in %d bytes", name, h.Count(), h.At(0, 0), h.Max(), 8*len(h.of))
			}
		}
	})
}

// A line that cannot be written ends the log, and Flush says why.
func TestLogKeepsItsFirstError(t *testing.T) {
	var text bytes.Buffer
	start := time.Unix(0, 0)
	l, err := NewLog(&text, start)
	if err != nil {
		t.Fatal(err)
	}
	h := NewHistogram(digits)
	h.Record(5, 1)
	for _, tag := range []string{"a", "b, c", "d"} {
		l.WriteOne(tag, h, start, start.Add(time.Second))
	}
	if err := l.Flush(); err == nil || !strings.Contains(err.Error(), "b, c") {
		t.Errorf("error %v, want that of the second line", err)
	}
	if got := strings.Count(text.String(), "Tag="); got != 1 {
		t.Errorf("%d lines, want the first", got)
	}
}
