//go:build campaigns

package campaigns

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads/results"
)

// TestFaults is the campaign of faults, "make check CHECK=faults". It takes hours:
//
//	MAILBENCH_FAULTS=FILE       where each round is written to; what is there already is not done again
//	MAILBENCH_FAULT_MOST=10     at most so many of each fault
//	MAILBENCH_FAULT_MODELS=all  see faultModels
//
// -run TestFaults/cassandra/kill picks an engine and a fault. In the end it prints
// a table of all rounds in the file; docs/internals/reliability.md has its chief columns.
func TestFaults(t *testing.T) {
	file := os.Getenv("MAILBENCH_FAULTS")
	if file == "" {
		t.Skip("make check CHECK=faults does this, for hours")
	}
	c := &campaign{file: file, models: faultModels(t, "all"), most: 1 << 30}
	if s := os.Getenv("MAILBENCH_FAULT_MOST"); s != "" {
		var err error
		if c.most, err = strconv.Atoi(s); err != nil {
			t.Fatal("MAILBENCH_FAULT_MOST:", err)
		}
	}
	c.read(t)
	defer func() { fmt.Print("\n", c.table(), "\n") }()
	for _, name := range []string{"embedded", "cassandra", "datacenters", "hbase"} {
		// A cluster that a fault has broken for good gives way to a new one, unless nothing came of it.
		for again := true; again; {
			again = false
			t.Run(name, func(t *testing.T) {
				before := len(c.rounds)
				s := newSite(t, name)
				c.on(t, s)
				again = s.broken != "" && len(c.rounds) > before
			})
		}
	}
}

// on lets the faults strike a site in turn, so that a campaign that is cut short has some of
// each. A full disk, from which a cluster may not recover, comes last.
func (c *campaign) on(t *testing.T, s *site) {
	for _, last := range []bool{false, true} {
		todo := slices.DeleteFunc(allFaults(), func(f campaignFault) bool {
			return c.left(s, f) <= 0 || f.fills() != last
		})
		for len(todo) > 0 {
			todo = slices.DeleteFunc(todo, func(f campaignFault) bool { return s.broken != "" || !c.strike(t, s, f) })
		}
	}
}

// campaign has the rounds that are done and those that are left.
type campaign struct {
	file   string
	models []string
	most   int // of each fault
	rounds []round
}

// round is one run under faults, and its outcome.
type round struct {
	Began               time.Time
	Processors          int
	Engine, Fault       string
	Model               string
	Struck              int            // how often the fault struck
	Status              int            // exit status of the run, or of the audit of a run that was killed
	Audit               results.Audit  // at the end of the run
	Again               *results.Audit // after that, and after a recount where Recounted; nil if the load was interrupted
	Recounted           bool
	Unaudited           string  // why the last audit could not be executed: the engine does not answer
	Broken              string  // why the cluster was given up after it: a node does not start again
	Gap                 float64 // the longest without an operation that was ok, in seconds; 0 of a client that was killed
	Slowest             float64 // response of an operation that was ok, in seconds
	OK, Failed, Unknown int64   // operations of the measured phase
	Error               string  // of the measured phase
}

// campaignFault is one kind of fault.
type campaignFault struct {
	name  string
	count map[string]int    // by site
	takes time.Duration     // to strike and be repaired, as first estimated
	rate  map[string]string // by engine; "" is the workload's
	args  []string          // of runs and audits, in addition to the site's
	// blow strikes once, and returns when all is repaired. It says whether the fault
	// was felt.
	blow func(t *testing.T, s *site, v *child) bool
}

