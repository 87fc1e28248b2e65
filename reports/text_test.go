package reports

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mailbench/mailbench/workloads/results"
)

func TestTextIsAsItWas(t *testing.T) {
	for _, width := range []int{60, 80, 100, 160} {
		var buf bytes.Buffer
		if err := writeText(&buf, sample(), width); err != nil {
			t.Fatal(err)
		}
		golden(t, fmt.Sprintf("sample-%d.txt", width), buf.Bytes())
	}
}

// No line is wider than the terminal, but for a word that is wider than the line.
func TestTextFits(t *testing.T) {
	for width := 60; width <= 160; width += 5 {
		for name, r := range map[string]*results.Run{"sample": sample(), "comparison": comparison(t)} {
			var buf bytes.Buffer
			if err := writeText(&buf, r, width); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(buf.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%s at %d columns: a line has %d: %s", name, width, n, line)
				}
			}
		}
	}
}

// mostLines is how many lines the first screen of five models has at most: 35 with the ten operations of the
// default run, of which these runs have three, and with the line in which the command line says where its results are.
const mostLines = 35 - 7 - 1

// The first screen of five models fits 80 columns, and has the latency of each operation with both
// percentiles of each model. At 60 columns the verdict is there, too.
func TestFirstScreen(t *testing.T) {
	for _, width := range []int{60, 80, 100} {
		var buf bytes.Buffer
		if err := (Text{Width: width}).Write(&buf, comparison(t)); err != nil {
			t.Fatal(err)
		}
		golden(t, fmt.Sprintf("first-%d.txt", width), buf.Bytes())
		if n := strings.Count(buf.String(), "\n"); n > mostLines && width >= 80 {
			t.Errorf("at %d columns: %d lines\n%s", width, n, buf.String())
		}
		for _, want := range []string{
			"Fastest by typical latency: conversation 0.685 ms", "Likely why: ", "SHARED LOAD",
			"OPERATION", "% ", "p50",
		} {
			if !strings.Contains(strings.Join(strings.Fields(buf.String()), " ")+" ", want) {
				t.Errorf("at %d columns: no %q in\n%s", width, want, buf.String())
			}
		}
	}
}

// With ten operations and warnings the first screen has 35 lines and the two most serious warnings. It counts the others,
// and names the rarest operations, for which it has no room; a text that is full has all.
func TestFirstScreenWithWarnings(t *testing.T) {
	r := comparison(t)
	var more []results.Cell
	for _, c := range r.Select((*results.Cell).Measured) {
		for n := range 7 {
			c.Ops[fmt.Sprint("rare-", n)] = c.Ops["login"]
		}
		c.Ops["label"] = c.Ops["login"] // which the fastest do not support
		c.Offered = &results.Offered{Due: 28_000, Rate: 424, Achieved: 424, Span: 1.25}
		if c.Model == "conversation" || c.Model == "oracle" {
			c.Ops["label"], c.Offered.Skipped = results.Op{Support: results.NotOffered}, 400
		}
		c.Doubts = append(c.Doubts, results.Doubt{Code: "drifting", Text: "drifting"})
		if c.Model == "oracle" {
			c.Doubts = append(c.Doubts, results.Doubt{Code: "failed", Text: "failed", Ops: []results.OpCount{{Op: "list", Count: 7}}})
		}
		one := *c
		one.Phase, one.Arrivals, one.Offered, one.Doubts = "throughput", "closed", &results.Offered{Achieved: 5000}, nil
		if c.Model == "james" { // it was offered nearly that
			one.Offered = &results.Offered{Achieved: 440}
		}
		more = append(more, one)
	}
	r.Cells = append(r.Cells, more...)
	text := func(width int, full bool) (text string, lines int) {
		var buf bytes.Buffer
		if err := (Text{Width: width, Full: full}).Write(&buf, r); err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(buf.String(), "\n  ", " "), strings.Count(buf.String(), "\n")
	}
	for width, last := range map[int]string{60: "\nrare-6 ", 80: "\n3 more with --full: rare-4, ", 100: "\nrare-6 "} {
		got, lines := text(width, false)
		if lines > 34 && width >= 80 {
			t.Errorf("at %d columns: %d lines", width, lines)
		}
		for _, want := range []string{
			"Warnings: operations failed (28 operations, oracle): find the errors in --full; latency includes queueing (james at 96% of max ops/s): ",
			"use --set phases.measure.rate=300/s; 1 more (--full).", last,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("at %d columns: no %q in\n%s", width, want, got)
			}
		}
	}
	if full, _ := text(80, true); !strings.Contains(full, "\nrare-6 ") {
		t.Errorf("the full text lacks operations:\n%s", full)
	}
}

