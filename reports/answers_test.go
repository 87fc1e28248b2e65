package reports

import (
	"strings"
	"testing"
)

// A workload's answer is the last of the text, is in the Markdown, and says of each model what its
// figures tell.
func TestAnswerIsPrinted(t *testing.T) {
	r := sample()
	r.Answer = []string{"An open asks {open.calls in measure} requests.", "{list.calls of james in measure} requests " + hostile}
	var short, full, md strings.Builder
	if err := (Text{Width: 100}).Write(&short, r); err != nil {
		t.Fatal(err)
	}
	if err := writeText(&full, r, 100); err != nil {
		t.Fatal(err)
	}
	if err := WriteMarkdown(&md, r); err != nil {
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