// campaignFaults: the embedded engine is killed with its client.
var campaignFaults = []campaignFault{
	{name: "client killed", count: map[string]int{"embedded": 200, "cassandra": 25, "hbase": 25}},
	{name: "node killed", count: map[string]int{"cassandra": 50, "hbase": 50}, takes: 40 * time.Second, blow: nodeKilled},
	{
		name: "only replica killed", count: map[string]int{"cassandra": 10}, takes: 40 * time.Second, blow: nodeKilled,
		rate: map[string]string{"cassandra": "200/s"}, args: []string{"--set", "engines.cassandra.replication=1", "--set", "engines.cassandra.consistency=ONE"},
	},
	{name: "hang of 15 s", count: map[string]int{"embedded": 5, "cassandra": 5, "hbase": 5}, takes: 45 * time.Second, blow: hung},
	{name: "connections cut", count: map[string]int{"cassandra": 10, "hbase": 10}, takes: 15 * time.Second, blow: cut},
	{name: "slow disk", count: map[string]int{"embedded": 5, "cassandra": 5, "hbase": 5}, takes: 20 * time.Second, blow: slowDisk},
	{
		name: "full disk", count: map[string]int{"embedded": 5, "cassandra": 5, "hbase": 5}, takes: 90 * time.Second, blow: fullDisk,
		rate: map[string]string{"cassandra": "100/s"}, // its log has 32 MB in advance
	},
}

// allFaults are those of all sites.
func allFaults() []campaignFault { return slices.Concat(campaignFaults, datacenterFaults) }

// fills reports whether the fault fills a disk.
func (f *campaignFault) fills() bool { return strings.HasPrefix(f.name, "full disk") }

// read reads the rounds of the file.
func (c *campaign) read(t *testing.T) {
	t.Helper()
	b, err := os.ReadFile(c.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var r round
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", c.file, err)
		}
		c.rounds = append(c.rounds, r)
	}
}

