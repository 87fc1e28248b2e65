package reports

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// raw is the stored sample's run.json as it is, read without the types of
// this package.
type raw map[string]any

func rawCells(t *testing.T) []raw {
	t.Helper()
	b, err := os.ReadFile("../workloads/results/testdata/sample/" + results.RunFile)
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Cells []raw }
	in := json.NewDecoder(bytes.NewReader(b))
	in.UseNumber()
	if err := in.Decode(&r); err != nil {
		t.Fatal(err)
	}
	return r.Cells
}

func (r raw) at(path ...string) any {
	var v any = map[string]any(r)
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

// digits are those of a number; what is left out is 0.
func (r raw) digits(path ...string) string {
	if n, ok := r.at(path...).(json.Number); ok {
		return n.String()
	}
	return "0"
}

func (r raw) number(path ...string) float64 {
	v, _ := strconv.ParseFloat(r.digits(path...), 64)
	return v
}

// time is which time is reported of the cell.
func (r raw) time() string {
	if r.at("arrivals") == "closed" || r.at("kind") != results.KindMeasure {
		return "service"
	}
	return "response"
}

func find(t *testing.T, cells []raw, model, phase string) raw {
	t.Helper()
	at := slices.IndexFunc(cells, func(c raw) bool { return c.at("model") == model && c.at("phase") == phase })
	if at < 0 {
		t.Fatalf("run.json has no cell of %s in %s", model, phase)
	}
	return cells[at]
}

func written(t *testing.T, write func(io.Writer, *results.Run) error) string {
	t.Helper()
	r, err := results.Open("../workloads/results/testdata/sample")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// All outputs have the values of run.json.
func TestOutputsAgree(t *testing.T) {
	cells := rawCells(t)
	t.Run("bench", func(t *testing.T) { benchAgrees(t, cells, written(t, WriteBench)) })
	t.Run("junit", func(t *testing.T) { junitAgrees(t, cells, written(t, WriteJUnit)) })
	t.Run("searches", searchesAgree)
	t.Run("document", func(t *testing.T) { documentAgrees(t, cells, Of(sample(), "")) })
}

// documentAgrees compares the tables of latencies with run.json, and finds each of their cells in
// every form.
func documentAgrees(t *testing.T, cells []raw, d *document.Document) {
	var text, md, table bytes.Buffer
	if err := errors.Join(
		(document.Terminal{Width: 400, Full: true}).Write(&text, d), document.WriteMarkdown(&md, d), document.WriteCSV(&table, d),
	); err != nil {
		t.Fatal(err)
	}
	values, err := csv.NewReader(&table).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	shown := strings.ReplaceAll(md.String(), `\`, "")
	compared := 0
	for _, s := range d.Sections {
		phase, isLatency := strings.CutPrefix(s.ID, "latency-")
		if s.Table == nil {
			continue
		}
		for _, row := range s.Table.Rows {
			for i, c := range row.Cells {
				if s.Table.Columns[i].Page || c.Text == "" {
					continue
				}
				want := words.OneLine(c.Text)
				if !strings.Contains(text.String(), want) || !strings.Contains(shown, strings.ReplaceAll(words.Markdown(c.Text), `\`, "")) {
					t.Errorf("%s, %s: %q is not in text and Markdown", s.Title, row.Group, want)
				}
				if i > 0 && !s.Table.Columns[i].Left && !slices.ContainsFunc(values, func(line []string) bool {
					return line[0] == s.Title && line[1] == words.OneLine(row.Group) && line[5] == want
				}) {
					t.Errorf("%s, %s: %q is not in the CSV", s.Title, row.Group, want)
				}
			}
			if !isLatency {
				continue
			}
			c := find(t, cells, row.Cells[0].Text, phase)
			count := c.number("ops", row.Group, "count")
			for name, p := range map[string]float64{"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999} {
				at := slices.IndexFunc(s.Table.Columns, func(c document.Column) bool { return c.Title == name })
				want := "-"
				if count >= float64(results.EnoughFor(p)) {
					want = results.MS(c.number("ops", row.Group, c.time(), strings.ReplaceAll(name, ".", "_")))
				}
				if got := row.Cells[at].Text; got != want {
					t.Errorf("%s %s %s of %s: %s, run.json has %s", phase, row.Group, name, row.Cells[0].Text, got, want)
				}
				compared++
			}
		}
	}
	if compared == 0 {
		t.Error("no latencies")
	}
}

// searchesAgree looks for the searches of run.json in the outputs that show it.
func searchesAgree(t *testing.T) {
	var r struct {
		Searches []struct {
			Found struct{ Text string }
			Steps []struct {
				Rate    float64
				Verdict string
				Cell    struct {
					AllOps struct{ Response results.Latency } `json:"all_ops"`
				}
			}
		}
	}
	text, err := os.ReadFile("../workloads/results/testdata/sample/run.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil || len(r.Searches) != 1 || len(r.Searches[0].Steps) != 2 {
		t.Fatalf("searches of run.json: %+v, %v", r, err)
	}
	found := r.Searches[0].Found.Text
	outputs := map[string]string{
		"Markdown": written(t, writeMarkdown), "JUnit": written(t, WriteJUnit),
		"the text": written(t, func(w io.Writer, r *results.Run) error { return Text{Width: 200, Full: true}.Write(w, r) }),
	}
	for name, output := range outputs {
		if !strings.Contains(output, found) {
			t.Errorf("%s does not say %q", name, found)
		}
	}
	for _, step := range r.Searches[0].Steps {
		rate, p50 := words.Amount(step.Rate), results.MS(float64(step.Cell.AllOps.Response.P50))
		verdict := map[string]string{"held": "passed", "broken": "failed: "}[step.Verdict]
		row := regexp.MustCompile(`(?m)^\| ` + rate + ` \| \S+ \| ` + p50 + ` \|.*\| ` + verdict)
		line := regexp.MustCompile(`(?m)^ *` + rate + ` +\S+ +` + p50 + ` .* ` + verdict)
		if !row.MatchString(outputs["Markdown"]) || !line.MatchString(outputs["the text"]) {
			t.Errorf("the step of %s/s is not in Markdown and text as %s, %s", rate, p50, step.Verdict)
		}
	}
	if one := `name="measure: highest rate"`; !strings.Contains(outputs["JUnit"], one) || !strings.Contains(outputs["JUnit"], `type="unfinished"`) {
		t.Errorf("JUnit has no failing case %s", one)
	}
}

func mustFloat(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func benchAgrees(t *testing.T, cells []raw, text string) {
	config, lines := map[string]string{}, 0
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			config[key] = value
			continue
		}
		fields := strings.Fields(line)
		name := regexp.MustCompile(`^BenchmarkMail/model=(\S+)/op=(\S+)-\d+$`).FindStringSubmatch(fields[0])
		if name == nil {
			t.Fatalf("no benchmark line: %s", line)
		}
		lines++
		c, op := find(t, cells, name[1], config["phase"]), name[2]
		if fields[1] != c.digits("ops", op, "count") || config["verdict"] != c.at("verdict") {
			t.Errorf("not as in run.json: %s", line)
		}
		for i := 2; i < len(fields); i += 2 {
			var want float64
			switch unit := fields[i+1]; unit {
			case "p50-ns", "p99-ns":
				want = c.number("ops", op, c.time(), strings.TrimSuffix(unit, "-ns"))
			case "requests/op":
				want = c.number("ops", op, "store", "requests")
			case "scanned/op":
				want = c.number("ops", op, "store", "rows_scanned")
			case "B/op":
				want = c.number("ops", op, "store", "bytes_read") + c.number("ops", op, "store", "bytes_written")
			default:
				want = c.number("ops", op, unit)
			}
			if got := mustFloat(t, fields[i]); got != want {
				t.Errorf("%s is %v, want %v: %s", fields[i+1], got, want, line)
			}
		}
	}
	if lines == 0 {
		t.Error("no lines")
	}
}

func junitAgrees(t *testing.T, cells []raw, text string) {
	var got junitSuites
	if err := xml.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	outcomes, doubts := map[string]int{}, 0
	for _, c := range cells {
		all, _ := c.at("doubts").([]any)
		doubts += len(all)
		switch c.at("verdict") {
		case "ok":
		case "failed":
			outcomes["error"]++
		// Its model cannot hold the population, and another can; its times are withheld: the exit status
		// says nothing of it either.
		case "empty", "invalid":
			outcomes["skipped"]++
		default:
			outcomes["failure"]++
		}
		outcomes["test"]++
		objectives, _ := c.at("objectives").([]any)
		for _, o := range objectives {
			outcomes["test"]++
			switch raw(o.(map[string]any)).at("verdict") {
			case "missed", "unclear":
				outcomes["failure"]++
			case "n/a":
				outcomes["skipped"]++
			}
		}
	}
	// Three audits, one of which found data lost, a search that found no rate, and the run
	// was interrupted.
	outcomes["test"] += 5
	outcomes["failure"] += 2
	outcomes["error"]++
	s := got.Suites[0]
	if s.Tests != outcomes["test"] || s.Failures != outcomes["failure"] || s.Errors != outcomes["error"] || s.Skipped != outcomes["skipped"] || len(s.Cases) != s.Tests {
		t.Errorf("%+v, want %v", s, outcomes)
	}
	if n := strings.Count(text, "warning: "); n != doubts {
		t.Errorf("%d warnings, want %d: of phases in every state", n, doubts)
	}
	for _, want := range []string{
		`name="measure: list.p99 &lt;20ms"`, `type="overloaded"`, `type="invalid"`, `type="empty"`, `type="failed"`, `type="missed"`, `type="unclear"`, `type="data"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

func TestMarkdownIsAsItWas(t *testing.T) {
	golden(t, "sample.md", []byte(written(t, writeMarkdown)))
	var b bytes.Buffer
	if err := writeMarkdown(&b, comparison(t)); err != nil {
		t.Fatal(err)
	}
	golden(t, "comparison.md", b.Bytes())
}

func writeMarkdown(w io.Writer, r *results.Run) error { return document.WriteMarkdown(w, Of(r, "")) }
