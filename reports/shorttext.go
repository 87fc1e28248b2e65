package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
	"github.com/mailbench/mailbench/schemas/words"
)

// shortLines is how many lines the short text of a run of five models has at most. The command line
// adds where the results are.
const shortLines = 37

// The short text has at most so many reasons and doubts.
const (
	mostReasons = 3
	mostDoubts  = 3
)

// short writes what a reader needs to choose: what ran, the answer, the operations, the reasons and
// the doubts that matter most.
func (t *text) short(r *results.Run, o *Overview) {
	t.shortHead(r)
	for i := range r.Audits {
		if a := &r.Audits[i]; a.Wrong() {
			t.styled(red, func() { t.audit(a) })
		} else {
			t.clip("audit", 1, t.names.Audit(a)+": "+AuditSummary(a))
		}
	}
	for _, left := range r.Left {
		t.clip("left", 2, left)
	}
	t.shortObjectives(r)
	for i := range r.Searches {
		s := &r.Searches[i]
		found := "not found"
		if s.Found != nil {
			found = s.Found.Text
		}
		t.wrap("HIGHEST RATE  ", 2, searchWho(s, t.names)+", phase "+s.Phase+": "+found)
	}
	if r.Sweep != nil {
		t.growth(r)
		t.shortInterruptions(r)
		t.shortDoubts(o, 1)
		return
	}
	all := AnswersOf(r, o)
	for i := range all {
		t.shortAnswer(&all[i], i > 0)
	}
	if len(all) == 0 {
		t.shortInterruptions(r)
		t.shortDoubts(o, 2)
		return
	}
	a := &all[0]
	// What follows the operations has less room if there are many of them.
	if len(a.Rows) == 1 {
		t.shortOperations(r, a)
	}
	rows := t.aside(func() { t.shortOverview(a, o, 1000) })
	for _, per := range [][2]int{{2, 2}, {2, 1}, {1, 1}} {
		after := t.aside(func() {
			t.shortInterruptions(r)
			t.shortAdditions(r)
			t.shortReasons(a, per[0])
			t.shortDoubts(o, per[1])
		})
		room := shortLines - t.lines - lines(after)
		if lines(rows) <= room || per[0] == 1 {
			t.shortOverview(a, o, max(room-2, 4))
			t.print(after)
			return
		}
	}
}

// shortHead says what ran.
func (t *text) shortHead(r *results.Run) {
	e := &r.Environment
	took := fmt.Sprintf("%s, seed %d, %s, %s", r.Workload.Name, r.Seed, r.Started, words.Duration(r.Seconds*1e9))
	t.labelled("run", took)
	if r.Interrupted {
		t.styled(red, func() { t.labelled("", "INTERRUPTED: this is what was measured until then") })
	}
	engines := append(EnginesIn(r), fmt.Sprintf("%d CPUs, %s", e.CPUs, words.Size(float64(e.Memory))))
	t.clip("on", 2, strings.Join(engines, "; "))
	if line := ShardLine(r); line != "" {
		t.clip("shards", 1, line)
	}
	if r.Mail != nil {
		t.clip("mail", 1, MailLine(r.Mail))
	}
	if line := WithheldLine(r, t.names); line != "" {
		t.styled(yellow, func() { t.clip("withheld", 1, line) })
	}
}

// EnginesIn names the engines of the measured phases with their versions and durability, and how they
// compress their files, if they differ in that.
func EnginesIn(r *results.Run) []string {
	var engines, compressions []string
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Engines != nil && c.Measured() && compression(c) != "" {
			compressions = append(compressions, compression(c))
		}
	}
	slices.Sort(compressions)
	differ := len(slices.Compact(compressions)) > 1
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Engines == nil || !c.Measured() {
			continue
		}
		s := joined([]string{
			strings.TrimSpace(c.Engine + " " + c.Engines.Version), "durability " + c.Durability,
			setting(c, "replication"), setting(c, "consistency"),
		})
		if differ {
			s = joined([]string{s, compression(c)})
		}
		if !slices.Contains(engines, s) {
			engines = append(engines, s)
		}
	}
	return engines
}

