package lint

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/imports"
)

// The corpus is made from published lists of flawed designs and from published good
// ones. The first lines of each file name its source; of a flawed design the flaw and
// the rules that name it; of a good one the findings that its authors would not deny.
// The rates below are those that the project promises.
const (
	mostMissed = 1 // of 38 flawed designs, so that at least 95% are found
	mostFalse  = 1 // findings on the good designs that are not true
)

// TestCorpus: flawed designs have a warning or an error of the right rule, and good ones
// have none but true ones.
func TestCorpus(t *testing.T) {
	var missed []string
	flawed := corpus(t, "flawed", func(file string, header map[string][]string, report *Report) {
		rules := strings.Fields(strings.Join(header["rules"], " "))
		for _, rule := range rules {
			if !slices.ContainsFunc(Rules(), func(r *Rule) bool { return r.ID == rule }) {
				t.Logf("%s: there is no rule %s", file, rule)
			}
		}
		if len(rules) == 0 || header["flaw"] == nil || header["source"] == nil {
			t.Errorf("%s: expected comments source, flaw and rules", file)
		}
		if !slices.ContainsFunc(report.Findings, func(f Finding) bool {
			return f.Rule.Severity > Note && f.Accepted == "" && slices.Contains(rules, f.Rule.ID)
		}) {
			missed = append(missed, fmt.Sprintf("%s: %s", file, strings.Join(header["flaw"], " ")))
		}
	})
	var wrong []string
	good := corpus(t, "good", func(file string, header map[string][]string, report *Report) {
		if header["source"] == nil {
			t.Errorf("%s: expected the comment source", file)
		}
		for _, f := range report.Findings {
			if f.Rule.Severity > Note && f.Accepted == "" && !slices.ContainsFunc(header["true"], func(finding string) bool {
				return strings.HasPrefix(finding, f.Rule.ID+" "+f.Table+":")
			}) {
				wrong = append(wrong, fmt.Sprintf("%s: %s", f.Pos.In(file), &f))
			}
		}
	})
	t.Logf("%d of %d flawed designs found, %d false alarms on %d good ones", flawed-len(missed), flawed, len(wrong), good)
	if flawed != 38 || good != 6 {
		t.Errorf("%d flawed and %d good designs", flawed, good)
	}
	if len(missed) > mostMissed {
		t.Errorf("missed:\n%s", strings.Join(missed, "\n"))
	}
	if len(wrong) > mostFalse {
		t.Errorf("false alarms:\n%s", strings.Join(wrong, "\n"))
	}
}

