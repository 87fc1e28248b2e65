package workloads

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/random"
)

// TestErrors compares what Parse says about each broken file with the .err file
// next to it; on a mismatch the new text is left in a .err.new file.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Parse(filepath.Base(file), src)
			var faults strict.Errors
			if !errors.As(err, &faults) {
				t.Fatalf("error %v (%T), want strict.Errors", err, err)
			}
			var all strings.Builder // a message lists the first 20
			for _, one := range faults {
				all.WriteString(one.Error() + "\n")
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".err", all.String())
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	want, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	if err := os.WriteFile(file+".new", []byte(got), 0o600); err != nil {
		t.Error(err)
	}
	t.Errorf("%s differs; what there is now is in %s.new:\n%s", file, file, got)
}

func TestOverrides(t *testing.T) {
	w, err := Bundled(
		"quick", "population.users=7", "phases.measure.rate=90/min", "mail.body={constant: 8KB}",
		"phases.measure.mix.list=0", "seed=42", "access.deep_share=0.5", "mail.attachments.count={zipf: {s: 2, max: 3}}")
	if err != nil {
		t.Fatal(err)
	}
	m := w.Phases[3]
	if w.Population.Users != 7 || m.Rate != (Rate{90, time.Minute}) || m.Mix.Has(List) || !m.Mix.Has(Open) ||
		w.Mail.Body != (random.Constant{Value: 8 * strict.KB}) || w.Seed != 42 || w.Keys.Deep != 0.5 || w.Mail.Attachments.Count != random.NewZipf(2, 3) {
		t.Errorf("overrides gave %+v", w)
	}
	if last := w.Phases[4]; last.Name != "throughput" || last.Rate.Count > 0 || last.Mix != m.Mix {
		t.Errorf("what is set for measure is set for %+v", last)
	}
	again, err := Parse("again.yaml", w.Source)
	if err != nil || string(again.Source) != string(w.Source) || again.Population != w.Population {
		t.Errorf("Source is not the workload as overridden: %v\n%s", err, w.Source)
	}
	for override, want := range map[string]string{
		"population.users=ten":     `--set "population.users=ten":1:18: population.users must be a whole number from 1 to 10000000, found "ten"`,
		"populaton.users=10":       `--set "populaton.users=10":1:1: unknown key "populaton" in the workload; did you mean "population"?`,
		"population.usrs=10":       `--set "population.usrs=10":1:12: unknown key "usrs" in population; did you mean "users"?`,
		"population.users":         `--set "population.users":1:1: expected KEY=VALUE, such as population.users=10`,
		"phases.mesure.rate=1/s":   `--set "phases.mesure.rate=1/s":1:8: unknown phase "mesure" in phases; did you mean "measure"?`,
		"phases.xyzzy.rate=1/s":    `--set "phases.xyzzy.rate=1/s":1:8: unknown phase "xyzzy" in phases; expected one of load, settle, warmup, measure, throughput`,
		"phases.measure.ratee=1":   `--set "phases.measure.ratee=1":1:16: unknown key "ratee" in phase measure; did you mean "rate"?`,
		"phases.measure=1":         `--set "phases.measure=1":1:8: expected phases.PHASE.KEY=VALUE, such as phases.measure.rate=100/s`,
		"phases.measure.rate=-1/s": `--set "phases.measure.rate=-1/s":1:21: rate of phase measure: rate -1/s is out of range; expected 1/h to 100000000/s`,
		"conclusion={models: 5}":   `--set "conclusion={models: 5}":1:21: conclusion.models must be a name or a list of names, found the number 5`,
		"expect={models: 5}":       `--set "expect={models: 5}":1:17: expect.models must be a mapping (key: value), found the number 5`,
		"sweep={population: {}}":   `--set "sweep={population: {}}":1:20: sweep.population is empty; leave it out`,
		"mail.body={":              `--set "mail.body={":1:11: "{" is not a value; expected a number, text or YAML such as {constant: 8KB}`,
		"mail.body={constant: x}":  `--set "mail.body={constant: x}":1:22: mail.body: "x" is not a size; expected a number, with a unit or none (B, KB, MB, GB, KiB, MiB, GiB)`,
	} {
		if _, err := Bundled("quick", override); err == nil || err.Error() != want {
			t.Errorf("--set %s:\n%v, want\n%s", override, err, want)
		}
	}
}