// The command for another engine is in one line of 80 columns, so that a shell can run it.
func TestCommandForAnotherEngine(t *testing.T) {
	r := comparison(t)
	r.Workload.Name = results.DefaultWorkload
	const command = "mailbench engine up cassandra && mailbench run -e cassandra"
	for _, want := range []string{
		"\n  On cassandra: " + command + "\n", "\n  With all models: this command with -m all\n  On cassandra: this command with -e cassandra\n",
	} {
		var buf bytes.Buffer
		if err := (Text{Width: 80}).Write(&buf, r); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(buf.String(), want) {
			t.Errorf("no %q in\n%s", want, buf.String())
		}
		r.Cells = slices.DeleteFunc(r.Cells, func(c results.Cell) bool { return c.Model != "conversation" })
	}
}

// An invalid phase prints its latencies, marked, and is not ranked.
func TestNothingIsWithheld(t *testing.T) {
	r := comparison(t)
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Measured() && c.Model != "james" {
			c.Verdict, c.Reason = results.Invalid, &results.Reason{Code: "client-busy", Text: "the client was busy"}
		}
	}
	var buf bytes.Buffer
	if err := (Text{Width: 80}).Write(&buf, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"INVALID: ", "medians of up to 4 trials; ", "james", "Not ranked: ", "0.16", "0.45", "Warnings: no others (notes"} {
		if !strings.Contains(buf.String(), want) {
			t.Errorf("no %q in\n%s", want, buf.String())
		}
	}
	// An interrupted run has fewer trials than it should have.
	buf.Reset()
	short := comparison(t)
	short.Interrupted = true
	if err := (Text{Width: 80}).Write(&buf, short); err != nil {
		t.Fatal(err)
	}
	if text := buf.String(); !strings.Contains(text, "medians of up to 4 trials; ") || !strings.Contains(text, "Warnings: no others (notes") {
		t.Errorf("interrupted:\n%s", text)
	}
	// On engines without a ranked model, the lowest latencies are those of all models, and none is the fastest.
	for _, c := range slices.Clone(r.Cells) {
		if c.Engine = "cassandra"; c.Measured() {
			c.Verdict, c.Reason = results.Invalid, &results.Reason{Code: "client-busy", Text: "the client was busy"}
		}
		r.Cells = append(r.Cells, c)
	}
	buf.Reset()
	if err := (Text{Width: 80}).Write(&buf, r); err != nil {
		t.Fatal(err)
	}
	if want := regexp.MustCompile(`\nembedded\nlist +77 0\.15° 0\.62 (?s:.*)\ncassandra\nlist +77 0\.15  0\.62 `); !want.MatchString(buf.String()) {
		t.Errorf("no %q in\n%s", want, buf.String())
	}
}

// On several engines each operation has p50 and p99 of each model on each engine, and its best ones of each.
func TestOperationsOnEngines(t *testing.T) {
	r := comparison(t)
	for _, c := range slices.Clone(r.Cells) {
		if c.Engine = "cassandra"; c.Model == "oracle" {
			continue
		}
		if c.Measured() && c.Model == "datastax" {
			c.Verdict, c.Reason = results.Invalid, &results.Reason{Code: "client-busy", Text: "the client was busy"}
		}
		r.Cells = append(r.Cells, c)
	}
	var buf bytes.Buffer
	if err := (Text{Width: 80}).Write(&buf, r); err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`(?s)\nembedded\nlist +77 +0\.66 +2\.65 +0\.63 +2\.51 .*\ncassandra\nlist +77 +0\.66 +2\.65 +- +- +0\.16 `)
	if !want.MatchString(buf.String()) || !strings.Contains(buf.String(), "; medians of up to 4 trials; ") {
		t.Errorf("no %q in\n%s", want, buf.String())
	}
}

