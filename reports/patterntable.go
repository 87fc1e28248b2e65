package reports

import (
	"cmp"
	"slices"

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
// Those of cells whose verdict is not ok are left out.
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
				rows = append(rows, PatternRow{op, cs[0].Model, cs[0].Engine, p.Name, []string{
					words.Digits(float64(p.Count) / float64(row.Op.Count)), p50, p99, most,
				}})
			}
		}
	}
	return rows
}