// setting names a setting of the engine and its value; "" if it has none.
func setting(c *results.Cell, name string) string {
	if v := c.Engines.Settings[name]; v != "" {
		return name + " " + v
	}
	return ""
}

// compression says how the engine of a cell compresses its files; "" if that is not known. Cassandra's
// setting compression is that of requests, and that of files one of tables.
func compression(c *results.Cell) string {
	by := cmp.Or(c.Engines.Settings["table_compression"], c.Engines.Settings["compression"])
	by, _, _ = strings.Cut(by, " ") // without the options of its class
	switch by {
	case "":
		return ""
	case "none":
		return "files not compressed"
	}
	return "files compressed by " + strings.ToLower(strings.TrimSuffix(by, "Compressor"))
}

// clip writes a text beside a label, in at most so many lines.
func (t *text) clip(label string, most int, said string) {
	t.cut(fmt.Sprintf("%-*s", labelWidth, label), labelWidth, most, said)
}

// cut wraps a text in at most so many lines. What it leaves out is in the full text.
func (t *text) cut(lead string, indent, most int, said string) {
	all := words.Wrap(lead, words.OneLine(said), indent, t.width)
	if len(all) > most {
		last := all[most-1]
		if r := []rune(last); len(r) > t.width-2 {
			last = string(r[:t.width-2])
			if at := strings.LastIndexByte(last, ' '); at > indent {
				last = last[:at]
			}
		}
		all = append(all[:most-1:most-1], strings.TrimRight(last, " ,;:")+" …")
	}
	for _, line := range all {
		t.line("%s", line)
	}
}

// shortObjectives says how many objectives were met, and which were not.
func (t *text) shortObjectives(r *results.Run) {
	var not []string
	met := 0
	for i := range r.Cells {
		c := &r.Cells[i]
		for _, a := range c.Objectives {
			s := fmt.Sprintf("%s %s of %s (%s)", a.Objective, a.Bound, t.names.Of(c), cmp.Or(a.Shown, "-"))
			switch a.Verdict {
			case results.Met:
				met++
			case results.Missed:
				not = append(not, "MISSED: "+s)
			case results.Unclear:
				not = append(not, "CANNOT TELL: "+s)
			}
		}
	}
	if met+len(not) > 0 {
		style := ""
		if len(not) > 0 {
			style = red
		}
		t.styled(style, func() {
			t.cut("EXPECTED  ", 2, 3, strings.Join(append([]string{fmt.Sprintf("%d met", met)}, not...), "; "))
		})
	}
}

// shortAnswer writes the table of models and the sentences. A further phase has only its sentences.
func (t *text) shortAnswer(a *Answer, further bool) {
	if further {
		t.cut("ALSO  ", 2, 2, a.Phase+": "+strings.Join(a.Says, " "))
		return
	}
	t.line("")
	t.styled(bold, func() { t.cut("ANSWER  ", 2, 1, a.Phase+", "+a.Scope()) })
	t.answerTable(a, false)
	most := 5
	for i, s := range a.Says {
		n := len(words.Wrap("  ", words.OneLine(s), 2, t.width))
		if most -= n; most < 0 {
			break
		}
		style := ""
		if i == 0 {
			style = bold
		}
		t.styled(style, func() { t.cut("  ", 2, n, s) })
	}
}

