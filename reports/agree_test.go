package reports

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// raw is the stored sample's run.json as it stands there, read without the types of
// this package.
type raw map[string]any

func rawCells(t *testing.T) []raw {
	t.Helper()
	b, err := os.ReadFile("results/testdata/sample/" + results.RunFile)
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
	r, err := results.Open("results/testdata/sample")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// All outputs have the figures of run.json.
func TestOutputsAgree(t *testing.T) {
	cells := rawCells(t)
	t.Run("csv", func(t *testing.T) { csvAgrees(t, cells, written(t, WriteCSV)) })
	t.Run("bench", func(t *testing.T) { benchAgrees(t, cells, written(t, WriteBench)) })
	t.Run("junit", func(t *testing.T) { junitAgrees(t, cells, written(t, WriteJUnit)) })
	t.Run("searches", searchesAgree)
	tables := markdownRows(t, written(t, WriteMarkdown))
	t.Run("markdown", func(t *testing.T) { markdownAgrees(t, cells, tables) })
	t.Run("text", func(t *testing.T) {
		lines := textRows(t, written(t, func(w io.Writer, r *results.Run) error { return Text{Width: 200, Full: true}.Write(w, r) }))
		if len(lines) != len(tables) {
			t.Errorf("the text has %d lines of figures and Markdown %d", len(lines), len(tables))
		}
		for key, line := range lines {
			// Remarks are words behind the figures.
			if table := tables[key]; len(table) == 0 || !slices.Equal(line[:min(len(line), len(table)-1)], table[:len(table)-1]) {
				t.Errorf("%s: the text has %q and Markdown %q", key, line, table)
			}
		}
	})
}

// searchesAgree looks for what run.json says of a search in the outputs that show it.
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
	text, err := os.ReadFile("results/testdata/sample/run.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil || len(r.Searches) != 1 || len(r.Searches[0].Steps) != 2 {
		t.Fatalf("searches of run.json: %+v, %v", r, err)
	}
	found := r.Searches[0].Found.Text
	outputs := map[string]string{
		"Markdown": written(t, WriteMarkdown), "JUnit": written(t, WriteJUnit),
		"the text": written(t, func(w io.Writer, r *results.Run) error { return Text{Width: 200, Full: true}.Write(w, r) }),
	}
	for name, output := range outputs {
		if !strings.Contains(output, found) {
			t.Errorf("%s does not say %q", name, found)
		}
	}
	for _, step := range r.Searches[0].Steps {
		rate, p50 := words.Amount(step.Rate), words.Duration(float64(step.Cell.AllOps.Response.P50))
		row := regexp.MustCompile(`(?m)^\| ` + rate + ` \| ` + step.Verdict + ` \| \S+ \| ` + p50 + ` \|`)
		line := regexp.MustCompile(`(?m)^ +` + rate + ` +\S+ +` + p50 + ` .* ` + step.Verdict + `$`)
		if !row.MatchString(outputs["Markdown"]) || !line.MatchString(outputs["the text"]) {
			t.Errorf("the step of %s/s is not in Markdown and text as %s, %s", rate, p50, step.Verdict)
		}
	}
	if one := `name="measure: highest rate"`; !strings.Contains(outputs["JUnit"], one) || !strings.Contains(outputs["JUnit"], `type="unfinished"`) {
		t.Errorf("JUnit has no failing case %s", one)
	}
}

