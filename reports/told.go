package reports

import (
	"github.com/mailbench/mailbench/reports/answer"
	"github.com/mailbench/mailbench/reports/results"
)

// Told are the sentences with which the run's workload answers its question. One that names no models
// is said of each.
func Told(r *results.Run, n Names) []string {
	var all []string
	for _, l := range answer.Of(r) {
		who := ""
		switch {
		case l.Model != "":
			who = n.Part(l.Model, l.Engine) + ": "
		case n.engines:
			who = l.Engine + ": "
		}
		all = append(all, who+l.Text)
	}
	return all
}