// One model on two engines has p50 and p99 of each operation on each of them, and no engine is marked as the best.
func TestOneModelOnEngines(t *testing.T) {
	r := comparison(t)
	r.Cells = slices.DeleteFunc(r.Cells, func(c results.Cell) bool { return c.Model != "james" })
	for _, c := range slices.Clone(r.Cells) {
		c.Engine = "null"
		r.Cells = append(r.Cells, c)
	}
	var buf bytes.Buffer
	if err := (Text{Width: 80}).Write(&buf, r); err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`(?s)^  embedded takes .*\n  null takes .*\n +% of +embedded +null\nOPERATION +load +p50 +p99 +p50 +p99\nlist +77 +0\.15 +0\.62 +0\.15 +0\.62\n`)
	if _, text, _ := strings.Cut(buf.String(), "offered\n"); !want.MatchString(text) || strings.Contains(text, "*") {
		t.Errorf("no %q in\n%s", want, text)
	}
}

// All that went wrong is on the first screen or in the full text.
func TestTextHidesNothing(t *testing.T) {
	for _, width := range []int{60, 80, 120, 200} {
		var buf bytes.Buffer
		if err := writeText(&buf, sample(), width); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(buf.String()), " ")
		for _, want := range []string{
			"3 not found", "40 dropped", "7× read: [2J", "3× timed out", "more errors in run.json",
			"longest gap without a successful operation: 4.9 s at 00:04", "counter drift of 17 in all",
			"namespace q5k2 of james on cassandra could not be dropped",
			"engine: embedded pebble 2, durability process, replication 3, consistency QUORUM, compression zstd", "7 dropped", "5 too large", "6 latencies beyond 100 s",
			"omits fields: from, subject", "runs a fallback pattern: message_by_scan", "INTERRUPTED", "4 malformed",
			"INVALID: james, measure: client late", "FAILED: james, closed", "durability power", "durability process",
			"OVERLOADED: datastax, measure: achieved 312/s", "EMPTY: elasticinbox, measure: the model cannot", "FAILED: oracle, open: disk full",
			"4 LOST, 1 CORRUPT",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("at %d columns the text does not say %q", width, want)
			}
		}
	}
}

// One invalid trial of four is a warning, since the others count, also if another model has more. Two are most. A drift
// in one trial changes no median.
func TestFewInvalidTrials(t *testing.T) {
	for few, want := range map[int][]string{
		1: {"Warnings: james trial 1 left out (client busy: --set phases.measure.rate=250/s); no others (notes: --full)."},
		2: {"INVALID: james trial 1 and 2: the client was busy\n", "oracle trial 3 left out (client busy: --set phases.measure.rate=250/s); latency changed during a trial (james trial 1 and 2): measure longer; no others (notes: --full)."},
	} {
		r := comparison(t)
		for i := range r.Cells {
			c := &r.Cells[i]
			if c.Measured() && (c.Model == "james" && c.Trial <= few || c.Model == "oracle" && c.Trial == 3 && few == 2) {
				c.Verdict, c.Reason = results.Invalid, &results.Reason{Code: "client-busy", Text: "the client was busy"}
			}
			if c.Measured() && c.Model == "james" && c.Trial <= few {
				c.Doubts = append(c.Doubts, results.Doubt{Code: "drifting", Text: "drifting"})
			}
		}
		var buf bytes.Buffer
		if err := (Text{Width: 120}).Write(&buf, r); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(buf.String(), "\n  ", " ")
		for _, want := range want {
			if !strings.Contains(text, want) || strings.Contains(text, "Not ranked: james") != (few == 2) {
				t.Errorf("%d invalid trials: no %q in\n%s", few, want, text)
			}
		}
	}
}

// Two of four trials that do not count for different reasons are not few.
func TestSeveralReasons(t *testing.T) {
	r := comparison(t)
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Measured() && c.Model == "james" && c.Trial <= 2 {
			c.Verdict, c.Reason = results.Invalid, &results.Reason{Code: results.Code(fmt.Sprint("reason ", c.Trial))}
		}
	}
	all := slices.DeleteFunc(noticesOf(r, NamesIn(r)), func(o *notice) bool { return o.verdict == results.OK })
	if len(all) != 2 || all[0].few || all[1].few {
		t.Errorf("%d verdicts, want two that are not few", len(all))
	}
}

