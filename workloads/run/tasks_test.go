package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/results"
)

// breaking is a source of mail that reports each message of a load before it is made.
type breaking struct {
	messages.Source
	at func(n uint64) error
}

// breaks gives a run such a source. Messages that are made before all loads are samples.
func (c *Config) breaks(at func(n uint64) error) {
	var began atomic.Bool
	c.Progress = func(Progress) { began.Store(true) }
	c.Mail = breaking{messages.NewGenerator(c.Workload), func(n uint64) error {
		if !began.Load() {
			return nil
		}
		return at(n)
	}}
}

func (b breaking) Reader() messages.Reader { return breakingReader{b.Source.Reader(), b.at} }

type breakingReader struct {
	messages.Reader
	at func(n uint64) error
}

func (r breakingReader) Message(n uint64, date time.Time, m *mail.Message) error {
	if err := r.at(n); err != nil {
		return err
	}
	return r.Reader.Message(n, date, m)
}

// loads are the points with a load, each with how many messages it delivered and its note.
func loads(r *results.Run) (all []string) {
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Kind == results.KindLoad {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s: %d %s", c.Point, c.Ops["deliver"].Count, c.Evidence.Load)))
		}
	}
	return all
}

// A sweep whose load was interrupted goes on with it: the data set is completed, and those of the points before are used
// again.
func TestSweepGoesOn(t *testing.T) {
	c := sweptConfig(t, "")
	c.Models, c.DataDir, c.Workers, c.Audit = c.Models[:1], t.TempDir()+"/data", 1, AuditAfter
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.breaks(func(n uint64) error {
		if n == 30 { // the load at 20 delivers 40
			cancel()
		}
		return nil
	})
	r, err := Run(ctx, c)
	if err != nil || !r.Interrupted {
		t.Fatalf("%v, %+v", err, r)
	}
	c.Mail = nil
	r = runOK(t, c)
	got := loads(r)
	if len(got) != 2 || !strings.HasPrefix(got[0], "20: ") || !strings.Contains(got[0], "continues a load that was interrupted, with") ||
		got[1] != "40: 80" {
		t.Errorf("%q", got)
	}
	if len(r.Audits) != 4 || r.Audits[3].Verified != 80 {
		t.Errorf("%+v", r.Audits)
	}
}

// A point that cannot be executed leaves the others as they are.
func TestSweepWithoutAPoint(t *testing.T) {
	c := sweptConfig(t, "")
	c.Models, c.Workers = c.Models[:1], 1
	failed := false
	c.breaks(func(n uint64) error {
		if n == 15 && !failed { // the load at 10 delivers 20
			failed = true
			return errors.New("no message")
		}
		return nil
	})
	r := runOK(t, c)
	got := loads(r)
	if len(got) != 4 || got[0] != "5: 10" || !strings.HasPrefix(got[1], "10: 15") || got[2] != "20: 40" || got[3] != "40: 80" {
		t.Errorf("%q", got)
	}
	for i := range r.Cells {
		if c := &r.Cells[i]; (c.Error != "") != (c.Point == "10") {
			t.Errorf("%s: %q", c.Key, c.Error)
		}
	}
}

// A sweep may be of users, folders or anything else. One of the population says how many messages each point had.
func TestSweepOfPopulation(t *testing.T) {
	for sweep, want := range map[string]string{
		"population.users=1,3":   "1: 4, 3: 12",
		"population.folders=1,2": "1: 8, 2: 16",
		"mail.body=1KB,2KB":      "1KB: 8, 2KB: 8",
	} {
		c := sweptConfig(t, "")
		c.Models = c.Models[:1]
		path, values, _ := strings.Cut(sweep, "=")
		var err error
		if c.Workload, err = workloads.Parse("sweep.yaml", c.Workload.Source, "population.messages=4", fmt.Sprintf("sweep={%s: [%s]}", path, values)); err != nil {
			t.Fatal(err)
		}
		r := runOK(t, c)
		if got := strings.Join(loads(r), ", "); got != want {
			t.Errorf("%s: %s, want %s", sweep, got, want)
		}
		for i := range r.Cells {
			cell := &r.Cells[i]
			if held := cell.Evidence.Held; cell.Measured() && (held != nil) != strings.HasPrefix(path, "population") {
				t.Errorf("%s: %+v", cell.Key, held)
			}
		}
	}
}

