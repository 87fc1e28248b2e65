package plan

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/workloads"
)

var update = flag.Bool("update", false, "rewrite testdata/digests.txt")

// everything has all operations, as mixes and as a session, and each key that says how they are executed.
const everything = `
version: 1
name: everything
seed: 7
mail: {recipients: {zipf: {s: 2, max: 9}}}
population: {users: 50, folders: {uniform: {min: 1, max: 4}}, messages: {lognormal: {median: 20, p99: 90}}}
access: {users: largest, folders: {latest: {theta: 0.7}}, messages: zipf, deep_share: 0.3}
phases:
  - load: {}
  - measure:
      name: mix
      duration: 60s
      rate: {ramp: {from: 20/s, to: 200/s, over: 30s}}
      arrivals: poisson
      timeout: 3s
      mix:
        deliver: {weight: 3, recipients: {uniform: {min: 1, max: 60}}, size: {pareto: {min: 1KB, alpha: 1.1, max: 1MB}}}
        list: {weight: 3, page_number: 4, page: 10}
        open: {weight: 2, access: {users: uniform, messages: latest}, timeout: 1s}
        flag: {weight: 2, flags: [seen, draft, user], set_share: 0.8, messages: {uniform: {min: 1, max: 5}}}
        move: {weight: 1, messages: {uniform: {min: 1, max: 5}}}
        slice: {weight: 1, range: 0.1}
        search-sender: {weight: 1, page: 7}
        range: {weight: 1, from: 1KB, bytes: 9KB}
        purge: {weight: 1, age: 1h}
        delete: 1
        expunge: 1
        raw: 1
        label: 1
        restore: 1
        folders: 1
        counters: 1
        recount: 1
        seen: 1
        subscribe: 1
        login: 1
        subscriptions: 1
        seen-by: 1
        search-all: 1
        all-mail: 1
        totals: 1
        create-user: 1
        join: 1
        leave: 1
        nested: 1
  - measure:
      name: streams
      operations: 3000
      streams:
        - {rate: 50/s, mix: {list: 1, flag: {weight: 1, flags: answered}}}
        - {rate: 9/s, arrivals: poisson, think_time: 2s, session: [login, list, {repeat: {times: 3, probability: 0.5, steps: [open, {flag: {set_share: 1}}]}}]}
  - measure: {name: closed, operations: 2000, clients: 7, think_time: {lognormal: {median: 1s, p99: 9s}}, mix: {list: 2, deliver: 1}}
  - measure: {name: visits, duration: 5m, clients: 5, think_time: 1s, session: [{list: {times: 2}}, open, {move: {probability: 0.3}}]}
`

// TestDigests: bundled workloads have the operations that they had, at the same times, also those of segments.
func TestDigests(t *testing.T) {
	var b strings.Builder
	add := func(w *workloads.Workload) {
		all := censusOf(t, w)
		for _, s := range []Segment{{}, {Index: 2, Of: 3}} {
			if s.Check(w) != nil && w.Name != "everything" {
				continue
			}
			c := all.OfSegment(s)
			for i := range w.Phases {
				if p := w.OfTrial(w.Phases[i], 2); p.Runs() && !(s.Divides() && p.Arrivals == workloads.Closed) {
					sum, n := PlanDigest(w, &p, c)
					fmt.Fprintf(&b, "%s %s %d/%d: %d %s\n", w.Name, p.Name, s.Index, s.Of, n, sum)
				}
			}
		}
	}
	for _, name := range workloads.BundledNames() {
		add(bundledForTest(t, name))
	}
	w, err := workloads.Parse("everything.yaml", []byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	add(w)
	const file = "testdata/digests.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(golden), "\n")
	for i, line := range strings.Split(b.String(), "\n") {
		if i >= len(want) || line != want[i] {
			t.Errorf("%s is not in %s, line %d", line, file, i+1)
		}
	}
}