// TestDistributions: a distribution is read as it is written, and an error says what is meant.
func TestDistributions(t *testing.T) {
	for text, want := range map[string]random.Dist{
		"8KB": random.Constant{Value: 8000}, "{constant: 1.5KB}": random.Constant{Value: 1500}, "{uniform: {min: 5, max: 5}}": random.Uniform{Low: 5, High: 5},
		"{lognormal: {median: 5, p99: 5}}": random.Lognormal{Median: 5, P99: 5}, "{pareto: {min: 5, alpha: 1.2, max: 6}}": random.Pareto{Low: 5, Alpha: 1.2, High: 6},
		"{zipf: {s: 1, max: 1}}": random.NewZipf(1, 1),
	} {
		if w, err := Bundled("quick", "mail.body="+text); err != nil || w.Mail.Body != want {
			t.Errorf("%s: %v, %v", text, w, err)
		}
	}
	for _, text := range []string{"{empirical: [[512, 0], [2KB, 0.235], [2MB, 1]]}", "{empirical: [[1, 0], [1, 0.7], [2, 0.7], [2, 1]]}"} {
		if w, err := Bundled("quick", "mail.body="+text); err != nil || fmt.Sprint(w.Mail.Body) != text {
			t.Errorf("%s: %v, %v", text, w, err)
		}
	}
	for text, want := range map[string]string{
		"{lognorml: {median: 1, p99: 2}}":  `did you mean "lognormal"`,
		"[1]":                              "mail.body must be one distribution, found a list; expected a size such as 8KB or one of constant, uniform",
		"{uniform: {min: 1, mx: 2}}":       `unknown key "mx" in uniform of mail.body; did you mean "max"`,
		"{uniform: {min: 1}}":              "uniform of mail.body has no max; expected min and max",
		"{uniform: {min: 3, max: 2}}":      "max of mail.body must be at least 3, found 2",
		"{lognormal: {median: 0, p99: 2}}": "median of mail.body must be at least 1, found 0",
		"{zipf: {s: 0, max: 2}}":           "s of mail.body must be a number from 0.01 to 20",
		"{zipf: {s: 1, max: 2MB}}":         "max of mail.body must be at most 1000000, found 2MB",
		"{empirical: [[1, 0.5], [2, 1]]}":  "points of mail.body must go from fraction 0 to fraction 1, found 0.5 to 1",
		"{empirical: [[2, 0], [1, 1]]}":    "points of mail.body must ascend in size, from 1 on, and fraction; found [1, 1]",
		"60MB":                             "mail.body must be from 0 to 50MB, found 60MB",
	} {
		if _, err := Bundled("quick", "mail.body="+text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
	w, err := Bundled("user-sessions", "phases.measure.streams=[{clients: 1, mix: {list: 1}, think_time: {uniform: {min: 0s, max: 2s}}}]")
	if err != nil || w.Phases[len(w.Phases)-1].Streams[0].Think != (random.Uniform{High: 2e9}) {
		t.Errorf("times: %v", err)
	}
	_, err = Bundled("user-sessions", "phases.measure.streams=[{clients: 1, mix: {list: 1}, think_time: {zipf: {s: 1, max: 5}}}]")
	if err == nil || !strings.Contains(err.Error(), "expected one of constant, uniform, lognormal, pareto, empirical") {
		t.Errorf("times: %v", err)
	}
}

// A stream's access is its own: the phase's, that of other streams and that of the workload stay.
func TestAccessOfStreams(t *testing.T) {
	w, err := Parse("x.yaml", []byte(`
version: 1
name: x
population: {users: 3, folders: {uniform: {min: 0, max: 2}}, messages: 1}
phases:
  - load: {}
  - measure:
      duration: 1s
      access: {deep_share: 0.5, users: uniform}
      streams:
        - {rate: 1/s, mix: {list: 1}, access: {deep_share: 0.25}}
        - {rate: 1/s, mix: {move: 1}}
        - {rate: 1/s, mix: {list: {weight: 1, access: {deep_share: 1}}}, access: {users: latest}}
`))
	if err != nil {
		t.Fatal(err)
	}
	p := w.Phases[1]
	got := []float64{w.Keys.Deep, p.Keys.Deep, p.Streams[0].Keys.Deep, p.Streams[1].Keys.Deep, p.Streams[2].Keys.Deep}
	if !slices.Equal(got, []float64{0, 0.5, 0.25, 0.5, 0.5}) || p.Streams[0].Keys.Users.Latest || !p.Streams[2].Keys.Users.Latest {
		t.Errorf("deep_share of the workload, its phase and three streams is %v", got)
	}
}

func TestInheritance(t *testing.T) {
	w, err := Parse("x.yaml", []byte(`
version: 1
name: x
population: {users: 1, messages: 1}
phases:
  - load: {clients: 3}
  - warmup: {duration: 1s}
  - measure: {clients: 4, operations: 10, mix: {open: 3, list: 1}}
  - drop-caches
  - warmup: {operations: 5, rate: 1/s, mix: {raw: 1}}
  - measure: {name: second, rate: 0.5/s, arrivals: poisson, duration: 1m, mix: {list: 1}}
  - measure: {name: third, clients: 1, operations: 9}
`))
	if err != nil {
		t.Fatal(err)
	}
	one, two := w.Phases[1], w.Phases[4]
	if one.Clients != 4 || one.Arrivals != Closed || one.Mix.Share(Open) != 0.75 || one.Duration != time.Second {
		t.Errorf("the first warmup is %+v", one)
	}
	if two.Arrivals != Constant || two.Rate.PerSecond() != 1 || !two.Mix.Has(Raw) || two.Operations != 5 {
		t.Errorf("the second warmup is %+v", two)
	}
	if m := w.Phases[5]; m.Name != "second" || m.Rate != (Rate{1, 2 * time.Second}) || m.Arrivals != Poisson {
		t.Errorf("the second measure is %+v", m)
	}
	if m := w.Phases[6]; m.Arrivals != Closed || m.Clients != 1 || m.Operations != 9 || m.Mix.Share(List) != 1 {
		t.Errorf("the third measure is %+v", m)
	}
	if w.Phases[0].Clients != 3 || w.Phases[3].Kind != Cold || w.Phases[2].Name != "measure" {
		t.Errorf("phases are %+v", w.Phases)
	}
}

// A measure phase that leaves its mix out needs one before it that has one, and no trace. A name of many phases is
// one fault.
func TestNoMixBefore(t *testing.T) {
	for phases, want := range map[string]string{
		"[load: {}, measure: {clients: 1, operations: 9}]":                                                "has no mix",
		"[load: {}, measure: {replay: {trace: t}}, measure: {name: b, clients: 1, operations: 9}]":        "has no mix",
		"[load: {}" + strings.Repeat(", measure: {clients: 1, operations: 9, mix: {list: 1}}", 500) + "]": "two phases have the name measure",
	} {
		_, err := Parse("x.yaml", []byte("{version: 1, name: x, population: {users: 1, messages: 1}, phases: "+phases+"}"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.100s: %v, want %q", phases, err, want)
		}
	}
}

func TestBundled(t *testing.T) {
	names := BundledNames()
	for _, want := range []string{"quick", "delivery", "listing", "blobs", "counters", "fanout", "churn", "workday", "conversation", "beyond-cache"} {
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+want+" ") {
			t.Errorf("%s is not bundled; there are %v", want, names)
		}
	}
	for _, name := range names {
		w, err := Bundled(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if w.Name != name || w.Doc == "" || len(w.Doc) > 110 {
			t.Errorf("workload %s is named %q, with doc %q", name, w.Name, w.Doc)
		}
	}
	for name, want := range map[string]string{
		"quik": `unknown workload "quik"; did you mean "quick"?`,
		"xyz":  `unknown workload "xyz"; expected one of accounts, beyond-cache`,
	} {
		if _, err := Bundled(name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Bundled(%q): %v, want %s", name, err, want)
		}
	}
}

// The documents' mailboxes are read far more often than written.
func TestWorkdayReads(t *testing.T) {
	w, err := Bundled("workday")
	if err != nil {
		t.Fatal(err)
	}
	var reads, writes float64
	mix := w.Phases[len(w.Phases)-1].PerSecond()
	for op := range Op(NumOps) {
		if op.Changes() {
			writes += mix.Share(op)
		} else {
			reads += mix.Share(op)
		}
	}
	if reads < 5*writes {
		t.Errorf("%.0f%% of workday are writes", 100*writes)
	}
}

// TestAnswer: a workload names the models that its question is about, and its answer is not a part of its points.
func TestAnswer(t *testing.T) {
	w, err := Bundled("accounts")
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Answer.Models) == 0 || len(w.Answer.Says) == 0 || len(w.Sweep.Points[0].Workload.Answer.Says) > 0 {
		t.Errorf("%+v", w.Answer)
	}
	if w, err = Bundled("accounts", "conclusion={}", "sweep={}"); err != nil || len(w.Answer.Says) > 0 {
		t.Errorf("without an answer: %v, %+v", err, w)
	}
	if _, err = Bundled("accounts", "conclusion={text: ['{login.scaned at 300}']}"); err == nil ||
		!strings.Contains(err.Error(), `unknown metric "scaned"; did you mean "scanned"?`) {
		t.Errorf("a misspelt metric: %v", err)
	}
}

// TestBundledSentences: the sentences of bundled workloads name models, phases and points that there are.
func TestBundledSentences(t *testing.T) {
	form := regexp.MustCompile(`([a-z-]+)\.([a-z0-9]+)(?: of (\S+))?(?: in (\S+))?(?: at (\S+))?`)
	for _, name := range BundledNames() {
		w, err := Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		points := []string{""}
		if w.Sweep != nil {
			points = []string{"smallest", "largest"}
			for _, p := range w.Sweep.Points {
				points = append(points, p.Value)
			}
		}
		for _, braces := range regexp.MustCompile(`\{[^}]*\}`).FindAllString(strings.Join(w.Answer.Says, " "), -1) {
			for _, m := range form.FindAllStringSubmatch(strings.Trim(braces, "{}"), -1) {
				op, known := Patterns(nil).Op(m[1])
				phases := 0
				for _, p := range w.Phases {
					if named := m[4] == "" || m[4] == p.Name; named && (p.Mix.Has(op) && p.Kind == Measure || p.Kind == Interrupt && m[2] == "interrupted") {
						phases++
					}
				}
				if known && phases != 1 || m[3] != "" && !slices.Contains(w.Answer.Models, m[3]) || !slices.Contains(points, m[5]) {
					t.Errorf("%s: %s names what there is not", name, m[0])
				}
			}
		}
	}
}

// docs/findings.md has the values of each workload with a question, below the command that measures them.
func TestFindings(t *testing.T) {
	text, err := os.ReadFile("../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range BundledNames() {
		w, err := Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		_, figures, found := strings.Cut(string(text), "<!-- findings: run "+name+" ")
		_, figures, _ = strings.Cut(figures, "-->\n")
		figures, _, _ = strings.Cut(figures, "<!-- end -->")
		said := strings.Count(figures, "\n- ") + strings.Count(figures, "\n| ") - strings.Count(figures, "\n| | ") // sentences and rows
		if asks := len(w.Answer.Says) > 0; asks != found || asks && (said < len(w.Answer.Says) ||
			!strings.HasPrefix(figures, "```console\n$ bin/mailbench run "+name)) {
			t.Errorf("%s has %d sentences, and docs/findings.md %d", name, len(w.Answer.Says), said)
		}
	}
}

func TestRate(t *testing.T) {
	for text, want := range map[string]Rate{
		"2000/s": {2000, time.Second}, "90/min": {90, time.Minute}, "0.5/s": {1, 2 * time.Second},
		"2.5/s": {5, 2 * time.Second}, "1/h": {1, time.Hour}, "100 /s": {100, time.Second},
	} {
		got, err := ParseRate(text)
		if err != nil || got != want {
			t.Errorf("ParseRate(%q) = %v, %v; want %v", text, got, err, want)
		}
		if back, err := ParseRate(got.String()); err != nil || back.PerSecond() != got.PerSecond() {
			t.Errorf("%v is written %q and read %v, %v", got, got.String(), back, err)
		}
	}
	for _, text := range []string{"", "/s", "2000", "-1/s", "0/s", "1e9/s", "1/s/s", "0x10/s", "1/2/s", "200000000/s", "0.0001/h", "0.00000000000000000000000001/s", "NaN/s"} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("ParseRate(%q) = %v, want an error", text, got)
		}
	}
}