// A phase that changes the size by much is reported, at its point only.
func TestSweepOfAnotherSize(t *testing.T) {
	c := sweptConfig(t, "")
	c.Models = c.Models[:1]
	var err error
	if c.Workload, err = workloads.Parse("sweep.yaml", c.Workload.Source, "phases.measure.mix={deliver: 1}", "phases.measure.operations=5", "sweep={population.messages: [10, 40]}"); err != nil {
		t.Fatal(err)
	}
	r := runOK(t, c)
	var got []string
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Measured() {
			h := c.Evidence.Held
			doubted := slices.ContainsFunc(c.Doubts, func(d results.Doubt) bool { return d.Code == "other-size" })
			got = append(got, fmt.Sprintf("%d of %d, then %d: %v", h.Before, h.Said, h.After, doubted))
		}
	}
	if want := []string{"20 of 20, then 25: true", "80 of 80, then 85: false"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The disk must have room for what a sweep adds: all points if they are kept, but not what is there already.
func TestSweepDisk(t *testing.T) {
	c := sweptConfig(t, "")
	c.Models, c.DataDir = c.Models[:1], t.TempDir()+"/data"
	need := func(set ...string) float64 {
		one := c
		var err error
		if one.Workload, err = workloads.Parse("sweep.yaml", c.Workload.Source, set...); err != nil {
			t.Fatal(err)
		}
		points, err := one.points(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p, err := one.plan(t.Context(), points, c.DataDir, 0)
		if err != nil {
			t.Fatal(err)
		}
		bytes := p.Need
		if err := fitsIn(t, &one, points, bytes+1); err != nil {
			t.Errorf("%q: a disk that is large enough: %v", set, err)
		}
		if err := fitsIn(t, &one, points, bytes-1); bytes > 1 && !errors.Is(err, ErrDisk) {
			t.Errorf("%q: a disk that is too small: %v", set, err)
		}
		return bytes
	}
	alone := func(messages int) float64 {
		return need("sweep={}", fmt.Sprintf("population.messages=%d", messages))
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 0.05*want+1 {
			t.Errorf("%s: %.0f bytes, want %.0f", what, got, want)
		}
	}
	whole, others := alone(40), alone(20)+alone(10)+alone(5)
	near("a sweep", need(), whole+others)
	c.Trials = 2
	near("two trials", need(), 2*(whole+others))
	c.Trials = 1
	if _, err := os.Stat(c.DataDir); err == nil {
		t.Error("there is a data folder")
	}
	runOK(t, c)
	near("a sweep again", need(), 0)
	near("a point that grows", need("sweep={population.messages: [5, 10, 20, 50]}"), whole/4)
}

// How deep a page is read can be swept: every model begins it after the page before, and finds nothing
// beyond the end.
func TestSweepOfDepth(t *testing.T) {
	w, err := workloads.Parse("depth.yaml", []byte(`version: 1
name: depth
mail: {body: 1KB}
population: {users: 1, messages: 20}
phases:
  - load: {clients: 1}
  - measure: {clients: 1, operations: 5, mix: {list: {weight: 1, page: 5, page_number: 1}}}
sweep: {phases.measure.mix.list.page_number: [1, 3, 6]}
`))
	if err != nil {
		t.Fatal(err)
	}
	r := runOK(t, Config{Workload: w, Models: bundledModels(), Engines: []drivers.Engine{embedded()}})
	rows := map[string]map[string]float64{}
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Measured() {
			if rows[c.Model] == nil {
				rows[c.Model] = map[string]float64{}
			}
			rows[c.Model][c.Point] = c.Ops["list"].Store.RowsRead
		}
	}
	for model, at := range rows {
		if at["1"] < 5 || at["3"] != at["1"] || at["6"] > at["1"]-5 {
			t.Errorf("%s: a list reads %v rows by its depth", model, at)
		}
	}
	if len(rows) != 5 {
		t.Errorf("%d models", len(rows))
	}
}
