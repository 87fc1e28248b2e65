package reports

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// A workload's answer is the last of the text, is in the Markdown, and has, for each model, the facts that its
// values show.
func TestAnswerIsPrinted(t *testing.T) {
	r := sample()
	r.Answer = []string{"An open asks {open.requests in measure} requests.", "{list.requests of james in measure} requests " + hostile}
	var short, full, md strings.Builder
	if err := (Text{Width: 100}).Write(&short, r); err != nil {
		t.Fatal(err)
	}
	if err := writeText(&full, r, 100); err != nil {
		t.Fatal(err)
	}
	if err := writeMarkdown(&md, r); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"short": short.String(), "full": full.String()} {
		if !strings.Contains(text, "james: An open asks 2 requests. (emulated: message_by_scan)\n") ||
			!strings.Contains(text, "elasticinbox: inconclusive: elasticinbox does not support open\n") {
			t.Errorf("%s: the text has no answer:\n%s", name, text)
		}
		if strings.Contains(text, "\x1b") || strings.Contains(text, "\u202e") {
			t.Errorf("%s: control characters are printed", name)
		}
	}
	if want := "**james: An open asks 2 requests. (emulated: message\\_by\\_scan)**"; !strings.Contains(md.String(), want) {
		t.Errorf("no %q in the Markdown:\n%s", want, md.String())
	}
}

// A run of one model says nothing of others, and compares it with none.
func TestOneModel(t *testing.T) {
	for name, r := range map[string]*results.Run{"sample": sample(), "sweep": swept()} {
		r.Cells = slices.DeleteFunc(r.Cells, func(c results.Cell) bool { return c.Model != "james" })
		r.Audits, r.Searches = nil, nil
		if r.Sweep != nil {
			for i := range r.Sweep.Points {
				p := &r.Sweep.Points[i]
				p.Partitions = slices.DeleteFunc(p.Partitions, func(p results.Partition) bool { return p.Model != "james" })
			}
			r.Sweep.Growth = trials.Growths(r)
		}
		r.Answer = []string{"An open needs {open.requests in measure} requests.", "{list.requests of oracle in measure} requests"}
		var short, full, md strings.Builder
		if err := errors.Join(Text{Width: 100}.Write(&short, r), writeText(&full, r, 100), writeMarkdown(&md, r)); err != nil {
			t.Fatal(err)
		}
		for form, text := range map[string]string{"short": short.String(), "full": full.String(), "Markdown": md.String()} {
			for _, other := range []string{"all models", "one model", "nothing to compare", "did not run on", "conversation", "elasticinbox", "datastax"} {
				if strings.Contains(text, other) {
					t.Errorf("%s, %s: the text of one model has %q:\n%s", name, form, other, text)
				}
			}
			if n := strings.Count(text, "oracle did not run"); form == "short" && n != 1 {
				t.Errorf("%s: a model that did not run is named %d times, want once:\n%s", name, n, text)
			}
		}
	}
}
