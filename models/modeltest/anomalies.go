package modeltest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
)

// result is what two operations and a look after them returned.
type result struct {
	errs   [2]error
	view   string // what each folder shows
	shown  int    // how often folders show the message
	unseen bool   // one of them shows it as unread
	faults map[Anomaly]int64
}

// answer reduces an error to what a caller distinguishes.
func answer(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, models.ErrNotFound):
		return "not found"
	}
	return "failed"
}

func (o *result) answers() [2]string { return [2]string{answer(o.errs[0]), answer(o.errs[1])} }

// like reports whether the results are the same, and o has no more faults.
func (o *result) like(p *result) bool {
	for kind, n := range o.faults {
		if n > p.faults[kind] {
			return false
		}
	}
	return o.answers() == p.answers() && o.view == p.view
}

// anomalies says how a result differs from those of the operations one after the other.
func (o *result) anomalies(ops [2]contender, serial []result) (all []Anomaly) {
	note := func(is bool, a Anomaly) {
		if is && !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	those := func(keep func(p *result) bool) (some []result) {
		for i := range serial {
			if keep(&serial[i]) {
				some = append(some, serial[i])
			}
		}
		return some
	}
	most := func(some []result) (n int) {
		for i := range some {
			n = max(n, some[i].shown)
		}
		return n
	}
	same := those(func(p *result) bool { return p.answers() == o.answers() })
	note(len(same) == 0 && o.answers() == [2]string{"ok", "ok"}, BothDone)
	note(len(same) == 0 && o.answers() == [2]string{"not found", "not found"}, NoneDone)
	note(o.shown > most(serial), Duplicated)
	removed := false
	for i, op := range ops {
		note(answer(o.errs[i]) == "failed", Failed)
		acknowledged := those(func(p *result) bool { return p.errs[i] == nil })
		if o.errs[i] != nil || len(acknowledged) == 0 {
			continue
		}
		removed = removed || op.removes
		note(op.removes && o.shown > most(acknowledged), Revived)
		note(op.flags && o.unseen && !slices.ContainsFunc(acknowledged, func(p result) bool { return p.unseen }), FlagLost)
	}
	if len(same) > 0 {
		note(o.shown == 0 && !slices.ContainsFunc(same, func(p result) bool { return p.shown == 0 }), Lost)
	} else {
		note(o.shown == 0 && !removed && most(serial) > 0, Lost)
	}
	for _, kind := range []Anomaly{Dangling, Duplicated, BrokenBody, Orphaned, CounterDrift} {
		note(!slices.ContainsFunc(serial, func(p result) bool { return p.faults[kind] >= o.faults[kind] }), kind)
	}
	return all
}

// pair interleaves two operations on one message in every way with at most three changes between the
// clients, or with at most two if few. It counts each anomaly, and writes a line of them.
func (s *suite) pair(t *testing.T, ops [2]contender, deleted, few bool, counts map[Anomaly]int) string {
	t.Helper()
	r := newRace(t, s, deleted)
	var serial []result
	var calls [2]int
	for first := range 2 {
		o, made := r.run(ops, turns{first, toEnd, toEnd})
		serial, calls[first] = append(serial, o), made[first]
	}
	ways, differ := 0, 0
	mine := map[Anomaly]int{}
	for first := range 2 {
		if first == 1 && ops[0].name == ops[1].name {
			break // the clients do the same
		}
		for i := 1; i < calls[first]; i++ {
			least := 1
			if few {
				least = calls[1-first]
			}
			for j := least; j <= calls[1-first]; j++ {
				o, _ := r.run(ops, turns{first, i, j})
				if ways++; slices.ContainsFunc(serial, func(p result) bool { return o.like(&p) }) {
					continue
				}
				differ++
				all := o.anomalies(ops, serial)
				if len(all) == 0 {
					t.Errorf("%s and %s, %d calls of client %d and then %d of the other: neither order gives\n%v\n%s\n%v\nbut\n%v\n%s\nor\n%v\n%s",
						ops[0].name, ops[1].name, i, first, j, o.errs, o.view, o.faults, serial[0].errs, serial[0].view,
						serial[1].errs, serial[1].view)
				}
				for _, a := range all {
					mine[a]++
					counts[a]++
				}
			}
		}
	}
	line := fmt.Sprintf("\t%s, %s: %d interleavings, %d with anomalies", ops[0].name, ops[1].name, ways, differ)
	return line + listed(mine) + "\n"
}

// listed writes counts of anomalies.
func listed(counts map[Anomaly]int) string {
	var words []string
	for _, a := range anomalies {
		if n := counts[a]; n > 0 {
			words = append(words, fmt.Sprintf("%s %d", a, n))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return ": " + strings.Join(words, ", ")
}

// interleave runs all pairs of operations, and returns how often each anomaly occurred.
func (s *suite) interleave(t *testing.T, few bool, out *strings.Builder) map[Anomaly]int {
	t.Helper()
	counts := map[Anomaly]int{}
	offered := s.start(t, models.Options{}).mailbox()
	for n, ops := range contenders {
		ops = slices.DeleteFunc(slices.Clone(ops), func(op contender) bool { return !the(op.operation).in(offered) })
		for i, a := range ops {
			for _, b := range ops[i:] {
				out.WriteString(s.pair(t, [2]contender{a, b}, n == 1, few, counts))
			}
		}
	}
	return counts
}

// testTwoClients interleaves operations on any engine. Only anomalies that the model's Races have may occur.
func testTwoClients(t *testing.T, s *suite) {
	var out strings.Builder
	f := s.start(t, models.Options{})
	s.Races.check(t, f.Store, s.interleave(t, !f.Store.Capabilities().InProcess, &out))
	t.Log(out.String())
}

// testRaces interleaves operations in more ways on the embedded engine and on the limited ones. A golden
// file has the anomalies. Those of Races must occur, too.
func testRaces(t *testing.T, s Suite) {
	var out strings.Builder
	apart := map[Anomaly]int{}
	for _, e := range append([]limitedEngine{{Engine: pebble.Engine()}}, limitedEngines...) {
		on := s.on(openEmbedded)
		if e.limits != nil {
			on = s.on(e.open)
		}
		fmt.Fprintf(&out, "%s\n", e.Name)
		counts := on.interleave(t, false, &out)
		s.Races.check(t, on.start(t, models.Options{}).Store, counts)
		if e.limits == nil {
			occur(t, "Always", s.Races.Always, counts)
		}
		for a, n := range counts {
			apart[a] += n
		}
	}
	occur(t, "Apart", s.Races.Apart, apart)
	s.on(openEmbedded).compare(t, "races.golden", out.String())
}

// check fails for anomalies that may not occur on the store.
func (r Races) check(t *testing.T, st drivers.Store, counts map[Anomaly]int) {
	t.Helper()
	caps, allowed := st.Capabilities(), r.Always
	if caps.Atomic < schemas.AtomicShard {
		allowed = slices.Concat(allowed, r.Apart)
	}
	for _, a := range anomalies {
		if counts[a] > 0 && !slices.Contains(allowed, a) {
			t.Errorf("%s: %d interleavings of two operations on one message end with %q, which the model's Races do not have",
				caps.Engine, counts[a], a)
		}
	}
}

// occur fails for those of the anomalies that do not occur.
func occur(t *testing.T, field string, declared []Anomaly, counts map[Anomaly]int) {
	t.Helper()
	for _, a := range declared {
		if counts[a] == 0 {
			t.Errorf("Races.%s has %q, which no interleaving ends with; take it out", field, a)
		}
	}
}
