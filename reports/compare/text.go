package compare

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mailbench/mailbench/schemas/words"
)

// WriteText writes the comparison for people, in lines of at most width columns. Without all
// it shows only figures that differ, and times that cannot be told although they have an
// interval. It names or counts the other figures.
func (c *Comparison) WriteText(w io.Writer, width int, all bool) error {
	t := text{width: max(60, width)}
	t.wrap("", c.Conclusion())
	t.line("")
	t.build("base", c.Base)
	t.build("new", c.New)
	t.wrap("trials  ", c.Trials())
	for i, d := range c.Forced {
		if i == 0 {
			t.line("")
			t.wrap("FORCED  ", "the runs differ in more than the build, so ratios may be of that:")
		}
		t.wrap("        - ", d)
	}
	for _, n := range c.Notes {
		t.wrap("note    ", n)
	}
	for i := range c.Cells {
		t.cell(&c.Cells[i], all)
	}
	t.line("")
	if t.cut {
		t.wrap("",
			fmt.Sprintf("left out on %d columns: the intervals of ratios, and the limits; %d columns have room for them.",
				t.width, wide))
	}
	for _, l := range c.Legend() {
		t.wrap("", l)
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// Conclusion is the result of the comparison in one line.
func (c *Comparison) Conclusion() string {
	n := c.Verdicts()
	told := fmt.Sprintf("%d worse, %d better, %d the same, %d cannot be told", n[Worse], n[Better], n[Same], n[CannotTell])
	apart := 0
	for _, cell := range c.Cells {
		if cell.Why != "" {
			apart++
		}
	}
	if apart > 0 {
		told += fmt.Sprintf("; %d of %d phases could not be compared", apart, len(c.Cells))
	}
	switch {
	case len(c.Regressions) > 0:
		return fmt.Sprintf("REGRESSION (%d). Figures: %s.", len(c.Regressions), told)
	case n[CannotTell]+apart > 0:
		return "No regression found, but not all could be told. Figures: " + told + "."
	}
	return "No regression. Figures: " + told + "."
}

// Trials says how many there are and how they were compared.
func (c *Comparison) Trials() string {
	base, fresh := c.most()
	s := fmt.Sprintf("%d of base, %d of new, ", base, fresh)
	switch {
	case c.Paired:
		return s + "which took turns: compared in pairs"
	case c.Interleaved:
		return s + "which took turns"
	}
	return s + "one run after the other: what changed in the machine meanwhile is in the ratios " +
		"(docs/compare.md says how to take turns)"
}

// most is how many trials the cell with the most of them has.
func (c *Comparison) most() (base, fresh int) {
	for _, cell := range c.Cells {
		base, fresh = max(base, cell.BaseCount), max(fresh, cell.NewCount)
	}
	return base, fresh
}

// Legend explains the tables.
func (c *Comparison) Legend() []string {
	rule := "A timed figure is worse or better if its interval excludes 1 and its ratio is beyond the limit."
	if !c.Interleaved {
		rule = "A timed figure is worse or better if all of its interval is beyond the limit, and beyond twice the " +
			"deviation between trials."
	}
	return []string{
		"ratio is new/base. All intervals hold together with 95% confidence. limit is the smallest difference that matters; ! " +
			"marks figures that fail the comparison. " + rule +
			" \"? 20 trials\" means that it cannot be told, and that about 20 trials of each side would tell.",
	}
}

// text collects lines.
type text struct {
	strings.Builder
	width int
	cut   bool // a row lacks its interval and limit
}

func (t *text) line(format string, args ...any) {
	t.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

// wrap writes said behind a head. Further lines begin below its first word.
func (t *text) wrap(head, said string) {
	for _, line := range words.Wrap(head, words.OneLine(said), utf8.RuneCountInString(head), t.width) {
		t.line("%s", line)
	}
}

func (t *text) build(name string, b Build) {
	s := b.Name + ": " + b.Describe()
	t.wrap(fmt.Sprintf("%-8s", name), s)
}

// Describe names the version of a build and when it ran.
func (b Build) Describe() string {
	s := "mailbench " + b.Version
	if b.Commit != "" {
		s += " (" + b.Commit[:min(12, len(b.Commit))]
		if b.Dirty {
			s += ", changed"
		}
		s += ")"
	}
	s += ", " + b.Go + ", " + b.Started
	if b.Runs > 1 {
		s += fmt.Sprintf(", %d runs", b.Runs)
	}
	return s
}

// wide is how many columns a whole row takes.
const wide = 78

// nameWidth is how many columns the name of a figure has.
const nameWidth = 19

func (t *text) narrow() bool { return t.width < wide }

// row writes a row of the table. A narrow table has no interval and no limit.
func (t *text) row(name, base, fresh, ratio, limit, said string) {
	if t.narrow() {
		var interval bool
		ratio, _, interval = strings.Cut(ratio, " ")
		t.cut = t.cut || interval
		t.line("  %-*s %7s %7s %6s %s", nameWidth, name, base, fresh, ratio, said)
		return
	}
	t.line("  %-*s %7s %7s  %-18s %5s  %s", nameWidth, name, base, fresh, ratio, limit, said)
}

// trials says how many trials each side has.
func (c *Cell) trials() string {
	if c.BaseCount == c.NewCount {
		return words.Plural(c.NewCount, "trial") + " each"
	}
	return fmt.Sprintf("%d and %s", c.BaseCount, words.Plural(c.NewCount, "trial"))
}

func (t *text) cell(c *Cell, all bool) {
	t.line("")
	t.wrap("", fmt.Sprintf("%s on %s, phase %s (%s loop, %s)", c.Model, c.Engine, c.Phase, c.Load,
		c.trials()))
	for _, n := range c.Notes {
		t.wrap("  ", n)
	}
	if c.Why != "" {
		t.wrap("  cannot tell: ", c.Why)
		return
	}
	rows, left := c.rows(all)
	if len(rows) > 0 {
		t.row("", "base", "new", "ratio", "limit", "")
	}
	for _, f := range rows {
		name := f.operation().String() + " " + f.Name
		if f.Stream != "" && utf8.RuneCountInString(name) > nameWidth { // a stream's name may be long
			t.line("  %s", name)
			name = ""
		}
		t.row(name, f.value(f.Base), f.value(f.New), f.interval(), f.limit(), f.said())
	}
	for _, l := range left {
		t.wrap("  ", l)
	}
}

// rows are the figures to show, and lines about the others.
func (c *Cell) rows(all bool) (rows []*Figure, left []string) {
	same, equal, alike, untold := 0, 0, 0, map[string][]string{}
	var whys []string
	rates := map[string]bool{} // what is shown of rates
	for i := range c.Figures {
		f := &c.Figures[i]
		shown := f.kind.name == "rate" && f.Low != nil
		switch {
		case !all && shown && rates[f.interval()+f.limit()+f.said()]:
			alike++
		case all || f.Verdict == Worse || f.Verdict == Better || f.Verdict == CannotTell && f.kind.timed() && f.Low != nil:
			rows = append(rows, f)
			if shown {
				rates[f.interval()+f.limit()+f.said()] = true
			}
		case f.Verdict == CannotTell:
			if untold[f.Why] == nil {
				whys = append(whys, f.Why)
			}
			untold[f.Why] = append(untold[f.Why], f.operation().String()+" "+f.Name)
		case !f.kind.timed() && *f.Base == *f.New:
			equal++
		default:
			same++
		}
	}
	var more []string
	if same > 0 {
		more = append(more, fmt.Sprintf("the same: %d more", same))
	}
	if equal > 0 {
		more = append(more, fmt.Sprintf("counted and equal: %d more", equal))
	}
	if len(more) > 0 {
		left = append(left, strings.Join(more, "; "))
	}
	if alike > 0 {
		left = append(left, fmt.Sprintf("rates of one loop go together: %d more have a ratio that is shown above", alike))
	}
	for _, why := range whys {
		left = append(left, "cannot tell, "+why+": "+strings.Join(untold[why], ", "))
	}
	return rows, left
}

// value writes a value of the figure, or a dash if it is missing.
func (f *Figure) value(v *float64) string {
	if v == nil {
		return "-"
	}
	return f.kind.text(*v)
}

// interval writes the ratio with its interval.
func (f *Figure) interval() string {
	switch {
	case f.Ratio == nil:
		return "-"
	case f.Low == nil || f.High == nil:
		return fmt.Sprintf("%.3f", *f.Ratio)
	}
	return fmt.Sprintf("%.3f [%s, %s]", *f.Ratio, bound(*f.Low), bound(*f.High))
}

// bound writes a bound of an interval.
func bound(v float64) string {
	if v >= 100 {
		return ">100"
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func (f *Figure) limit() string {
	mark := ""
	if f.Gate {
		mark = "!"
	}
	return strconv.FormatFloat(math.Round(1e4*f.Limit)/100, 'g', -1, 64) + "%" + mark
}

// said is the verdict, and how many trials it would take to tell.
func (f *Figure) said() string {
	s := string(f.Verdict)
	switch {
	case f.Verdict == Worse:
		s = "WORSE"
	case f.Needed > 999:
		s = "? >999 trials"
	case f.Needed > 0:
		s = fmt.Sprintf("? %d trials", f.Needed)
	}
	if f.Exact {
		s += ", exact"
	}
	return s
}
