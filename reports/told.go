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

// told writes the sentences.
func (t *text) told(r *results.Run) {
	label := "ANSWER"
	for _, s := range Told(r, t.names) {
		if label != "" {
			t.line("")
		}
		t.styled(bold, func() { t.labelled(label, s) })
		label = ""
	}
}

// told writes the sentences.
func (m *markdown) told() {
	if all := Told(m.run, m.names); len(all) > 0 {
		m.line("\n**Answer**\n")
		m.list(all)
	}
}