// corpus checks the files of a folder and returns how many there are. yield also gets
// the texts of a file's first comments by their first word.
func corpus(t *testing.T, folder string, yield func(file string, header map[string][]string, r *Report)) int {
	files, err := filepath.Glob(filepath.Join("testdata", "corpus", folder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		header := make(map[string][]string)
		for line := range strings.Lines(string(src)) {
			if !strings.HasPrefix(line, "# ") {
				break
			}
			key, text, _ := strings.Cut(strings.TrimSpace(line[2:]), ": ")
			header[key] = append(header[key], text)
		}
		s := parse(t, string(src))
		r, err := Check(s, Options{Facts: facts(s)})
		if err != nil {
			t.Fatal(err)
		}
		yield(filepath.Base(file), header, r)
	}
	return len(files)
}

// The rates that the findings on testdata/cases must reach, in percent.
const (
	leastAccepted = 85 // of warnings and errors, those that the owners of the keyspace would accept
	leastFound    = 80 // of known problems
)

// TestCases: the keyspaces of testdata/cases have the errors and warnings that their labels name, and no
// others. "make check CHECK=lint" prints the rates.
func TestCases(t *testing.T) {
	var accepted, wrong, wrongErrors, found, missed int
	cases(t, func(name string, labels []string, r *Report) {
		left := slices.Clone(labels)
		for _, f := range r.Findings {
			if f.Severity == Note {
				continue
			}
			is := func(label string) bool { return strings.HasSuffix(label, strings.TrimSpace(" "+f.Rule.ID+" "+f.Table)) }
			i := slices.IndexFunc(labels, is)
			switch {
			case i < 0:
				t.Errorf("%s: no label has %s", name, &f)
				wrong++
			case strings.HasPrefix(labels[i], "false "):
				wrong++
			default:
				accepted++
			}
			if strings.Contains(f.Message, "Cassandra refuses it") && f.Severity != Error {
				t.Errorf("%s: not an error: %s", name, &f)
			}
			if f.Severity == Error && (i < 0 || strings.HasPrefix(labels[i], "false ")) {
				wrongErrors++
			}
			left = slices.DeleteFunc(left, is)
		}
		for _, label := range labels {
			if strings.HasPrefix(label, "problem ") && !slices.Contains(left, label) {
				found++
			}
		}
		for _, label := range left {
			if strings.HasPrefix(label, "problem ") {
				missed++
			}
			t.Logf("%s: nothing finds %s", name, label)
		}
	})
	precision, recall := 100*accepted/(accepted+wrong), 100*found/(found+missed)
	t.Logf("warnings and errors: %d, accepted %d (%d%%), false errors %d", accepted+wrong, accepted, precision, wrongErrors)
	t.Logf("known problems: %d, found %d (%d%%)", found+missed, found, recall)
	if precision < leastAccepted || recall < leastFound || wrongErrors > 0 {
		t.Errorf("expected at least %d%% accepted, at least %d%% found, and no false error", leastAccepted, leastFound)
	}
}

// cases imports and checks each keyspace of testdata/cases. Its first lines, up to an empty one, are labels.
func cases(t *testing.T, yield func(name string, labels []string, r *Report)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "cases", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			var labels []string
			for line := range strings.Lines(string(f.Data)) {
				label, comment := strings.CutPrefix(strings.TrimSpace(line), "-- ")
				if !comment {
					break
				}
				if !strings.HasPrefix(label, "source: ") {
					labels = append(labels, label)
				}
			}
			imported, err := imports.Import("", imports.Source{File: f.Name, Text: string(f.Data)})
			if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			for _, u := range imported.Unread {
				t.Errorf("%s:%d: not read: %s", f.Name, u.Pos.Line, u.Reason)
			}
			r, err := Check(imported.Schema, Options{Facts: facts(imported.Schema)})
			if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			yield(filepath.Base(file)+" "+f.Name, labels, r)
		}
	}
}

// TestRemedies: what a remedy removes, no pattern of the same schema needs, on all inputs of these tests: without
// it the schema can be read, and has no error that it did not have.
func TestRemedies(t *testing.T) {
	removed := 0
	inputs(t, func(name, text string) {
		errorsOf := func(r *Report) (all []string) {
			for _, f := range r.Findings {
				if f.Severity == Error {
					all = append(all, f.Rule.ID+" "+f.Table+" "+f.Pattern)
				}
			}
			return all
		}
		check := func(text string) *Report {
			s := parse(t, text)
			r, err := Check(s, Options{Facts: facts(s)})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return r
		}
		before := check(text)
		for _, f := range before.Findings {
			if p := parse(t, text).Pattern(f.Pattern); strings.HasPrefix(f.Do, "Declare the column in the order ") {
				for _, o := range parse(t, text).Patterns {
					if o.Kind == schemas.Slice && o.Table.Name == p.Table.Name && !o.Reverse && o.Index == nil && o.In == nil {
						t.Errorf("%s: %s: %s: %s reads in the order as it is", name, &f, f.Do, o.Name)
					}
				}
			}
			what, ok := strings.CutPrefix(f.Do, "Remove the ")
			if !ok || f.Rule.ID == "accept-unused" {
				continue
			}
			s := parse(t, text)
			remove(t, s, &f, what)
			changed := schemas.Format(s)
			if _, err := schemas.Parse("changed.yaml", changed); err != nil {
				t.Errorf("%s: %s: %s: a pattern needs it: %v", name, &f, f.Do, err)
				continue
			}
			for _, e := range errorsOf(check(string(changed))) {
				if !slices.Contains(errorsOf(before), e) {
					t.Errorf("%s: %s: %s: that leads to %s", name, &f, f.Do, e)
				}
			}
			removed++
		}
	})
	if removed < 12 {
		t.Errorf("%d remedies remove something: the test shows nothing", removed)
	}
}

