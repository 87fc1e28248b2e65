package answer

import (
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
)

const schema = `schema: 1
name: james
doc: planted
native: hbase
tables:
  M:
    partition: [box uuid]
    clustering: [uid bigint]
    columns: {data: blob}
    rows: [{each: message, partition: folder, sizes: {data: body}, ends: [move, delete]}]
patterns:
  page: {doc: a page, slice: M, by: box, limit: arg, columns: uid}
  put: {doc: a message, put: M}
  drop: {doc: a message, delete: M, by: [box, uid]}
  replace:
    doc: a move
    batch: [{run: put, each: message}, {run: drop, each: message}]
    atomic: partition
    fallback: replace_unbatched
  replace_unbatched: {doc: a move, batch: [{run: put, each: message}, {run: drop, each: message}]}
workflow: {page: []}
`

// cell plants a cell whose operation has so many calls and such times.
func cell(model, point string, trial int, calls float64, ns int64) results.Cell {
	lat := results.Latency{P50: ns, P90: ns, P99: ns, P999: ns, Max: ns, Mean: float64(ns)}
	op := results.Op{
		Count: 1000, Support: results.Native, Times: results.Times{Response: lat, Service: lat}, Store: results.StoreCost{Requests: calls},
		Patterns: []results.PatternRequests{{Name: "page", Requests: 1}, {Name: "replace", Requests: 1}},
	}
	return results.Cell{
		Key:  results.Key{Model: model, Engine: "embedded", Phase: "measure", Point: point, Trial: trial, Segment: 1},
		Kind: results.KindMeasure, Arrivals: "closed", Verdict: results.OK, Ops: map[string]results.Op{"move": op},
	}
}

// planted is a sweep of two models over three values, in four trials. The times of james are the same at
// each, and those of oracle grow: 0.5, 1.01 and 2 times those of james.
func planted() *results.Run {
	r := &results.Run{
		Schemas: []results.Schema{{Model: "james", Text: schema}},
		Sweep: &results.Sweep{Path: "population.users", Points: []results.SweepPoint{
			{Value: "100", Size: 100},
			{Value: "1000", Size: 1000},
			{Value: "10000", Size: 10000},
		}},
	}
	for i, p := range r.Sweep.Points {
		for trial := range 4 {
			off := int64(trial) * 20_000
			r.Cells = append(r.Cells, cell("james", p.Value, trial+1, 3, 1_000_000+off))
			r.Cells = append(r.Cells, cell("oracle", p.Value, trial+1, []float64{1, 3, 5}[i], []int64{500_000, 1_010_000, 2_000_000}[i]+off))
		}
	}
	return r
}

// say is the run's answer with one sentence, a line for each model.
func say(r *results.Run, text string) string {
	r.Answer = []string{text}
	var all []string
	for _, l := range Of(r) {
		s := l.Text
		if l.Model != "" {
			s = l.Model + ": " + s
		}
		all = append(all, s)
	}
	return strings.Join(all, "\n")
}

func TestSentences(t *testing.T) {
	for text, want := range map[string]string{
		"It asks {move.requests at smallest} at {smallest} and {move.requests at 10000} at {largest}.": "james: It asks 3 at 100 and 3 at 10000.\n" +
			"oracle: It asks 1 at 100 and 5 at 10000.",
		"It asks {move.requests of oracle at 100} requests of {move.requests of james at 100} rows.": "It asks 1 request of 3 rows.",
		"{move.p50 of james at 100}": "1.03ms (1.00ms to 1.06ms)",
		"{move.p50 of oracle at largest / move.p50 of james at largest} as long":       "1.97× (1.89 to 2.06) as long",
		"{move.requests of oracle at 10000 / move.requests of james at 100} the calls": "1.67× the calls",
		"{move.requests of oracle at 1000 / move.requests of james at 100} the calls":  "1.00× the calls",
		"{move.atomic of james at 100}":                                                "atomic",
		"{move.atomic of oracle at 100}":                                               "inconclusive: the schema of oracle does not declare page",
		"{move.requests of datastax at 100}":                                           "inconclusive: datastax did not run: add -m datastax",
		"{list.requests of james at 100}":                                              "inconclusive: list.requests of james at 100 was not measured",
		"{move.scanned of james at 100}":                                               "inconclusive: move.scanned of james at 100 is not known well enough",
	} {
		if got := say(planted(), text); got != want {
			t.Errorf("%s\n%s\nwant\n%s", text, got, want)
		}
	}
}