// shortOverview writes a line an operation, by the figure to go by. Operations that have no room are
// named.
func (t *text) shortOverview(a *Answer, o *Overview, room int) {
	var rows []func()
	var names []string
	for i := range o.Parts {
		p := &o.Parts[i]
		if p.Phase != a.Phase || len(p.Rows) == 0 {
			continue
		}
		table, widths, titles := t.overviewWidths(p)
		if table {
			rows, names = append(rows, func() { t.line("%s", titles) }), append(names, "")
		}
		for j := range p.Rows {
			row := p.Rows[j]
			if len(row.Lines) == 0 {
				continue
			}
			row.Lines = row.Lines[:1]
			rows, names = append(rows, func() {
				if table {
					t.overviewRow(p, &row, widths)
				} else {
					t.shortList(p, &row)
				}
			}), append(names, row.Op)
		}
	}
	if len(rows) == 0 {
		return
	}
	t.line("")
	head := "1.0× best, ≈ <10% off, ? unsure"
	for _, m := range marksIn(a, o) {
		head += ", " + m
	}
	if a.Apart() {
		head += ", ‡ ranked apart"
	}
	t.styled(bold, func() { t.cut("OVERVIEW  ", 2, 1, head) })
	if len(rows) > room {
		rows = rows[:room-1]
	}
	for _, write := range rows {
		write()
	}
	if left := names[len(rows):]; len(left) > 0 {
		t.cut("  and ", 4, 1, strings.Join(left, ", "))
	}
}

// shortOperations writes the operations of a run of one model, a line each.
func (t *text) shortOperations(r *results.Run, a *Answer) {
	for _, s := range Sections(r) {
		columns := slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return c.keep < 4 })
		trial := trials.Columns(s.Cells)[0]
		if s.Cells[0].Where() != a.Phase || trial[0].Model != a.Rows[0].Model || trial[0].Engine != a.Rows[0].Engine {
			continue
		}
		t.line("")
		t.styled(bold, func() { t.cut("OPERATIONS  ", 2, 1, LoadLine(s.Cells[0])) })
		l := layout{columns: columns}
		t.line("%*s%s", opWidth, "", l.header())
		for _, op := range s.Ops {
			if row, ok := trial.Row(op); ok && row.Op.Count > 0 {
				t.line("%-*s%s", opWidth, words.OneLine(op), l.figures(r, op, &row))
			}
		}
	}
}

// shortList writes an operation in one line if there is no room for a table: the columns, the best
// first.
func (t *text) shortList(p *OverviewPart, row *OverviewRow) {
	text := t.aside(func() {
		width := t.width
		t.width = 10_000
		t.overviewList(p, row)
		t.width = width
	})
	t.cut("", 0, 1, strings.TrimSpace(text))
}

// marksIn explains the marks of the overview in a few words.
func marksIn(a *Answer, o *Overview) []string {
	var l legend
	a.each(o, func(p *OverviewPart, r *OverviewRow) {
		names := make([]string, len(p.Columns))
		l.add(r.Op, names, r.Marks)
	})
	var all []string
	for _, line := range l.lines() {
		all = append(all, map[string]string{
			markEmulated: "* emulated", markLint: "^ lint", markLacks: "° fewer fields",
		}[line[0]])
	}
	return all
}

func (t *text) shortReasons(a *Answer, per int) {
	for i, n := range a.Reasons[:min(len(a.Reasons), mostReasons)] {
		lead := "WHY"
		if i > 0 {
			lead = ""
		}
		t.cut(fmt.Sprintf("%-*s", labelWidth, lead), labelWidth, per, n.Op+": "+strings.ReplaceAll(n.Why, "its pattern ", ""))
	}
}

// shortDoubts writes the verdicts that are not ok, and the doubts that change how figures are read.
func (t *text) shortDoubts(o *Overview, per int) {
	all := slices.Concat(o.Verdicts, o.Doubts)
	for i := range all[:min(len(all), mostDoubts)] {
		lead, style := "", ""
		switch more := len(all) - mostDoubts; {
		case i == 0:
			lead = "DOUBTS"
		case i == 1 && more > 0:
			lead = fmt.Sprintf("  +%d", more)
		}
		if all[i].Verdict != "" {
			style = yellow
		}
		t.styled(style, func() {
			t.cut(fmt.Sprintf("%-*s", labelWidth, lead), labelWidth, per, all[i].String())
		})
	}
}
