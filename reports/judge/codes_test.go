package judge

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/reports"
)

// constants reads the values of codes.go's constants.
func constants(t *testing.T) codes {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found codes
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for _, v := range spec.Values {
				text, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, reports.Code(text))
			}
		}
		return true
	})
	return found
}

func TestCodesAreAllConstants(t *testing.T) {
	var listed codes
	for _, e := range Codes() {
		listed = append(listed, e.Code)
	}
	if want := constants(t); !slices.Equal(listed, want) {
		t.Errorf("Codes lists\n%q, the constants are\n%q", listed, want)
	}
	slices.Sort(listed)
	if len(slices.Compact(slices.Clone(listed))) != len(listed) {
		t.Errorf("a code has two meanings: %q", listed)
	}
}

// Every code comes up in a case of TestJudge, as the reason of the verdict that
// Codes gives it, or as a doubt.
func TestCodesAreAllUsed(t *testing.T) {
	reasons, doubted := map[reports.Code]reports.Verdict{}, map[reports.Code]bool{}
	for _, c := range slices.Concat(verdicts, doubts) {
		got := Judge(c.cell())
		if got.Reason != nil {
			reasons[got.Reason.Code] = got.Verdict
		}
		for _, code := range found(got.Doubts) {
			doubted[code] = true
		}
	}
	for _, e := range Codes() {
		if reasons[e.Code] != e.Verdict {
			t.Errorf("%s is the reason of %q, but Codes says %q", e.Code, reasons[e.Code], e.Verdict)
		}
		if both := e.Code == CodeDropped; doubted[e.Code] != (e.Verdict == "" || both) {
			t.Errorf("%s is a doubt: %v", e.Code, doubted[e.Code])
		}
	}
}

// The table in docs/results.md has a row for each code, and no other rows.
func TestCodesAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(b), "| code | gives |")
	if !ok {
		t.Fatal("docs/results.md has no table of codes")
	}
	var rows []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| `") {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	var want []string
	for _, e := range Codes() {
		gives := "doubt"
		if e.Verdict != "" {
			gives = string(e.Verdict)
		}
		want = append(want, fmt.Sprintf("| `%s` | %s | %s |", e.Code, gives, e.Doc))
	}
	if !slices.Equal(rows, want) {
		t.Errorf("the table of codes in docs/results.md should be\n%s", strings.Join(want, "\n"))
	}
}
