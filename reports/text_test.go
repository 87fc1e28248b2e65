package reports

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mailbench/mailbench/reports/results"
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

// No line is wider than the terminal, however wide that is, but for a word
// that is wider than the line.
func TestTextFits(t *testing.T) {
	for width := narrowest; width <= 160; width++ {
		var buf bytes.Buffer
		if err := writeText(&buf, sample(), width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(buf.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("at %d columns a line has %d: %s", width, n, line)
			}
		}
	}
}

// The operations that are not in the latency figures are beside them at every width.
func TestTextHidesNothing(t *testing.T) {
	for _, width := range []int{0, 60, 80, 100, 120, 200} {
		var buf bytes.Buffer
		if err := writeText(&buf, sample(), width); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(buf.String()), " ")
		for _, want := range []string{
			"3 not found", "failed unknown p50", "!james 2 1 -†", "40 dropped", "7× read: [2J", "3× timed out", "more errors in run.json",
			"longest gap without an operation that was ok: 4.9 s at 00:04", "|████▁ ▇▇▇|", "| ?!!!! |", "counters adrift by 17 in all",
			"2 dangling references (of operations that were broken off)", "namespace q5k2 of james on cassandra could not be dropped",
			"engine embedded: pebble 2, durability process and power, replication 3, consistency QUORUM, compression zstd", "7 dropped", "5 too large", "6 latencies beyond 100 s",
			"lacks from, subject", "emulated: message_by_scan", "n/a: james", "n/a for all: subscribe", "INTERRUPTED", "4 malformed",
			"james is INVALID in measure: client late", "!james", "james is FAILED in closed", "durability power", "durability process",
			"datastax is OVERLOADED in measure: only 312/s", "elasticinbox is EMPTY in measure: the model cannot", "oracle is FAILED in open: disk full", "achieved, of offered operations a second: james 498 of 505, conversation 500 of 500",
			"response times", "service times", "4 LOST, 1 CORRUPT", "harness 161ns", "not measured (bind: no such table)", "(1.88)",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("at %d columns the table does not say %q", width, want)
			}
		}
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

func TestDoubtsAreSaidOnce(t *testing.T) {
	var got []string
	for _, d := range DoubtsOf(sample(), Names{}) {
		got = append(got, d.String())
	}
	want := []string{
		"incomplete: 2 of 20002 messages of the load could not be delivered [conversation]",
		"not cold: embedded cannot drop its caches [conversation]",
		"shared machine: engine and client run in one process [james, conversation]",
		"late starts: 12.00% of operations [james; with other figures conversation]",
		"not steady: the service time went from 1ms in the first half to 2ms in the second [james]",
		"not steady: the warm-up had not come to rest [james]",
		"not steady: compaction debt grew by 700MB [james]",
		"dropped, due but never started: 40 × open, 7 × purge [james]",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("doubts are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A doubt of one model that has other figures in another phase says so.
func TestDoubtsOfSeveralPhases(t *testing.T) {
	doubt := func(n int64) []results.Doubt {
		return []results.Doubt{{Code: "failed", Text: "failed", Ops: []results.OpCount{{Op: "open", Count: n}}}}
	}
	r := &results.Run{Cells: []results.Cell{{Key: results.Key{Model: "james"}, Doubts: doubt(1)}, {Key: results.Key{Model: "james"}, Doubts: doubt(2)}}}
	if got, want := DoubtsOf(r, Names{}), "failed: 1 × open [james, with other figures in other phases]"; len(got) != 1 || got[0].String() != want {
		t.Errorf("doubts are %v, want %s", got, want)
	}
}

// Doubts whose texts begin alike are all said.
func TestDoubtsThatBeginAlike(t *testing.T) {
	var text bytes.Buffer
	if err := writeText(&text, sample(), 80); err != nil {
		t.Fatal(err)
	}
	for where, said := range map[string]string{"text": text.String()} {
		said = strings.Join(strings.Fields(said), " ")
		for _, want := range []string{
			"not steady: the service time went from 1ms in the first half to 2ms in the second",
			"not steady: the warm-up had not come to rest",
			"not steady: compaction debt grew by 700MB",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("the %s does not say %q", where, want)
			}
		}
	}
}

// A line of the table says which engine it is of, if there are several.
func TestTextTellsCellsApart(t *testing.T) {
	r := sample()
	again := r.Cells[troubled]
	again.Engine = "null"
	r.Cells = append(r.Cells, again)
	var buf bytes.Buffer
	if err := writeText(&buf, r, 80); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"!james/embedded ", "!james/null ", " conversation/embedded ", "! james/embedded, james/null are INVALID in measure"} {
		if !strings.Contains(buf.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, buf.String())
		}
	}
	for line := range strings.Lines(buf.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("a line has %d columns: %s", n, line)
		}
	}
}