// A run whose models are not ranked because they were offered too much has the setting of a lower rate.
func TestSlower(t *testing.T) {
	r := comparison(t)
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Measured() && (c.Model == "james" || c.Model == "oracle") {
			c.Verdict, c.Reason = results.Overloaded, &results.Reason{Code: "behind", Text: "achieved " + c.Model}
			c.Offered = &results.Offered{Due: 26_000, Rate: 424, Achieved: 312}
		}
		if c := &r.Cells[i]; c.Measured() && c.Model == "datastax" && c.Trial == 1 { // ranked, but no other advice may be less
			c.Verdict, c.Reason = results.Overloaded, &results.Reason{Code: "dropped", Text: "dropped"}
			c.Offered = &results.Offered{Due: 26_000, Rate: 424, Achieved: 212}
		}
	}
	var buf bytes.Buffer
	if err := (Text{Width: 80}).Write(&buf, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"OVERLOADED: james, oracle; values of the first: achieved james", "\n  With --set phases.measure.rate=140/s the models that are not ranked may be\n",
	} {
		if !strings.Contains(buf.String(), want) {
			t.Errorf("no %q in\n%s", want, buf.String())
		}
	}
}

// The p99 of an operation is, as that of the whole load, the median of the trials: if there is only one operation,
// both are the same.
func TestP99OfOperationAndLoad(t *testing.T) {
	r := comparison(t)
	for i := range r.Cells {
		c := &r.Cells[i]
		if !c.Measured() {
			continue
		}
		o := c.Ops["list"]
		o.Quantiles = slices.Clone(o.Quantiles)
		for k := range o.Quantiles {
			o.Quantiles[k] *= int64(c.Trial * c.Trial) // the trials differ up to 16 times
		}
		o.Response.P99 = o.Quantiles[slices.Index(results.QuantileShares, 0.99)]
		c.Ops = map[string]results.Op{"list": o}
	}
	text := map[string][]string{} // p99 of each model, in its order
	for _, s := range Of(r, "").Sections {
		if s.ID != "load" && s.ID != "operations" {
			continue
		}
		for _, row := range s.Table.Rows {
			for k, c := range s.Table.Columns {
				if c.Title == "p99" {
					text[s.ID] = append(text[s.ID], row.Cells[k].Text)
				}
			}
		}
	}
	if of := text["operations"]; len(of) != 5 || !slices.Equal(of, text["load"]) {
		t.Errorf("p99 of the only operation %q, of the whole load %q", of, text["load"])
	}
}

// A model that was offered nearly all that it achieves without pauses is named.
func TestNearMaximum(t *testing.T) {
	r := comparison(t)
	for _, c := range slices.Clone(r.Cells) {
		if !c.Measured() {
			continue
		}
		c.Phase, c.Arrivals, c.Offered = "throughput", "closed", &results.Offered{Achieved: 5000}
		if c.Model == "james" {
			c.Offered = &results.Offered{Achieved: 440}
		}
		r.Cells = append(r.Cells, c)
	}
	var buf bytes.Buffer
	if err := (Text{Width: 80, Full: true}).Write(&buf, r); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(buf.String()), " ")
	if strings.Count(text, "queueing (james at 96% of max ops/s): use --set phases.measure.rate=300/s") != 2 {
		t.Errorf("want a warning of james only:\n%s", text)
	}
}

func TestTextHasNoControlCharacters(t *testing.T) {
	var buf bytes.Buffer
	if err := writeText(&buf, sample(), 80); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexAny(buf.String(), "\x1b\x07\u009b\u202e"); i >= 0 {
		t.Errorf("a terminal would act on %q", buf.String()[max(0, i-20):i+5])
	}
}

// doubtsOf are the notices that are no verdicts.
func doubtsOf(r *results.Run, n Names) []*notice {
	return slices.DeleteFunc(noticesOf(r, n), func(o *notice) bool { return o.verdict != results.OK })
}

