package judge

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
)

// constants reads the values of a file's constants that are codes.
func constants(t *testing.T, name string) codes {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found codes
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && spec.Type != nil {
			for _, v := range spec.Values {
				literal, ok := v.(*ast.BasicLit)
				if !ok {
					continue
				}
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, results.Code(text))
			}
		}
		return true
	})
	return found
}

// entry is a row of a table of codes in docs/results.md.
type entry struct {
	code  results.Code
	gives string
}

// documented reads the table with this heading in docs/results.md. Each row must say what its code means.
func documented(t *testing.T, heading string) (rows []entry, listed codes) {
	t.Helper()
	b, err := os.ReadFile("../../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(b), heading+"\n|---|---|---|\n")
	if !ok {
		t.Fatalf("docs/results.md has no table %s", heading)
	}
	row := regexp.MustCompile("^\\| `([a-z-]+)` \\| ([a-z/]+) \\| [A-Z].*\\. \\|\n$")
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		m := row.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("docs/results.md has the row %q", line)
		}
		rows, listed = append(rows, entry{results.Code(m[1]), m[2]}), append(listed, results.Code(m[1]))
	}
	return rows, listed
}

// docs/results.md has a row for each code, and no other rows.
func TestCodesAreDocumented(t *testing.T) {
	var all codes
	for _, r := range rules {
		all = append(all, r.code)
	}
	for _, r := range countRules {
		all = append(all, r.code)
	}
	slices.Sort(all)
	_, listed := documented(t, "| code | gives | meaning |")
	slices.Sort(listed)
	if want := slices.Compact(all); !slices.Equal(listed, want) {
		t.Errorf("docs/results.md lists\n%q, the rules have\n%q", listed, want)
	}
	_, listed = documented(t, "| code of an objective | gives | meaning |")
	if want := constants(t, "objectives.go"); !slices.Equal(listed, want) {
		t.Errorf("docs/results.md lists\n%q, the constants of objectives.go are\n%q", listed, want)
	}
}

// A run is excused from cells of a code, and others change how figures are read. Package
// reports says how large the effect of others is.
func TestCodesThatOthersName(t *testing.T) {
	empty := again(&results.Cell{Kind: results.KindMeasure, Evidence: &results.Evidence{NotOffered: "no labels"}})
	if r := (results.Run{Cells: []results.Cell{{Kind: results.KindMeasure, Verdict: results.OK}}}); !r.Excused(&empty) {
		t.Errorf("a run is not excused from a cell that is %v", empty.Verdict)
	}
	for code, want := range map[results.Code]results.Verdict{
		"drifting": results.OK, "failed": results.OK, "dropped": results.OK, "client-delays": results.Invalid,
	} {
		if what, remedy := Plain(code, want); what == "" || remedy == "" {
			t.Errorf("%s is not said in plain words", code)
		}
	}
	if what, _ := Plain("queued", results.OK); what != "" {
		t.Errorf("queueing changes how figures are read: %s", what)
	}
}

// Every code comes up in a case of TestJudge, as the reason of the verdict that
// docs/results.md gives it, or as a warning.
func TestCodesAreAllUsed(t *testing.T) {
	reasons, doubted := map[results.Code]results.Verdict{}, map[results.Code]bool{}
	for _, c := range slices.Concat(verdicts, doubts) {
		got := again(c.cell())
		if got.Reason != nil {
			reasons[got.Reason.Code] = got.Verdict
		}
		for _, code := range found(got.Doubts) {
			doubted[code] = true
		}
	}
	rows, _ := documented(t, "| code | gives | meaning |")
	for _, e := range rows {
		doubt := e.gives == "doubt"
		if string(reasons[e.code]) != e.gives && !(doubt && reasons[e.code] == "") {
			t.Errorf("%s is the reason of %q, but docs/results.md says %q", e.code, reasons[e.code], e.gives)
		}
		if both := e.code == "dropped"; doubted[e.code] != (doubt || both) {
			t.Errorf("%s is a doubt: %v", e.code, doubted[e.code])
		}
	}
}