// Trials are one line: outcomes of all of them, and of those that are ok the medians of
// the figures and how far a trial lies from them.
func TestTextPutsTrialsTogether(t *testing.T) {
	r := &results.Run{}
	for n, p50 := range []int64{100_000, 130_000, 110_000, 900_000} {
		op := timed(400, p50, 10*p50, float64(n+1), 1, 1)
		op.Failed, op.Errors = int64(n), []results.ErrorCount{{Text: "full", Count: int64(n)}}
		op.Response.P999 = 20 * p50
		verdict := results.OK
		if n == 3 {
			verdict = results.Invalid
		}
		c := trial("james", n+1, verdict, map[string]results.Op{"list": op})
		c.Offered = &results.Offered{Rate: 500, Achieved: 497 + float64(n)}
		r.Cells = append(r.Cells, c)
	}
	var buf bytes.Buffer
	if err := writeText(&buf, r, 160); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(buf.String()), " ")
	for _, want := range []string{
		"! james #4 is INVALID", "failed unknown p50 p99 p99.9",
		"list !james 6 0 110µs ±18% 1.10ms ±18% - 0 2.00", "6× full; figures of 3 of 4 trials", "achieved, of offered operations a second: james 498 of 500",
		"± figures are medians of the trials",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table has no %q:\n%s", want, buf.String())
		}
	}
}

// What a narrow terminal has no room for is named, p99.9 first, and the width that has
// room for all.
func TestTextNamesWhatItLeavesOut(t *testing.T) {
	r := &results.Run{Cells: []results.Cell{trial("elasticinbox", 1, results.OK, map[string]results.Op{"list": timed(4000, 1, 1, 1, 1, 1)})}}
	left := func(width int) string {
		var buf bytes.Buffer
		if err := writeText(&buf, r, width); err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(strings.Join(strings.Fields(buf.String()), " "), "the tables leave out ")
		words, _, _ := strings.Cut(after, ", as run.json")
		return words
	}
	for width, want := range map[int]string{
		60: "p99.9, own, rate/s, rows e/r/w; from 87 on they have all",
		79: "p99.9, own; from 87 on they have all",
		80: "p99.9; from 87 on they have all",
		86: "p99.9; from 87 on they have all",
		87: "",
	} {
		if got := left(width); got != want {
			t.Errorf("at %d columns the tables leave out %q, want %q", width, got, want)
		}
	}
}

// Colours are only added: without them the text is the same.
func TestTextInColour(t *testing.T) {
	var plain, colour bytes.Buffer
	if err := errors.Join(Text{Width: 100, Full: true}.Write(&plain, sample()), Text{Width: 100, Colour: true, Full: true}.Write(&colour, sample())); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.String(), "\x1b") {
		t.Error("the text has colours that nobody asked for")
	}
	for _, want := range []string{"\x1b[31m! james is FAILED", "\x1b[33m! james is INVALID", "\x1b[1mOVERVIEW", "\x1b[32m"} {
		if !strings.Contains(colour.String(), want) {
			t.Errorf("the coloured text has no %q", want)
		}
	}
	if got := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(colour.String(), ""); got != plain.String() {
		t.Errorf("without its colours the text is\n%s\nwant\n%s", got, plain.String())
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
			"bench": WriteBench(&fullDisk{min(room, 1024)}, sample()),
		} {
			if !errors.Is(err, errFull) {
				t.Errorf("%s with room for %d bytes: %v, want %v", name, room, err, errFull)
			}
		}
	}
}
