package reports

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
	"github.com/mailbench/mailbench/schemas/words"
)

// PatternHeads are the titles of PatternRow's Figures.
var PatternHeads = []string{"runs", "p50", "p99", "max"}

// PatternRow is an access pattern as one operation of a model ran it: how often in one operation,
// and how long it took.
type PatternRow struct {
	Op, Model, Engine, Pattern string
	Figures                    []string
}

// Patterns are the access patterns that the operations of a section ran, the longest median first.
// Those of cells whose verdict is not ok are left out. Percentiles that are withheld of the operation
// are withheld of its patterns.
func (s *Section) Patterns() (rows []PatternRow) {
	for _, op := range s.Ops {
		for _, cs := range trials.Columns(s.Cells) {
			row, ok := cs.Row(op)
			if !ok || row.Bad || row.Op.Count == 0 {
				continue
			}
			timed := slices.DeleteFunc(slices.Clone(row.Op.Patterns), func(p results.PatternCalls) bool {
				return p.Service == nil
			})
			slices.SortStableFunc(timed, func(a, b results.PatternCalls) int {
				return cmp.Compare(b.Service.P50, a.Service.P50)
			})
			for _, p := range timed {
				p50, p99, most := words.Duration(float64(p.Service.P50)), "-", words.Duration(float64(p.Service.Max))
				if p.Count >= results.EnoughFor(0.99) {
					p99 = words.Duration(float64(p.Service.P99))
				}
				if row.Op.Withholds(0.5) {
					p50 = Withheld
				}
				if row.Op.Withholds(0.99) {
					p99, most = Withheld, Withheld
				}
				rows = append(rows, PatternRow{op, cs[0].Model, cs[0].Engine, p.Name, []string{
					words.Digits(float64(p.Count) / float64(row.Op.Count)), p50, p99, most,
				}})
			}
		}
	}
	return rows
}

// patterns writes the times of the access patterns of a section's operations.
func (t *text) patterns(s *Section) {
	rows := s.Patterns()
	if len(rows) == 0 {
		return
	}
	t.line("")
	t.heading("ACCESS PATTERNS  ", "how long each took, from the model's call until its return; runs are those of one operation")
	lines := [][]string{append([]string{"  operation", "model", "pattern"}, PatternHeads...)}
	last := ""
	for _, r := range rows {
		op := r.Op
		if op == last {
			op = ""
		}
		last = r.Op
		lines = append(lines, append([]string{
			"  " + words.OneLine(op), words.OneLine(t.names.Part(r.Model, r.Engine)), words.OneLine(r.Pattern),
		}, r.Figures...))
	}
	for _, line := range strings.Split(strings.TrimSuffix(words.Table(lines, 3, 0), "\n"), "\n") {
		t.line("%s", line)
	}
}
