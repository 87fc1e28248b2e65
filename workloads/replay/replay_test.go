package replay

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
)

const trace = `{"time": 1769860800, "user": "anna", "op": "list", "folder": "INBOX"}
{"time": 1769860801.5, "user": "bob", "op": "deliver", "size": 40000, "recipients": ["carol", "anna", "carol"]}

{"time": 1769860801.5, "user": "anna", "op": "move", "folder": "Archive", "to": "inbox", "messages": 3}
{"time": 1769860810, "user": "bob", "op": "open", "folder": "Lists"}
`

func workload(t *testing.T, trace, more string) *workloads.Workload {
	t.Helper()
	name := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(name, []byte(trace), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := workloads.Parse("x.yaml", []byte(`
version: 1
name: x
population: {users: 3, folders: 2, messages: 5}
phases: [{load: {}}, {measure: {replay: {trace: `+name+more+`}}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A trace comes back operation by operation, at its times or a multiple of their speed.
func TestReplay(t *testing.T) {
	for more, speed := range map[string]float64{"": 1, ", speed: 4": 4, ", speed: 0.5": 0.5} {
		w := workload(t, trace, more)
		p := &w.Phases[1]
		tr, err := Open(t.Context(), p.Replay.Trace)
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.Prepare(w, p); err != nil {
			t.Fatal(err)
		}
		c, err := plan.NewCensus(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		s := plan.StreamOf(w, p, c)
		var o plan.Operation
		for _, want := range []struct {
			due float64
			is  string
		}{
			{0, "list 0/0 to 0, 1 messages, 0 bytes []"},
			{1.5, "deliver 2/0 to 0, 1 messages, 40000 bytes [2 0]"},
			{1.5, "move 0/1 to 0, 3 messages, 0 bytes []"},
			{10, "open 1/1 to 0, 1 messages, 0 bytes []"},
		} {
			due, ok := s.Next(0, &o)
			is := fmt.Sprintf("%s %d/%d to %d, %d messages, %d bytes %v", o.Op, o.User, o.Folder, o.To, o.Messages, o.Size, o.Recipients)
			if !ok || math.Abs(due.Seconds()-want.due/speed) > 1e-6 || is != want.is {
				t.Errorf("speed %g: %v %s, want %g %s", speed, due, is, want.due/speed, want.is)
			}
		}
		if _, ok := s.Next(0, &o); ok || p.Mix != (workloads.Mix{workloads.List: 1, workloads.Deliver: 1, workloads.Move: 1, workloads.Open: 1}) {
			t.Errorf("a fifth operation, or the mix %v", p.Mix)
		}
		// Four operations in 10 s, and one distance after the last.
		if rate := p.Rate.PerSecond(); math.Abs(rate/(4*speed/(10*4.0/3))-1) > 0.01 {
			t.Errorf("speed %g: the rate is %g/s", speed, rate)
		}
		one, n := plan.PlanDigest(w, p, c)
		two, _ := plan.PlanDigest(w, p, c)
		if one != two || n != 4 {
			t.Errorf("digests %s and %s of %d", one, two, n)
		}
		p.Duration = time.Duration(2e9 / speed) // ends before the last
		if _, n := plan.PlanDigest(w, p, c); n != 3 {
			t.Errorf("speed %g: %d operations in a fifth of the time, want 3", speed, n)
		}
	}
}

// TestLines: lines that programs write and the first version refused.
func TestLines(t *testing.T) {
	text := "\xef\xbb\xbf" + `{"time": -62135596800, "user": "a", "op": "deliver", "size": 4711.0}
{"time": -5, "user": "a", "op": "deliver", "size": 1e3}
{"time": 0, "user": "a", "op": "delete", "messages": 2.0, "size": null}` + " \r\n" +
		`{"time": 10413792000.5, "user": "a", "op": "list"}`
	var got []string
	tr := &Trace{name: "x"}
	err := tr.read(t.Context(), strings.NewReader(text))
	for _, o := range tr.all {
		got = append(got, fmt.Sprintf("%.1f %s %v %v", o.due/1e9-62135596800, o.op, o.size, o.messages))
	}
	want := "[-62135596800.0 deliver 4711 0 -5.0 deliver 1000 0 0.0 delete 0 2 10413792000.5 list 0 0]"
	if s := fmt.Sprint(got); err != nil || s != want {
		t.Errorf("got %s, %v, want %s", s, err, want)
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		``: "has no operations",
		`{"time": 1, "user": "a", "op": "list"}` + "\n" + `{"time": 0.5, "user": "a", "op": "list"}`: ":2: time 0.5 follows 1",
		`{"time": 1, "user": "a", "op": "lst"}`:                                                      `:1: unknown operation "lst"; did you mean "list"?`,
		`{"time": 1, "usr": "a", "op": "list"}`:                                                      `:1: not a line of a trace: unknown field "usr"; did you mean "user"?`,
		`{"time": 1, "op": "list"}`:                                                                  ":1: no user",
		`{"time": 1, "user": "a"}`:                                                                   ":1: no op",
		`{"user": "a", "op": "list"}`:                                                                ":1: no time; expected seconds",
		`{"time": 0, "user": "a", "op": "list"}{"time": 0, "user": "a", "op": "open"}`:               `: "{\"time\": 0,`,
		`{"time": 0, "user": "a", "op": "list"} # words`:                                             `:1: not a line of a trace: "# words" follows the JSON value, which must be the only one`,
		`{"time": 0, "user": "a", "op": "list"},`:                                                    `:1: not a line of a trace: "," follows the JSON value`,
		`{"time": 1e999, "user": "a", "op": "list"}`:                                                 "time must be a number, found 1e999",
		`{"time": null, "user": "a", "op": "list"}`:                                                  "no time; expected seconds",
		`{"time": [1], "user": "a", "op": "list"}`:                                                   "time must be a number, found a list",
		`{"time": 1, "user": 5, "op": "list"}`:                                                       "user must be a text, found a number",
		`{"time": 1, "user": "a", "op": true}`:                                                       "op must be a text, found true or false",
		`{"time": 1, "user": "a", "op": "deliver", "size": 4711.5}`:                                  "size must be a whole number from 0 to ",
		`{"time": 1, "user": "a", "op": "deliver", "size": "4711"}`:                                  "size must be a number, found a text",
		`{"time": 1, "user": "a", "op": "deliver", "size": 1e999}`:                                   "size must be a number, found 1e999",
		`{"time": 1, "user": "a", "op": "deliver", "recipients": ["", "b"]}`:                         ":1: a recipient is empty",
		`{"time": 1, "user": "a", "op": "deliver", "recipients": [1]}`:                               "recipients must be a text, found a number",
		`{"time": 1, "user": "a", "op": "deliver", "recipients": "b"}`:                               "recipients must be a list, found a text",
		`[{"time": 1, "user": "a", "op": "list"}]`:                                                   "it must be an object, found a list",
		`{"time": 1, "user": "a"`:                                                                    "the JSON has no end",
		`{"time": 1, "user": "` + strings.Repeat("a", 1<<20) + `", "op": "list"}`:                    ":1: the line has more than 1048576 bytes",
		"\x00\x00": `:1: not a line of a trace: "\x00\x00" is not JSON`,
		`{"time": "noon", "user": "a", "op": "list"}`:              `:1: not a line of a trace: time must be a number, found a text`,
		`{"time": 1, "user": "a", "op": "deliver", "size": -1}`:    ":1: size must be a whole number from 0 to ",
		`{"time": 1, "user": "a", "op": "move", "messages": 5000}`: ":1: messages must be a whole number from 0 to 1000, found 5000",
		`time,user,op`: ":1: not a line of a trace",
	} {
		w := workload(t, text, "")
		if _, err := Open(t.Context(), w.Phases[1].Replay.Trace); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "json: ") || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s\n%v, want %s", text, err, want)
		}
	}
	w := workload(t, trace, "")
	w.Population.Users = 2
	tr, err := Open(t.Context(), w.Phases[1].Replay.Trace)
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Prepare(w, &w.Phases[1]); err == nil || !strings.Contains(err.Error(), "set population.users to 3") {
		t.Errorf("too few users: %v", err)
	}
}