// No sentence says more than the values show.
func TestCannotBeTold(t *testing.T) {
	change := func(do func(c *results.Cell, o *results.Op)) *results.Run {
		r := planted()
		for i := range r.Cells {
			c := &r.Cells[i]
			if o := c.Ops["move"]; c.Point == "10000" {
				do(c, &o)
				c.Ops["move"] = o
			}
		}
		return r
	}
	const compared = "{move.p50 of oracle at 10000 / move.p50 of james at 10000}"
	for name, c := range map[string]struct {
		run        *results.Run
		text, want string
	}{
		"nothing": {
			planted(), "{move.p50 of oracle at 100 / move.p50 of james at 100}", "0.51× (0.47 to 0.56)",
		},
		"too few": {
			change(func(_ *results.Cell, o *results.Op) { o.Count = 4 }), compared,
			"inconclusive: move.p50 of oracle at 10000 is not known well enough",
		},
		"invalid": {
			change(func(c *results.Cell, _ *results.Op) { c.Verdict = results.Invalid }), compared,
			"inconclusive: move.p50 of oracle at 10000 is not compared, since the verdict is invalid",
		},
		"not offered": {
			change(func(_ *results.Cell, o *results.Op) { *o = results.Op{Support: results.NotOffered} }), compared,
			"inconclusive: oracle does not support move",
		},
		"two phases": {
			change(func(c *results.Cell, _ *results.Op) { c.Phase += strings.Repeat("-again", c.Trial%2) }), compared,
			"inconclusive: several phases have move.p50 of oracle at 10000 in their mix; expected in and the name of one",
		},
		"none": {
			change(func(_ *results.Cell, o *results.Op) { o.Count, o.Failed = 0, 9 }), compared,
			"inconclusive: no move of oracle succeeded",
		},
		"overlapping": {
			change(func(c *results.Cell, o *results.Op) {
				o.Response.P50, o.Service.P50 = int64(c.Trial)*1e6, int64(c.Trial)*1e6
			}), compared,
			"inconclusive: move.p50 of oracle at 10000 (2.50ms) and move.p50 of james at 10000 (2.50ms) do not differ significantly",
		},
		"emulated": {
			change(func(_ *results.Cell, o *results.Op) { o.Fallback = "replace_unbatched" }), "{move.atomic of james at 10000}",
			"not atomic (emulated: replace_unbatched)",
		},
		"two changes": {
			change(func(_ *results.Cell, o *results.Op) {
				o.Patterns = append(o.Patterns, results.PatternRequests{Name: "put", Requests: 1})
			}),
			"{move.atomic of james at 10000}", "not atomic",
		},
		"no sweep": {
			&results.Run{Cells: []results.Cell{cell("james", "", 1, 3, 1e6)}}, "{smallest}",
			"james: inconclusive: the run has no sweep",
		},
	} {
		if got := say(c.run, c.text); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

// A table of sentences has the sentence once, and the metrics of each model.
func TestFormAndValues(t *testing.T) {
	r := planted()
	r.Answer = []string{"It asks {move.requests at smallest} at {smallest}, and is {move.atomic at 100}."}
	form := "It asks … at 100, and is …."
	lines := []Line{
		{"james", "embedded", "It asks 3 at 100, and is atomic.", form, "3, atomic"},
		{"oracle", "embedded", "inconclusive: the schema of oracle does not declare page", form, ""},
	}
	if got := Of(r); !slices.Equal(got, lines) {
		t.Errorf("got  %q\nwant %q", got, lines)
	}
}

// One trial shows no range of a time, and no difference. Counters need no trials.
func TestOneTrial(t *testing.T) {
	r := planted()
	r.Cells = slices.DeleteFunc(r.Cells, func(c results.Cell) bool { return c.Model == "james" && c.Trial > 1 })
	for text, want := range map[string]string{
		"{move.p50 of james at 100}": "1.00ms",
		"{move.p50 of oracle at 10000 / move.p50 of james at 10000}": "inconclusive: move.p50 of oracle at 10000 (2.03ms) and " +
			"move.p50 of james at 10000 (1.00ms) are not compared: times need 2 trials or more",
		"{move.requests of oracle at 10000 / move.requests of james at 10000}": "1.67×",
	} {
		if got := say(r, text); got != want {
			t.Errorf("%s\n%s\nwant\n%s", text, got, want)
		}
	}
}

// Few operations are enough for a counter that differs by far more than they differ among each other.
func TestFewOperations(t *testing.T) {
	for deviation, want := range map[float64]string{
		2e3: "50.9×",
		2e6: "inconclusive: deliver.written of oracle at 50 (5.19MB) and deliver.written of oracle at 1 (102KB) " +
			"do not differ significantly",
	} {
		r := &results.Run{Sweep: &results.Sweep{Points: []results.SweepPoint{{Value: "1"}, {Value: "50"}}}}
		for point, written := range map[string]float64{"1": 102e3, "50": 5.19e6} {
			c := cell("oracle", point, 1, 1, 1_000_000)
			o := c.Ops["move"]
			o.Count, o.Store.BytesWritten, o.Store.BytesDeviation = 20, written, deviation
			c.Ops = map[string]results.Op{"deliver": o}
			r.Cells = append(r.Cells, c)
		}
		got := say(r, "{deliver.written of oracle at 50 / deliver.written of oracle at 1}")
		if !strings.HasPrefix(got, want) {
			t.Errorf("with a deviation of %g: %s\nwant %s", deviation, got, want)
		}
	}
}

func TestFaults(t *testing.T) {
	const form = "expected one such as list.requests, or list.p50 of MODEL in PHASE at largest"
	for text, want := range map[string]string{
		"{":                          "a { or } has no pair",
		"}":                          "a { or } has no pair",
		"{}":                         `{}: "" is no metric; ` + form,
		"{list}":                     `{list}: "list" is no metric; ` + form,
		"{move.request at 100}":      `{move.request at 100}: unknown metric "request"; did you mean "requests"?`,
		"{move.requests on 100}":     `{move.requests on 100}: "move.requests on 100" is no metric; ` + form,
		"{move.requests at}":         `{move.requests at}: "move.requests at" is no metric; ` + form,
		"{move.requests / move.p50}": "{move.requests / move.p50}: requests and p50 cannot be compared; expected one metric, such as p50, of both",
	} {
		if _, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
	for _, text := range []string{"plain", "{move.requests at smallest} at {largest}", "{move.p50 of james at 100 /  move.p50 of oracle at 100}"} {
		if _, err := Parse(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The state after an interrupted operation is reported if all trials agree.
func TestInterrupted(t *testing.T) {
	r := &results.Run{}
	for trial := range 2 {
		r.Cells = append(r.Cells, cell("james", "", trial+1, 3, 1_000_000))
		broken := results.Cell{Key: r.Cells[0].Key, Kind: results.KindInterrupt}
		broken.Phase, broken.Trial = "broken", trial+1
		broken.Interrupted = []results.Interrupted{{Op: "delete"}, {Op: "move", Places: 1, Twice: 1}}
		r.Cells = append(r.Cells, broken)
	}
	for text, want := range map[string]string{
		"Interrupted: {move.interrupted in broken}.": "james: Interrupted: 1 interruption point: 1 duplicated, none lost.",
		"{delete.interrupted}":                       "james: no interruption point",
		"{move.interrupted in other}":                "james: inconclusive: no move of james on embedded was interrupted",
	} {
		if got := say(r, text); got != want {
			t.Errorf("%s\n%s\nwant %s", text, got, want)
		}
	}
	r.Cells[1].Interrupted[1].Lost++
	if got := say(r, "{move.interrupted}"); got != "james: inconclusive: the trials of james differ in the state after a move" {
		t.Error(got)
	}
}