func TestDoubtsAreSaidOnce(t *testing.T) {
	var got []string
	for _, d := range doubtsOf(sample(), Names{}) {
		got = append(got, d.String())
	}
	want := []string{
		"conversation: incomplete: 2 of 20002 messages of the load could not be delivered",
		"conversation: not cold: embedded cannot drop its caches",
		"james, conversation: shared machine: engine and client run in one process",
		"james, conversation; values of the first: late starts: 12.00% of operations",
		"james: not steady: the service time went from 1ms in the first half to 2ms in the second",
		"james: not steady: the warm-up had not come to rest",
		"james: not steady: compaction debt grew by 700MB",
		"james: dropped, due but never started: 40 × open, 7 × purge",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("doubts are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A warning of one model that has other values in another phase says so.
func TestDoubtsOfSeveralPhases(t *testing.T) {
	doubt := func(n int64) []results.Doubt {
		return []results.Doubt{{Code: "failed", Text: "failed", Ops: []results.OpCount{{Op: "open", Count: n}}}}
	}
	r := &results.Run{Cells: []results.Cell{{Key: results.Key{Model: "james"}, Doubts: doubt(1)}, {Key: results.Key{Model: "james"}, Doubts: doubt(2)}}}
	if got, want := doubtsOf(r, Names{}), "james; values of the first: failed: 1 × open"; len(got) != 1 || got[0].String() != want {
		t.Errorf("doubts are %v, want %s", got, want)
	}
}

// Colors are only added: without them the text is the same.
func TestTextInColor(t *testing.T) {
	var plain, color bytes.Buffer
	if err := errors.Join(Text{Width: 100, Full: true}.Write(&plain, sample()), Text{Width: 100, Color: true, Full: true}.Write(&color, sample())); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.String(), "\x1b") {
		t.Error("the text has colors that nobody asked for")
	}
	for _, want := range []string{"\x1b[31m  INVALID: james", "\x1b[1m", "\x1b[33m"} {
		if !strings.Contains(color.String(), want) {
			t.Errorf("the colored text has no %q", want)
		}
	}
	if got := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(color.String(), ""); got != plain.String() {
		t.Errorf("without its colors the text is\n%s\nwant\n%s", got, plain.String())
	}
}

// fullDisk takes some bytes and then fails, as a disk does.
type fullDisk struct{ left int }

var errFull = errors.New("no space left on device")

func (d *fullDisk) Write(b []byte) (int, error) {
	if d.left -= len(b); d.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestWritersTellOfAFullDisk(t *testing.T) {
	for _, room := range []int{0, 4096} {
		for name, err := range map[string]error{
			"text":  writeText(&fullDisk{min(room, 1024)}, sample(), 80),
			"junit": WriteJUnit(&fullDisk{min(room, 1024)}, sample()),
		} {
			if !errors.Is(err, errFull) {
				t.Errorf("%s with room for %d bytes: %v, want %v", name, room, err, errFull)
			}
		}
	}
}

// A notice names trials only where it does not hold for all of them.
func TestNoticeNamesTrials(t *testing.T) {
	r := &results.Run{}
	for n := 1; n <= 3; n++ {
		for _, m := range []string{"a", "b"} {
			c := trial(m, n, results.OK, map[string]results.Op{})
			if m == "a" || n == 2 {
				c.Doubts = []results.Doubt{{Code: "not-warm", Text: "not warm"}}
			}
			c.Doubts = append(c.Doubts, results.Doubt{Code: "shared-machine", Text: "shared"})
			r.Cells = append(r.Cells, c)
		}
	}
	all := doubtsOf(r, NamesIn(r))
	if got, want := all[0].String(), "a, b trial 2: not warm"; got != want {
		t.Errorf("doubts are %v, want %s", all, want)
	}
	if got, want := all[1].String(), "all models: shared"; got != want {
		t.Errorf("the other doubts are %v, want %s", all, want)
	}
}

// A warning says how many operations it is about, which is no number of its text.
func TestSizesOfDoubts(t *testing.T) {
	c := results.Cell{
		Before: &results.EngineInfo{CompactionDebt: 1e6}, Engines: &results.EngineInfo{CompactionDebt: 701e6},
		Evidence: &results.Evidence{},
	}
	texts := map[results.Code]string{
		"drifting":   "drifting: the service time went from 1ms to 2ms (+100%; 99% interval +80% to +120%)",
		"debt-grows": "debt grows: the compaction debt grew by 700MB; measure longer, or lower the rate",
		"not-cold":   "a text of an earlier build",
	}
	for code, want := range map[results.Code]string{
		"drifting":   "latency changed during a trial (the service time went from 1ms to 2ms, james): measure longer",
		"debt-grows": "compaction fell behind (the compaction debt grew by 700MB, james): measure longer, or lower the rate",
		"not-cold":   "caches were warm (james): find the reason in --full",
		"failed":     "operations failed (47 operations, james): find the errors in --full",
	} {
		c.Doubts = []results.Doubt{{Code: code, Text: texts[code]}}
		if code == "failed" {
			c.Doubts[0].Ops = []results.OpCount{{Op: "open", Count: 40}, {Op: "purge", Count: 7}}
		}
		c.Model = "james"
		r := &results.Run{Cells: []results.Cell{c}}
		first, _ := (&run{Run: r, notices: noticesOf(r, Names{})}).warnings()
		if got := strings.TrimSuffix(first.Notes[0].Text, "; no others."); got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
}
