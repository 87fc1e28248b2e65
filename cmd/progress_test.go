package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/reports/screen"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/drive"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/run"
)

var half = run.Progress{
	Model: "elasticinbox", Engine: "embedded", Phase: "measure", Combination: 2, Combinations: 5, Left: 83 * time.Second,
	Progress: drive.Progress{OK: 1234567, Fraction: 0.5, Rate: 4321.9},
}

// TestLineFits: a progress line that is wider than the terminal would not be
// rewritten, but scroll.
func TestLineFits(t *testing.T) {
	unknown := half
	unknown.Left, unknown.OK = 0, 0
	named := half
	named.Phase = "мера"
	timed := half
	timed.P50, timed.P99 = 1200*time.Microsecond, 34*time.Millisecond
	third := timed
	third.Trial, third.Trials, third.Phase = 2, 3, "throughput"
	for _, p := range []run.Progress{half, unknown, named, timed, third} {
		for w := -1; w <= 200; w++ {
			s := p.Line(40, w)
			if n := utf8.RuneCountInString(s); n > max(w, 0) {
				t.Errorf("width %d: %d columns: %q", w, n, s)
			}
			if !utf8.ValidString(s) {
				t.Errorf("width %d cuts a letter: %q", w, s)
			}
		}
	}
	for _, tc := range []struct {
		p     run.Progress
		width int
		want  string
	}{
		{half, 200, "[2/5] elasticinbox on embedded: measure  1m23s left 1234567 ok, 4322/s"},
		{half, 50, "[2/5] elasticinbox on embedded: measure  1m23s lef"},
		{timed, 200, "[2/5] elasticinbox on embedded: measure  1m23s left p50 1.20ms p99 34.0ms 1234567 ok, 4322/s"},
		{third, 79, "trial 2/3 elasticinbox on embedded: throughput 1m23s left p50 1.20ms p99 34.0ms"},
		{unknown, 200, "[2/5] elasticinbox on embedded: measure"},
	} {
		if got := tc.p.Line(40, tc.width); got != tc.want {
			t.Errorf("at %d columns %q, want\n%q", tc.width, got, tc.want)
		}
	}
}

// Nothing jumps from one update to the next: a longer name moves the text after it once,
// and a shorter one does not move it back.
func TestLineIsSteady(t *testing.T) {
	var out bytes.Buffer
	b := progress{Bar: screen.Bar{Out: &out, Terminal: true}}
	short, long := half, half
	short.Model, short.Phase, short.Left, short.OK = "james", "load", 9*time.Second, 7
	long.Left = 3 * time.Hour
	var places []int
	for _, p := range []run.Progress{long, short, long} {
		out.Reset()
		b.update(p)
		places = append(places, strings.Index(out.String(), "left"))
	}
	if places[0] < 0 || places[0] != places[1] || places[1] != places[2] {
		t.Errorf("%q stands at %v", "left", places)
	}
}

func TestAbout(t *testing.T) {
	for d, want := range map[time.Duration]string{
		400 * time.Millisecond: "0s", 45 * time.Second: "45s", 59600 * time.Millisecond: "1m00s", 83 * time.Second: "1m23s",
		12*time.Minute + 40*time.Second: "12m", 65 * time.Minute: "1h05m",
	} {
		if got := words.About(d); got != want {
			t.Errorf("%v is about %s, want %s", d, got, want)
		}
	}
}