// remove does what a remedy says.
func remove(t *testing.T, s *schemas.Schema, f *Finding, what string) {
	table := s.Table(f.Table)
	switch word, _, _ := strings.Cut(what, ","); word {
	case "table":
		s.Tables = slices.DeleteFunc(s.Tables, func(o *schemas.Table) bool { return o == table })
	case "column":
		not := func(c *schemas.Column) bool { return c.Name == f.Part }
		table.Columns, table.Static = slices.DeleteFunc(table.Columns, not), slices.DeleteFunc(table.Static, not)
	case "index":
		x := table.Index(f.Part)
		column := x.Columns[len(x.Columns)-1].Column
		for _, p := range s.Patterns { // whatever lint takes the index for, a comparison of its column may need it
			if p.Table == table && p.Index == nil && (slices.Contains(p.Filter, column) ||
				slices.Contains(strings.Fields(carried(p, "where")+" "+carried(p, "order by")), column.Name)) {
				t.Errorf("%s: pattern %s compares %s: %s", f, p.Name, column.Name, f.Do)
			}
		}
		table.Indexes = slices.DeleteFunc(table.Indexes, func(o *schemas.Index) bool { return o == x })
		for _, p := range s.Patterns {
			if p.Index == x && f.Rule.ID == "index-is-key" { // whose remedy says so
				p.Index = nil
			}
		}
	case "fallback":
		s.Pattern(f.Pattern).Fallback = nil
	default:
		t.Errorf("%s: nothing here removes that: %s", f, f.Do)
	}
}

// inputs yields the schema files of all tests of this package, and those of imported CQL.
func inputs(t *testing.T, yield func(name, text string)) {
	t.Helper()
	cases(t, func(name string, _ []string, r *Report) { yield(name, string(schemas.Format(r.Schema))) })
	for _, name := range schemas.BundledVariants("") {
		s, err := schemas.Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		yield(name, string(s.Source))
	}
	files, err := filepath.Glob("testdata/corpus/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../imports/testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, more...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		yield(file, string(text))
	}
	archives, err := filepath.Glob("testdata/rules/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archives {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if strings.HasSuffix(f.Name, ".yaml") {
				yield(file+" "+f.Name, string(f.Data))
			}
		}
	}
}

// TestBaselineOfStatements: a finding of an imported statement is known by the statement's text. A statement put
// before it changes nothing, and a bad one that takes its place is new.
func TestBaselineOfStatements(t *testing.T) {
	const table = "CREATE TABLE conn (l uuid, at timeuuid, s int, c uuid, PRIMARY KEY (l, at));\n" +
		"INSERT INTO conn (l, at, s, c) VALUES (?, ?, ?, ?);\nSELECT c FROM conn WHERE l = ? AND at = ?;\n"
	const old = "SELECT s FROM conn WHERE l = ?;\nSELECT at FROM conn WHERE l = ?;\n"
	report := func(text string) *Report {
		r, err := imports.Import("", imports.Source{File: "q.cql", Text: text})
		if err != nil {
			t.Fatal(err)
		}
		found, err := Check(r.Schema, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	saved, err := json.Marshal(JSON([]*Report{report(table + old)}))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		table + old: 0,
		table + "SELECT at, s FROM conn WHERE l = ? LIMIT 5;\n" + old:                      0,
		table + "SELECT s, c FROM conn WHERE l = ?;\nSELECT at FROM conn WHERE l = ?;\n":   1,
		table + "SELECT at FROM conn WHERE l = ?;\nSELECT s FROM conn WHERE l = ?;\n":      0,
		table + "select  s\n  from conn where l = :l;\nSELECT at FROM conn WHERE l = ?;\n": 0,
		table + old + "SELECT c FROM conn WHERE l = ?;\n":                                  1,
		"\n\n" + table + "-- named: now it has a name\n" + old:                             0,
		strings.Replace(table, "at timeuuid, s int", "s int, at timeuuid", 1) + "\n" + old: 0,
	} {
		known, err := ReadBaseline(saved)
		if err != nil {
			t.Fatal(err)
		}
		r := report(text)
		known.Mark(r)
		if n := r.Counts(); n.Warnings != want {
			t.Errorf("%d new warnings, want %d:\n%s", n.Warnings, want, text)
		}
	}
}
