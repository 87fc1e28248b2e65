package lint

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/imports"
)

// large is a keyspace of tables with 20 different statements each.
func large(tables int) imports.Source {
	var b strings.Builder
	for t := range tables {
		fmt.Fprintf(&b, "CREATE TABLE t%d (k uuid, d date, at timeuuid", t)
		for c := range 20 {
			fmt.Fprintf(&b, ", c%d text", c)
		}
		fmt.Fprintf(&b, ", PRIMARY KEY ((k, d), at));\nCREATE INDEX ON t%d (c0);\n", t)
		for c := range 10 {
			fmt.Fprintf(&b, "UPDATE t%d SET c%d = ?, c%d = ? WHERE k = ? AND d = ? AND at = ?;\n", t, c, c+10)
			fmt.Fprintf(&b, "SELECT c%d, c%d FROM t%d WHERE k = ? AND d = ? AND at > ? LIMIT %d;\n", c, c+10, t, c+2)
		}
	}
	return imports.Source{File: "large.cql", Text: b.String()}
}

func imported(t testing.TB, s imports.Source) *schemas.Schema {
	r, err := imports.Import("", s)
	if err != nil {
		t.Fatal(err)
	}
	return r.Schema
}

func checked(t testing.TB, s *schemas.Schema) {
	if _, err := Check(s, Options{Facts: facts(s)}); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkKeyspace imports and checks 200 tables with 4,000 statements.
func BenchmarkKeyspace(b *testing.B) {
	s := large(200)
	for b.Loop() {
		checked(b, imported(b, s))
	}
}

// TestSpeed: four times the tables and statements take about four times the memory, and so the time.
func TestSpeed(t *testing.T) {
	memory := func(run func()) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		run()
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	var s *schemas.Schema
	taken := make(map[int][2]float64)
	for _, tables := range []int{1, 10, 40} { // the first one reads the rules
		source := large(tables)
		taken[tables] = [2]float64{memory(func() { s = imported(t, source) }), memory(func() { checked(t, s) })}
	}
	for i, what := range []string{"import", "lint"} {
		if few, many := taken[10][i], taken[40][i]; many > 6*few {
			t.Errorf("%s takes %.0f bytes for 10 tables and %.0f for 40: expected 6 times as much or less", what, few, many)
		}
	}
}