func csvAgrees(t *testing.T, cells []raw, text string) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, c := range cells {
		timeline, _ := c.at("timeline").([]any)
		for _, in := range timeline {
			ops, _ := in.(map[string]any)["ops"].(map[string]any)
			want += 1 + len(ops)
		}
	}
	if len(rows)-1 != want || want == 0 {
		t.Errorf("%d rows, want %d", len(rows)-1, want)
	}
	for _, row := range rows[1:] {
		field := map[string]string{}
		for i, name := range rows[0] {
			field[name] = row[i]
		}
		c := find(t, cells, field["model"], field["phase"])
		timeline := c.at("timeline").([]any)
		at := slices.IndexFunc(timeline, func(in any) bool {
			return fmt.Sprint(raw(in.(map[string]any)).number("at")) == fmt.Sprint(mustFloat(t, field["at_seconds"]))
		})
		if at < 0 {
			t.Fatalf("run.json has no interval of %v", row)
		}
		in := raw(timeline[at].(map[string]any))
		if in.number("seconds") != mustFloat(t, field["seconds"]) || c.at("verdict") != field["verdict"] || c.at("started") != field["phase_started"] {
			t.Errorf("%v is not of its cell", row)
		}
		if field["op"] != csvAll {
			in = raw(in.at("ops", field["op"]).(map[string]any))
		}
		for _, name := range []string{"ok", "not_found", "failed", "unknown", "dropped", "too_large", "p50_ns", "p99_ns", "max_ns"} {
			want := in.digits(strings.TrimSuffix(name, "_ns"))
			if strings.HasSuffix(name, "_ns") && (in.digits("ok") == "0" || c.at("verdict") == "invalid") || field["op"] == csvAll && (name == "not_found" || name == "too_large") {
				want = ""
			}
			if field[name] != want {
				t.Errorf("%s of %v is %q, want %q", name, row, field[name], want)
			}
		}
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
			case "calls/op":
				want = c.number("ops", op, "store", "calls")
			case "examined/op":
				want = c.number("ops", op, "store", "rows_examined")
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

// rows are lines of figures by PHASE/OPERATION/MODEL, remarks last.
type rows map[string][]string

var markdownSummary = regexp.MustCompile(`^<details><summary>(\S+): `)

func markdownRows(t *testing.T, text string) rows {
	t.Helper()
	all, phase := rows{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := markdownSummary.FindStringSubmatch(line); m != nil {
			phase = m[1]
		} else if line == "</details>" {
			phase = ""
		}
		inner, ok := strings.CutPrefix(line, "| ")
		if cells := strings.Split(strings.TrimSuffix(inner, " |"), " | "); ok && phase != "" && cells[0] != "operation" {
			all[phase+"/"+cells[0]+"/"+strings.TrimPrefix(cells[1], "!")] = cells[2:]
		}
	}
	return all
}

// textRows returns the figures of the tables, with remarks as single words.
func textRows(t *testing.T, text string) rows {
	t.Helper()
	all, phase, op := rows{}, "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := regexp.MustCompile(`^([A-Z]+)  (open|closed|as) `).FindStringSubmatch(line); m != nil {
			phase = strings.ToLower(m[1])
			continue
		}
		if line == "" {
			phase = "" // the end of the table
		}
		if phase == "" || len(line) < opWidth+2 || line[opWidth+1] == ' ' || strings.HasPrefix(line, "  ") && strings.TrimSpace(line[:opWidth]) != "" {
			continue
		}
		if label := strings.TrimSpace(line[:opWidth]); label != "" {
			op = label
		}
		fields := strings.Fields(line[opWidth:])
		if strings.HasPrefix(line, "n/a for all") || fields[0] == "n/a:" {
			continue
		}
		all[phase+"/"+op+"/"+strings.TrimPrefix(fields[0], "!")] = fields[1:]
	}
	return all
}

func markdownAgrees(t *testing.T, cells []raw, tables rows) {
	for _, key := range slices.Sorted(maps.Keys(tables)) {
		parts, got := strings.Split(key, "/"), tables[key]
		c := find(t, cells, parts[2], parts[0])
		get := func(path ...string) float64 { return c.number(append([]string{"ops", parts[1]}, path...)...) }
		percentile := func(name string, p float64) string {
			switch {
			case c.at("verdict") == "invalid" && get("count") > 0:
				return Withheld
			case get("count") < float64(results.EnoughFor(p)):
				return "-"
			}
			return words.Duration(get(c.time(), name))
		}
		want := []string{percentile("p50", 0.5), percentile("p99", 0.99), percentile("p99_9", 0.999)}
		examined := "?"
		if c.at("ops", parts[1], "store", "rows_examined") != nil {
			examined = words.Amount(get("store", "rows_examined"))
		}
		if get("store", "rows_examined_traced") > 0 {
			examined = "~" + examined
		}
		if get("count") > 0 {
			want = append(want, words.Amount(get("rate")), words.Digits(get("store", "calls")),
				examined+"/"+words.Amount(get("store", "rows_read"))+"/"+words.Amount(get("store", "rows_written")),
				words.Size(get("store", "bytes_read"))+"/"+words.Size(get("store", "bytes_written")))
		} else {
			want = append(want, "-", "-", "-", "-")
		}
		if len(got) == len(want)+4 {
			want = append([]string{fmt.Sprint(get("failed")), fmt.Sprint(get("unknown"))}, want...)
		}
		if !slices.Equal(got[:len(want)], want) {
			t.Errorf("%s: Markdown has %q, run.json %q", key, got, want)
		}
	}
	if len(tables) == 0 {
		t.Error("no figures")
	}
}

func junitAgrees(t *testing.T, cells []raw, text string) {
	var got junitSuites
	if err := xml.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]int{}
	for _, c := range cells {
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
		t.Errorf("%+v, want %v", s.junitCounts, outcomes)
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
	golden(t, "sample.md", []byte(written(t, WriteMarkdown)))
	var b bytes.Buffer
	if err := WriteMarkdown(&b, comparison(t)); err != nil {
		t.Fatal(err)
	}
	golden(t, "comparison.md", b.Bytes())
}
