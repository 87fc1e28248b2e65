package results

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestCurves(t *testing.T) {
	r := soundSample()
	curves, err := ReadCurves(r, sampleLog(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(curves) != 4 {
		t.Fatalf("%d curves, want those of 2 operations of 2 models", len(curves))
	}
	for _, c := range curves {
		unit := map[string]int64{"james": 1000, "conversation": 2000}[c.Model] * map[string]int64{"list": 1, "open": 10}[c.Op]
		near := func(at float64, want int64) {
			t.Helper()
			for _, p := range c.Points {
				if math.Abs(p.Percentile-at) < 1e-6 {
					if math.Abs(float64(p.Nanoseconds)/float64(want)-1) > 0.002 {
						t.Errorf("%s of %s at %v is %d, want %d", c.Op, c.Model, at, p.Nanoseconds, want)
					}
					return
				}
			}
			t.Errorf("%s of %s has no point at %v", c.Op, c.Model, at)
		}
		// 1 to 1000 units, from both intervals of the log.
		near(0, unit)
		near(90, 900*unit)
		near(99, 990*unit)
		near(99.9, 1000*unit)
		for i := 1; i < len(c.Points); i++ {
			if c.Points[i].Nanoseconds < c.Points[i-1].Nanoseconds || c.Points[i].Percentile <= c.Points[i-1].Percentile {
				t.Errorf("%s of %s falls after point %d", c.Op, c.Model, i-1)
			}
		}
	}
}

// soundSample is the sample with times of all cells that hold.
func soundSample() *Run {
	r := sample()
	c := &r.Cells[troubled]
	c.Verdict = OK
	return r
}

// A curve is of all trials and segments of a cell.
func TestCurvesOfSeveralTrials(t *testing.T) {
	r := soundSample()
	second := r.Cells[troubled]
	second.Trial, second.Segment = 2, 3
	r.Cells = append(r.Cells, second)
	log := sampleLog(t).String()
	log += strings.ReplaceAll(log, "james/embedded/measure/1/1/", "james/embedded/measure/2/3/")
	curves, err := ReadCurves(r, strings.NewReader(log))
	if err != nil || len(curves) != 4 || curves[0].Model != "james" {
		t.Fatalf("%v, %+v", err, curves)
	}
	// A curve ends at the percentile that only the slowest operation is beyond.
	const want = 100 * (1 - 1.0/2000)
	if ps := curves[0].Points; math.Abs(ps[len(ps)-1].Percentile-want) > 1e-9 {
		t.Errorf("the curve of 2000 operations ends at %v, want %v", ps[len(ps)-1].Percentile, want)
	}
}

func TestBrokenLogIsRefused(t *testing.T) {
	if _, err := ReadCurves(sample(), strings.NewReader("Tag=james/embedded/measure/1/1/list/response,1,1,1,broken\n")); err == nil {
		t.Error("a broken log is read without an error")
	}
}

// Tests of other packages read the sample as a result folder.
func TestSampleFolder(t *testing.T) {
	var run bytes.Buffer
	s, log := sample(), sampleLog(t).Bytes()
	s.LatencyLog = &LogDigest{Bytes: int64(len(log)), SHA256: fmt.Sprintf("%x", sha256.Sum256(log))}
	if err := WriteJSON(&run, s); err != nil {
		t.Fatal(err)
	}
	golden(t, "sample/"+RunFile, run.Bytes())
	golden(t, "sample/"+LatencyFile, log)
	r, err := Open("testdata/sample")
	if err != nil {
		t.Fatal(err)
	}
	if curves, err := OpenCurves("testdata/sample", r); err != nil || len(curves) != 4 { // also of the invalid cell
		t.Errorf("%d curves, %v", len(curves), err)
	}
}