// A message of a given size has that size, within 3% where its header fits, and can be
// parsed.
func TestSizes(t *testing.T) {
	w := workload(t, trace, "")
	r := messages.NewGenerator(w).Reader().(messages.Sizer)
	for _, size := range []int{1, 4000, 30_000, 64 << 10, 65 << 10, 300_000, 5_000_000} {
		for n := range uint64(20) {
			var m, parsed mail.Message
			if err := r.Sized(n, time.Unix(0, 0), size, &m); err != nil {
				t.Fatal(err)
			}
			got := m.Raw.Size()
			if math.Abs(float64(got)/float64(size)-1) > 0.03 && size > 2000 {
				t.Errorf("a message of %d has %d bytes", size, got)
			}
			if err := mail.NewParser().Parse(m.Raw, time.Time{}, &parsed); err != nil || parsed.Malformed || len(parsed.Attachments) != len(m.Attachments) {
				t.Errorf("a message of %d: %v %t", size, err, parsed.Malformed)
			}
		}
	}
}

// A trace that lasts centuries at its speed is refused.
func TestTooLong(t *testing.T) {
	w := workload(t, `{"time": 0, "user": "a", "op": "list"}`+"\n"+`{"time": 1e8, "user": "a", "op": "list"}`, ", speed: 0.001")
	tr, err := Open(t.Context(), w.Phases[1].Replay.Trace)
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Prepare(w, &w.Phases[1]); err == nil || !strings.Contains(err.Error(), "at speed 0.001 takes 1157407 days") {
		t.Errorf("error %v", err)
	}
}