func TestProgress(t *testing.T) {
	done := half
	done.Finished = true
	timed := done
	timed.Trial, timed.Trials, timed.P50, timed.P99 = 2, 3, 1200*time.Microsecond, 34*time.Millisecond
	dropped := done
	dropped.Failed, dropped.Dropped = 7, 99
	for _, tc := range []struct {
		name     string
		bar      progress
		progress []run.Progress
		want     string
	}{
		{"plain", progress{}, []run.Progress{half, half, done}, "[2/5] elasticinbox on embedded: measure done 1234567 ok, 4322/s, 1m23s left\n"},
		{"trials", progress{}, []run.Progress{timed}, "trial 2/3 elasticinbox on embedded: measure done p50 1.20ms p99 34.0ms 1234567 ok, 4322/s, 1m23s left\n"},
		{"drops", progress{}, []run.Progress{dropped}, "[2/5] elasticinbox on embedded: measure done 1234567 ok, 7 not, 99 dropped, 4322/s, 1m23s left\n"},
		{"quiet", progress{Bar: screen.Bar{Quiet: true, Terminal: true}}, []run.Progress{half, done}, ""},
		{"terminal", progress{Bar: screen.Bar{Terminal: true}}, []run.Progress{half}, "\r\x1b[K" + half.Line(utf8.RuneCountInString(half.Where()), 100-1) + "\r\x1b[K"},
		{"nothing drawn", progress{Bar: screen.Bar{Terminal: true}}, nil, ""},
	} {
		var out bytes.Buffer
		tc.bar.Out = &out
		for _, p := range tc.progress {
			tc.bar.update(p)
		}
		tc.bar.Close()
		if out.String() != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, out.String(), tc.want)
		}
	}
	if b := screen.NewBar(new(bytes.Buffer), false); b.Terminal {
		t.Error("a buffer is taken for a terminal")
	}
}

func TestExitStatus(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("engine unreachable"), 1},
		{usagef("wrong"), 2},
		{fmt.Errorf("wrapped: %w", usagef("wrong")), 2},
		{fmt.Errorf("wrapped: %w", strict.Errors{{Msg: "wrong"}}), 2},
		{fmt.Errorf("wrapped: %w", &mail.FormatError{}), 2},
		{verdict(&results.Run{}, failsDefault), 0},
		{verdict(&results.Run{Cells: []results.Cell{{Verdict: results.Invalid}}}, judge.FailOn), 3},
		{verdict(&results.Run{Cells: []results.Cell{{Verdict: results.Failed}}}, judge.FailOn), 1},
		{verdict(&results.Run{Interrupted: true, Cells: []results.Cell{{Verdict: results.Failed}}}, judge.FailOn), 130},
		{verdict(&results.Run{Audits: []results.Audit{{Verified: 3, Purgeable: 2, Unknown: 1, Audit: models.Audit{Unreferenced: 1}}}}, judge.FailOn), 0},
		{verdict(&results.Run{Interrupted: true, Audits: []results.Audit{{}, {Lost: 1}}}, judge.FailOn), 4},
		{verdict(&results.Run{Audits: []results.Audit{{Corrupt: 1}}}, judge.FailOn), 4},
		{verdict(&results.Run{Audits: []results.Audit{{Resurrected: 1}}}, judge.FailOn), 4},
		{verdict(&results.Run{Audits: []results.Audit{{Audit: models.Audit{Dangling: 1}}}}, judge.FailOn), 4},
		{verdict(&results.Run{Audits: []results.Audit{{Audit: models.Audit{BrokenBodies: 1}}}}, judge.FailOn), 4},
	} {
		if got := exitStatus(tc.err); got != tc.want {
			t.Errorf("%v: status %d, want %d", tc.err, got, tc.want)
		}
	}
	two := verdict(&results.Run{Cells: []results.Cell{
		{Key: results.Key{Model: "james", Engine: "embedded", Phase: "load"}, Verdict: results.Failed, Reason: &results.Reason{Text: "disk full\nclose: disk full"}},
		{Verdict: results.Failed},
	}}, judge.FailOn)
	if want := "james on embedded, phase load: disk full (and 1 more, in the table)"; two.Error() != want {
		t.Errorf("%q, want %q", two, want)
	}
	var out bytes.Buffer
	if got := execute(bundled(), []string{"run", "quik"}, &out, &out); got != exitUsage || !strings.Contains(out.String(), "quick") {
		t.Errorf("status %d, %q", got, &out)
	}
}