// add writes down a round.
func (c *campaign) add(t *testing.T, r round) {
	t.Helper()
	c.rounds = append(c.rounds, r)
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(c.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.Write(append(b, '\n'))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// left is how often a fault has still to strike.
func (c *campaign) left(s *site, f campaignFault) int {
	if s.disk == nil && (f.name == "slow disk" || f.fills()) {
		return 0 // only root mounts a disk
	}
	n := min(f.count[s.name], c.most)
	for _, r := range c.rounds {
		if r.Engine == s.name && r.Fault == f.name {
			n -= r.Struck
		}
	}
	return n
}

// strike makes one round, in which the models take turns. It returns false when there is
// nothing left to do, or rounds keep coming to nothing.
func (c *campaign) strike(t *testing.T, s *site, f campaignFault) bool {
	before, ran := len(c.rounds), false
	t.Run(f.name, func(t *testing.T) {
		ran = true
		turn := slices.IndexFunc(allFaults(), func(g campaignFault) bool { return g.name == f.name }) // so that a short campaign has all models, too
		for _, r := range c.rounds {
			if r.Engine == s.name && r.Fault == f.name {
				turn++
			}
		}
		r := round{
			Began: time.Now().UTC(), Processors: runtime.NumCPU(), Engine: s.name, Fault: f.name, Model: c.models[turn%len(c.models)],
		}
		data := s.folder(t, r.Model)
		defer func(args []string) { s.args = args }(s.args)
		s.args = slices.Concat(s.args, f.args)
		if f.blow == nil {
			r.killed(t, s, data)
		} else {
			most := c.left(s, f)
			if s.engine != "cassandra" && f.fills() {
				most = 1 // Pebble then refuses everything until it is opened again, HBase may not get over it
			}
			r.under(t, s, f, data, most)
		}
		if r.Broken = s.broken; s.broken == "" && r.Unaudited != "" && s.in != nil {
			s.broken = "it cannot be audited"
		}
		if s.broken == "" {
			s.clean(t, data, r.Model)
		}
		c.add(t, r)
		b, _ := json.Marshal(r)
		t.Log(string(b))
		if r.wrong() > 0 || r.falseAlarm() || r.Struck == 0 {
			t.Errorf("%d wrong, false alarm: %v, struck %d times", r.wrong(), r.falseAlarm(), r.Struck)
		}
	})
	if len(c.rounds) == before { // a machine with too much to do answers too late
		s.failed++
		return ran && s.failed < 5
	}
	return c.rounds[before].Struck > 0 && c.left(s, f) > 0
}

// killed kills a client at a random moment and audits what it leaves.
func (r *round) killed(t *testing.T, s *site, data string) {
	args := s.args
	if s.in == nil {
		args = []string{"--durability", "process"}
	}
	killRun(t, data, r.Model, s.engine, args...)
	r.Struck = 1
	r.Status, r.Audit, r.Unaudited = s.audit(t, data, r.Model)
	if d := s.dataset(t, data, r.Model); d.Complete {
		r.again(t, s, killsWorkload, data)
	}
}

// faultsWorkload is the workload that runs while faults strike.
const faultsWorkload = "testdata/faults.yaml"

// under strikes a run as often as its time allows, but no more than most.
func (r *round) under(t *testing.T, s *site, f campaignFault, data string, most int) {
	lasts := min(5*time.Minute, 30*time.Second+time.Duration(most)*f.takes)
	args := append([]string{
		faultsWorkload, "-m", r.Model, "-e", s.engine, "--data", data, "--verify", "--no-overhead", "--concurrency", "8",
		"--set", fmt.Sprintf("phases.measure.duration=%s", lasts.Round(time.Second)),
	}, s.args...)
	if rate := f.rate[s.engine]; rate != "" {
		args = append(args, "--set", "phases.measure.rate="+rate)
	}
	p := startRun(t, args...)
	p.await("the load", func() bool { return p.done("load") })
	ends, takes := time.Now().Add(lasts), f.takes
	for r.Struck < most && s.broken == "" && time.Until(ends) > takes {
		time.Sleep(rand.N(2 * time.Second))
		began := time.Now()
		if !f.blow(t, s, p) {
			break
		}
		r.Struck++
		takes = max(takes, time.Since(began)+5*time.Second)
	}
	r.Status = p.finish()
	found := leftBy(p)
	for i := range found.Cells {
		if c := &found.Cells[i]; c.Phase == "measure" {
			r.Error = c.Error
			if c.Gap != nil {
				r.Gap = c.Gap.Seconds
			}
			for _, o := range c.Ops {
				r.Slowest = max(r.Slowest, float64(o.Response.Max)/1e9)
				r.OK, r.Failed, r.Unknown = r.OK+o.Count, r.Failed+o.Failed, r.Unknown+o.Unknown
			}
		}
	}
	if f.fills() && r.Failed+r.Unknown == 0 && r.Error == "" {
		r.Struck = 0 // no process needed room
	}
	if r.Audit, r.Unaudited = audited(t, p); r.Unaudited != "" { // the run was interrupted, or the engine does not answer
		t.Logf("%s, exit status %d:\n%s\n%s", r.Unaudited, r.Status, p.printed("stdout"), p.printed("stderr"))
		r.Status, r.Audit, r.Unaudited = s.audit(t, data, r.Model)
	}
	r.again(t, s, faultsWorkload, data)
}

// again audits once more, after a recount if there is counter drift.
func (r *round) again(t *testing.T, s *site, workload, data string) {
	if r.Audit.CounterDrift == 0 {
		_, a, unaudited := s.audit(t, data, r.Model)
		r.Again, r.Unaudited = &a, unaudited
		return
	}
	// A counter cannot be set: two recounts of one account at a time would both add
	// what is missing.
	args := append([]string{
		workload, "-m", r.Model, "-e", s.engine, "--data", data, "--verify", "--no-overhead", "--quiet", "--set", "phases.measure.mix={recount: 1}",
	}, s.args...)
	if workload == killsWorkload {
		args = append(args, "--set", "phases.measure.clients=1", "--set", "phases.measure.duration=10s")
	} else {
		args = append(args, "--concurrency", "1", "--set", "phases.measure.rate=10/s", "--set", "phases.measure.duration=10s")
	}
	p := startRun(t, args...)
	p.finish()
	var a results.Audit
	a, r.Unaudited = audited(t, p)
	r.Again = &a
	for _, c := range leftBy(p).Cells {
		if o, ok := c.Ops["recount"]; ok && o.Count > 0 {
			r.Recounted = true
		}
	}
}

// wrong counts what was acknowledged and is not there, or not as it was, after what
// is the last word.
func (r *round) wrong() int64 {
	a := r.last()
	return a.Lost + a.Corrupt + a.Resurrected + a.BadUIDs
}

func (r *round) last() *results.Audit {
	if r.Again != nil {
		return r.Again
	}
	return &r.Audit
}

// falseAlarm reports whether an audit called something damage while all that was
// acknowledged is there.
func (r *round) falseAlarm() bool {
	return r.wrong() == 0 && (r.Status == exitData || r.Audit.Wrong() || r.last().Wrong())
}
