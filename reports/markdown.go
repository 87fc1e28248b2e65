package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
	"github.com/mailbench/mailbench/schemas/words"
)

// WriteMarkdown writes the run for a pull request or the summary of a step in CI. It shows what
// is wrong, the objectives and the overview. Other figures and the doubts are folded. The
// figures are those of the text report.
func WriteMarkdown(w io.Writer, r *results.Run) error {
	m := markdown{run: r, names: NamesIn(r)}
	view, all := OverviewOf(r), Sections(r)
	m.head(view)
	m.told()
	m.objectives()
	for i := range r.Searches {
		m.search(&r.Searches[i])
	}
	if r.Sweep != nil {
		m.growth()
	} else {
		for i := range view.Parts {
			m.overview(&view.Parts[i])
		}
		if s := Added(r); s != "" {
			m.line("\n**Added to the documents** %s", words.Markdown(s))
		}
	}
	m.interruptions()
	for i := range all {
		m.section(&all[i])
	}
	m.notes(view, all)
	if _, err := io.WriteString(w, m.b.String()); err != nil {
		return fmt.Errorf("write Markdown: %w", err)
	}
	return nil
}

// head writes what the run was, and what is wrong with it.
func (m *markdown) head(view *Overview) {
	r := m.run
	m.line("### mailbench run %s\n", words.Markdown(r.Workload.Name))
	m.line("seed %d, %s, %s; %s\n", r.Seed, words.Markdown(r.Started), words.Duration(r.Seconds*1e9),
		words.Markdown(MachineLine(&r.Environment)))
	if line := ShardLine(r); line != "" {
		m.line("%s\n", words.Markdown(line))
	}
	if r.Interrupted {
		m.line("- **interrupted**: this is what was measured until then")
	}
	for i := range r.Audits {
		if a := &r.Audits[i]; a.Wrong() {
			m.line("- **audit** of %s: %s", words.Markdown(m.names.Audit(a)), words.Markdown(AuditSummary(a)))
		}
	}
	for i := range view.Verdicts {
		m.line("- **%s**: %s", view.Verdicts[i].Verdict, words.Markdown(view.Verdicts[i].String()))
	}
}

// objectives writes what became of the objectives.
func (m *markdown) objectives() {
	begun := false
	for i := range m.run.Cells {
		c := &m.run.Cells[i]
		for _, a := range c.Objectives {
			if !begun {
				m.titles(0, "objective", "phase", "of", "value", "")
				begun = true
			}
			m.row(a.Objective+" "+a.Bound, c.Where(), m.names.Of(c), a.Shown, string(a.Verdict))
		}
	}
}

// search writes what a search for the highest rate found, and its curve, folded.
func (m *markdown) search(s *results.Search) {
	m.line("\n**Highest rate** of %s", words.Markdown(SearchTitle(s, m.names)))
	if s.Found != nil {
		m.line("\n%s", words.Markdown(s.Found.Text))
	}
	m.line("\n<details><summary>%s</summary>", words.Markdown(SearchExpected(s)))
	if grown := SearchGrown(s); grown != "" {
		m.line("\n%s", words.Markdown(grown))
	}
	if len(s.Steps) > 0 {
		m.line("")
		m.row("rate/s", "", "achieved", "p50", "p99", "errors")
		m.line("|--:|---|--:|--:|--:|--:|")
	}
	for _, step := range SearchCurve(s) {
		f := FiguresOf(&step)
		m.row(f.Rate, string(step.Verdict), f.Achieved, f.P50, f.P99, f.Errors)
	}
	m.line("\n</details>")
}

// overview writes the table of operations by models of one phase.
func (m *markdown) overview(p *OverviewPart) {
	if len(p.Rows) == 0 {
		return
	}
	m.line("\n**%s**: best 1.0×, ≈ within 10%%, ? cannot be told; %s; durability %s", words.Markdown(p.Phase),
		words.Markdown(p.Load), words.Markdown(p.Durability))
	titles := []string{"operation", ""}
	for i := range p.Columns {
		titles = append(titles, p.title(i))
	}
	m.titles(len(p.Columns), titles...)
	for i := range p.Rows {
		row := &p.Rows[i]
		for j := range row.Lines {
			l := &row.Lines[j]
			cells := []string{row.Op, string(l.Figure)}
			for k := range l.Values {
				value, mark := row.value(p, l, k)
				cells = append(cells, value+mark)
			}
			m.row(cells...)
		}
	}
	var whys []string
	for i := range p.Rows {
		if p.Rows[i].Why != "" {
			whys = append(whys, p.Rows[i].Op+": "+p.Rows[i].Why)
		}
	}
	if len(whys) > 0 {
		m.line("\n<details><summary>Why</summary>\n")
		m.list(whys)
		m.line("\n%s emulated, %s schema lint calls a pattern an error, %s the answer lacks fields\n\n</details>",
			words.Markdown(markEmulated), words.Markdown(markLint), markLacks)
	}
}

// section writes the table of figures of a section, folded.
func (m *markdown) section(s *Section) {
	if len(s.Ops) == 0 {
		return // its verdicts are in the list above
	}
	first := s.Cells[0]
	m.line("\n<details><summary>%s: %s; durability %s</summary>", words.Markdown(first.Where()),
		words.Markdown(LoadLine(first)), words.Markdown(first.Durability))
	titles := []string{"operation", "model"}
	troubled := s.Troubled()
	if troubled {
		titles = append(titles, "failed", "unknown")
	}
	for _, c := range columns {
		titles = append(titles, c.title)
	}
	m.titles(len(titles)-2, append(titles, "remarks")...)
	for _, op := range s.Ops {
		for _, cs := range trials.Columns(s.Cells) {
			row, ok := cs.Row(op)
			if !ok || !row.Op.Offered() {
				continue
			}
			name := m.names.Part(cs[0].Model, cs[0].Engine)
			if row.Bad {
				name = "!" + name
			}
			cells := []string{op, name}
			if troubled {
				cells = append(cells, integer(row.Op.Failed), integer(row.Op.Unknown))
			}
			for _, c := range columns {
				cells = append(cells, c.of(m.run, op, &row))
			}
			m.row(append(cells, strings.Join(rowRemarks(&row), "; "))...)
		}
	}
	m.streams(s)
	if achieved := s.AchievedRates(m.names); achieved != "" {
		m.line("\n%s", words.Markdown(achieved))
	}
	m.line("\n</details>")
}

// notes writes what else a reader of the figures has to know, folded.
func (m *markdown) notes(view *Overview, all []Section) {
	var notes []string
	for _, n := range slices.Concat(view.Doubts, view.Further) {
		notes = append(notes, n.String())
	}
	for i := range m.run.Audits {
		if a := &m.run.Audits[i]; !a.Wrong() {
			notes = append(notes, "audit of "+m.names.Audit(a)+": "+AuditSummary(a))
		}
	}
	for _, s := range []string{TooFew(all), Additions(m.run), examinedNote(all), Regime(all, m.names), Floors(m.run)} {
		if s != "" {
			notes = append(notes, s)
		}
	}
	if notes = append(notes, m.run.Left...); len(notes) == 0 {
		return
	}
	m.line("\n<details><summary>Doubts and notes</summary>\n")
	m.list(notes)
	m.line("\n</details>")
}

func examinedNote(all []Section) string {
	if s := ExaminedNote(all); s != "" {
		return "rows examined: " + s
	}
	return ""
}