// Thresholds are read in every place, and those of one model come after those
// of all. Overrides reach them, too.
func TestExpect(t *testing.T) {
	file, text, err := Text("quick")
	if err != nil {
		t.Fatal(err)
	}
	overrides := []string{
		"expect={models: {james: {list.p99: <=30ms}}, p99.9: < 1s, errors: <0.1%}", "expect.list.p99=<20ms", "expect.list.wait.p99.9=<1ms",
		`expect.engines.hbase.models.james.achieved=">=99%"`, `expect.phases.measure.rate=">100/s"`,
	}
	known := Known{ExpectModels: []string{"james"}, Engines: map[string]EngineWords{"hbase": {}}}
	w, err := known.Parse(file, text, overrides)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range w.Expect {
		got = append(got, strings.TrimSpace(strings.Join([]string{e.Model, e.Engine, e.Phase, e.Op, e.Figure, e.Sign, e.Text, strconv.FormatFloat(e.Bound, 'g', -1, 64)}, "|")))
	}
	want := []string{
		"||||p99.9|<|<1s|1e+09", "||||errors|<|<0.1%|0.001", "|||list|p99|<|<20ms|2e+07", "|||list|wait.p99.9|<|<1ms|1e+06",
		"james|||list|p99|<=|<=30ms|3e+07", "||measure||rate|>|>100/s|100", "james|hbase|||achieved|>=|>=99%|0.99",
	}
	if !slices.Equal(got, want) {
		t.Errorf("read\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	known = Known{ExpectModels: []string{"jame"}, Engines: map[string]EngineWords{"hbas": {}, "embedded": {}}}
	_, err = known.Parse(file, text, overrides)
	if want := `--set "expect={models: {james: {list.p99: <=30ms}}, p99.9: < 1s, errors: <0.1%}":1:18: unknown model "james" in expect.models; did you mean "jame"?`; err == nil ||
		!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `unknown engine "hbase" in expect.engines; did you mean "hbas"?`) {
		t.Errorf("unknown names: %v", err)
	}
}

// A phase has its remote_rate on an engine over a network, its warm-up too, unless an override or a sweep sets its pace.
func TestRemoteRates(t *testing.T) {
	rates := func(w *Workload) (all []string) {
		w.UseRemoteRates()
		for i := range w.Phases {
			if p := &w.Phases[i]; p.Runs() && p.Arrivals == Closed {
				all = append(all, words.Plural(p.Clients, "client"))
			} else if p.Runs() {
				all = append(all, p.Rate.String())
			}
		}
		return all
	}
	quick, err := Bundled("quick")
	if err != nil {
		t.Fatal(err)
	}
	inherits := bytes.Replace(quick.Source, []byte("warmup: {clients: 2, "), []byte("warmup: {"), 1)
	for override, want := range map[string]string{
		"seed=1":                      "200/s 200/s 1 client",
		"phases.measure.rate=700/s":   "700/s 700/s 1 client",
		"phases.measure.clients=4":    "4 clients 4 clients 1 client",
		"phases.measure.duration=10s": "200/s 200/s 1 client",
	} {
		w, err := Parse("quick.yaml", inherits, override)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(rates(w), " "); got != want {
			t.Errorf("--set %s: %s, expected %s", override, got, want)
		}
	}
	w, err := Parse("quick.yaml", inherits, "sweep={phases.measure.rate: [100/s, 250/s]}")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(rates(w.Sweep.Points[1].Workload), " "); got != "250/s 250/s 1 client" {
		t.Errorf("swept: %s", got)
	}
	_, err = Bundled("quick", "phases.measure.clients=4", "phases.measure.remote_rate=200/s")
	if err == nil || !strings.Contains(err.Error(), "remote_rate takes the place of a constant rate") {
		t.Errorf("remote_rate without a rate: %v", err)
	}
	// Of several overrides the last rate counts, also where the file has the key.
	for _, last := range []struct{ first, then, want string }{
		{"remote_rate=50/s", "rate=100/s", "2 clients 100/s 1 client"},
		{"rate=100/s", "remote_rate=50/s", "2 clients 50/s 1 client"},
		{"remote_rate=50/s", "clients=4", "2 clients 4 clients 1 client"},
	} {
		w, err := Bundled("quick", "phases.measure."+last.first, "phases.measure."+last.then)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(rates(w), " "); got != last.want {
			t.Errorf("%s, then %s: %s, expected %s", last.first, last.then, got, last.want)
		}
	}
}

// The remote_rate of sessions is one of sessions, and the warm-up that follows it has the same. Streams and traces
// have none.
func TestRemoteRateOfSessions(t *testing.T) {
	const head = "version: 1\nname: x\npopulation: {users: 2, messages: 1}\nphases:\n  - load: {}\n  - warmup: {duration: 1s}\n"
	w, err := Parse("x.yaml", []byte(head+"  - measure: {duration: 1s, rate: 10/s, remote_rate: 2/s, think_time: 1ms, "+
		"session: [login, list, open, open, open]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	w.UseRemoteRates()
	for i := range w.Phases[1:] {
		p := &w.Phases[1+i]
		if all, each := p.Rate.PerSecond(), p.Streams[0].Rate.PerSecond(); all != 10 || each != 2 || p.Mix[Open] != 0.6 {
			t.Errorf("%s: %g operations and %g sessions a second, mix %v", p.Name, all, each, p.Mix)
		}
	}
	for what, phase := range map[string]string{
		"streams": "streams: [{rate: 1/s, mix: {list: 1}}, {rate: 1/s, mix: {open: 1}}]", "replay": "replay: {trace: x.csv}",
	} {
		_, err := Parse("x.yaml", []byte(head+"  - measure: {duration: 1s, remote_rate: 2/s, "+phase+"}\n"))
		want := "phase measure has both " + what + " and remote_rate; keep one of them"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %s", what, err, want)
		}
	}
}

// Two overrides of which a phase has only one are an error, in any order.
func TestOverridesExclude(t *testing.T) {
	for _, pair := range [][2]string{{"measure.rate=1/s", "measure.clients=2"}, {"measure.duration=1s", "measure.operations=5"}} {
		for _, set := range [][2]string{pair, {pair[1], pair[0]}} {
			if _, err := Bundled("quick", "phases."+set[0], "phases."+set[1]); err == nil || !strings.Contains(err.Error(), "has both") {
				t.Errorf("%s, then %s: %v", set[0], set[1], err)
			}
		}
	}
}
