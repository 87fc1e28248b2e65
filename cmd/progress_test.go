package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/drive"
	"github.com/mailbench/mailbench/workloads/run"
)

var half = run.Progress{
	Model: "elasticinbox", Engine: "embedded", Phase: "measure", Cell: 2, Cells: 5,
	Progress: drive.Progress{OK: 1234567, Total: 2469134, Fraction: 0.5, Rate: 4321.9, ETA: 83 * time.Second},
}

// TestLineFits: a progress line that is wider than the terminal would not be
// rewritten, but scroll.
func TestLineFits(t *testing.T) {
	unknown := half
	unknown.Fraction, unknown.ETA, unknown.OK = -1, 0, 0
	over := half
	over.Fraction = 1.5
	named := half
	named.Phase = "мера"
	for _, p := range []run.Progress{half, unknown, over, named} {
		for w := -1; w <= 200; w++ {
			s := line(p, w)
			if n := utf8.RuneCountInString(s); n > max(w, 0) {
				t.Errorf("width %d: %d columns: %q", w, n, s)
			}
			if !utf8.ValidString(s) {
				t.Errorf("width %d cuts a letter: %q", w, s)
			}
		}
	}
	want := "[2/5] elasticinbox on embedded: measure [===============               ] 1234567 ok, 4322/s, 1m23s left"
	if got := line(half, 200); got != want {
		t.Errorf("%q, want\n%q", got, want)
	}
	if got, want := line(half, 95), "[2/5] elasticinbox on embedded: measure [=====     ] 1234567 ok, 4322/s, 1m23s left"; !strings.HasPrefix(got, want[:40]) || len(got) > 95 || !strings.HasSuffix(got, " left") {
		t.Errorf("%q, want about %q", got, want)
	}
	if got := line(over, 200); !strings.Contains(got, "["+strings.Repeat("=", 30)+"]") {
		t.Errorf("more than all: %q", got)
	}
}

func TestProgress(t *testing.T) {
	done := half
	done.Finished = true
	dropped := done
	dropped.Others, dropped.Dropped = 7, 99
	for _, tc := range []struct {
		name     string
		bar      progress
		progress []run.Progress
		want     string
	}{
		{"plain", progress{}, []run.Progress{half, half, done}, "[2/5] elasticinbox on embedded: measure done 1234567 ok, 4322/s\n"},
		{"drops", progress{}, []run.Progress{dropped}, "[2/5] elasticinbox on embedded: measure done 1234567 ok, 7 not, 99 dropped, 4322/s\n"},
		{"quiet", progress{quiet: true, terminal: true}, []run.Progress{half, done}, ""},
		{"terminal", progress{terminal: true}, []run.Progress{half}, "\r\x1b[K" + line(half, defaultWidth-1) + "\r\x1b[K"},
		{"nothing drawn", progress{terminal: true}, nil, ""},
	} {
		var out bytes.Buffer
		tc.bar.w = &out
		for _, p := range tc.progress {
			tc.bar.update(p)
		}
		tc.bar.close()
		if out.String() != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, out.String(), tc.want)
		}
	}
	if b := newProgress(new(bytes.Buffer), false); b.terminal {
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
		{verdict(&reports.Run{}, false), 0},
		{verdict(&reports.Run{Cells: []reports.Cell{{Verdict: reports.Invalid}}}, false), 3},
		{verdict(&reports.Run{Cells: []reports.Cell{{Verdict: reports.Failed}}}, false), 1},
		{verdict(&reports.Run{Interrupted: true, Cells: []reports.Cell{{Verdict: reports.Failed}}}, false), 130},
		{verdict(&reports.Run{Audits: []reports.Audit{{Verified: 3, Purgeable: 2, Unreferenced: 1, Unknown: 1}}}, false), 0},
		{verdict(&reports.Run{Interrupted: true, Audits: []reports.Audit{{}, {Lost: 1}}}, false), 4},
		{verdict(&reports.Run{Audits: []reports.Audit{{Corrupt: 1}}}, false), 4},
		{verdict(&reports.Run{Audits: []reports.Audit{{Resurrected: 1}}}, false), 4},
		{verdict(&reports.Run{Audits: []reports.Audit{{Dangling: 1}}}, false), 4},
		{verdict(&reports.Run{Audits: []reports.Audit{{BrokenBodies: 1}}}, false), 4},
	} {
		if got := exitStatus(tc.err); got != tc.want {
			t.Errorf("%v: status %d, want %d", tc.err, got, tc.want)
		}
	}
	two := verdict(&reports.Run{Cells: []reports.Cell{
		{Key: reports.Key{Model: "james", Engine: "embedded", Phase: "load"}, Verdict: reports.Failed, Reason: &reports.Reason{Text: "disk full\nclose: disk full"}},
		{Verdict: reports.Failed},
	}}, false)
	if want := "james on embedded, phase load: disk full (and 1 more, in the table)"; two.Error() != want {
		t.Errorf("%q, want %q", two, want)
	}
	var out bytes.Buffer
	if got := execute(bundled(), []string{"run", "quik"}, &out, &out); got != exitUsage || !strings.Contains(out.String(), "quick") {
		t.Errorf("status %d, %q", got, &out)
	}
}
