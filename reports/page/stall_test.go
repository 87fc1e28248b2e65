package page

import (
	"bytes"
	"context"
	"flag"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/james"
	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/run"
)

var stallPicture = flag.String("stall", "", "`FILE` for the picture of TestStallPicture")

// TestStallPicture draws docs/stall.svg and logs the values of docs/results.md: an engine that
// takes 2 ms longer than the embedded one and stalls for 1 s of every 10, once with an
// open loop and once with a closed one. It takes a minute:
//
//	go test ./reports/page -run TestStallPicture -v -stall "$PWD/docs/stall.svg"
func TestStallPicture(t *testing.T) {
	if *stallPicture == "" {
		t.Skip("takes a minute: -stall FILE")
	}
	w, err := workloads.Parse("stall.yaml", []byte(`
version: 1
name: stall
population: {users: 20, folders: 2, messages: 10}
phases:
  - load: {}
  - measure: {name: open, rate: 1000/s, duration: 20s, mix: {list: 1}}
  - measure: {name: closed, clients: 1, duration: 20s, mix: {list: 1}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	r, err := run.Run(t.Context(), run.Config{
		Workload: w, Mail: messages.NewGenerator(w), LatencyLog: &log,
		Models: []models.Model{james.Model()}, Engines: []drivers.Engine{stalling(pebble.Engine())},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Kind == results.KindMeasure {
			t.Log(c.Phase, c.Verdict, c.Reason)
		}
	}
	open := results.Key{Model: "james", Engine: "embedded", Phase: "open", Trial: 1, Segment: 1}.Tag
	closed := results.Key{Model: "james", Engine: "embedded", Phase: "closed", Trial: 1, Segment: 1}.Tag
	all, err := latency.ReadLog(&log, func(tag string) (string, bool) { return tag, true })
	if err != nil {
		t.Fatal(err)
	}
	var curves []document.Line
	for _, line := range []struct{ name, tag string }{
		{"open loop, 1000/s: response (what a user waits)", open("list", "response")},
		{"open loop, 1000/s: service (what the calls take)", open("list", "service")},
		{"closed loop, 1 client: service", closed("list", "service")},
	} {
		of := all[line.tag]
		if of == nil {
			t.Fatalf("the log has no %s", line.tag)
		}
		curves = append(curves, distribution(line.name, of))
		figures := []string{words.Amount(float64(of.Count()))}
		for _, q := range []float64{50, 90, 99, 99.9} {
			figures = append(figures, words.Duration(float64(of.At(q, 0))))
		}
		figures = append(figures, words.Duration(float64(of.Max())))
		t.Logf("| %s | %s |", line.name, strings.Join(figures, " | "))
	}
	f, err := os.Create(*stallPicture)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := drawPicture(f, "An engine that stands still for 1 s of every 10", curves); err != nil {
		t.Fatal(err)
	}
}

// distribution is the curve of a histogram, at even steps of the logarithm of 1/(1-p).
func distribution(name string, h *latency.Histogram) document.Line {
	c := document.Line{Name: name}
	for left := 1.0; left*float64(h.Count()) >= 1; left *= 0.9 {
		c.Points = append(c.Points, document.Point{X: -math.Log10(left), Y: float64(h.At(100*(1-left), 0))})
	}
	return c
}

// stalling is an engine as if over a network, which answers no read for a second of every
// ten.
func stalling(e drivers.Engine) drivers.Engine {
	open, began := e.Open, time.Now()
	e.Open = func(ctx context.Context, o drivers.Options) (drivers.Store, error) {
		s, err := open(ctx, o)
		return stallingStore{s, began}, err
	}
	return e
}

type stallingStore struct {
	drivers.Store
	began time.Time
}

func (s stallingStore) Session() (drivers.Session, error) {
	session, err := s.Store.Session()
	return stallingSession{session, s.began}, err
}

type stallingSession struct {
	drivers.Session
	began time.Time
}

func (s stallingSession) Read(ctx context.Context, st drivers.Statement, args []drivers.Value, yield func(row []drivers.Value) error) error {
	const every, stall, network = 10 * time.Second, time.Second, 2 * time.Millisecond
	time.Sleep(network)
	if at := time.Since(s.began) % every; at >= every-stall {
		time.Sleep(every - at)
	}
	return s.Session.Read(ctx, st, args, yield)
}
