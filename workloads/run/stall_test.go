package run

import (
	"bytes"
	"context"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/james"
	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/reports/page"
	"github.com/mailbench/mailbench/reports/units"
)

var stallPicture = flag.String("stall", "", "`FILE` for the picture of TestStallPicture")

// TestStallPicture draws docs/stall.svg and logs the figures of docs/stall.md: an engine that
// takes 2 ms longer than the embedded one and stands still for 1 s of every 10, once with an
// open loop and once with a closed one. It takes a minute:
//
//	go test ./workloads/run -run TestStallPicture -v -stall "$PWD/docs/stall.svg"
func TestStallPicture(t *testing.T) {
	if *stallPicture == "" {
		t.Skip("takes a minute: -stall FILE")
	}
	c := config(t, newFake(), `
  - measure: {name: open, rate: 1000/s, duration: 20s, mix: {list: 1}}
  - measure: {name: closed, clients: 1, duration: 20s, mix: {list: 1}}
`)
	var log bytes.Buffer
	c.Models, c.Engines, c.LatencyLog = []models.Model{james.Model()}, []drivers.Engine{stalling(pebble.Engine())}, &log
	c.Workers, c.NoFloor = 0, true
	r := runOK(t, c)
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Kind == reports.KindMeasure {
			t.Log(c.Phase, c.Verdict, why(*c))
		}
	}
	open := reports.Key{Model: "james", Engine: "embedded", Phase: "open", Trial: 1, Shard: 1}.Tag
	closed := reports.Key{Model: "james", Engine: "embedded", Phase: "closed", Trial: 1, Shard: 1}.Tag
	all, err := latency.ReadLog(&log, func(tag string) (string, bool) { return tag, true })
	if err != nil {
		t.Fatal(err)
	}
	var curves []reports.Curve
	for _, line := range []struct{ name, tag string }{
		{"open loop, 1000/s: response (what a user waits)", open("list", "response")},
		{"open loop, 1000/s: service (what the calls take)", open("list", "service")},
		{"closed loop, 1 client: service", closed("list", "service")},
	} {
		of := all[line.tag]
		if of == nil {
			t.Fatalf("the log has no %s", line.tag)
		}
		curves = append(curves, reports.Distribution(line.name, of))
		figures := []string{units.Amount(float64(of.TotalCount()))}
		for _, q := range []float64{50, 90, 99, 99.9} {
			figures = append(figures, units.Duration(float64(of.ValueAtQuantile(q))))
		}
		figures = append(figures, units.Duration(float64(of.Max())))
		t.Logf("| %s | %s |", line.name, strings.Join(figures, " | "))
	}
	f, err := os.Create(*stallPicture)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := page.Picture(f, "An engine that stands still for 1 s of every 10", curves); err != nil {
		t.Fatal(err)
	}
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
