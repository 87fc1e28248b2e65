package trace

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// Report says what each pattern of a model cost on an engine.
type Report struct {
	Model    string    `json:"model"`
	Engine   string    `json:"engine"`
	Version  string    `json:"version"` // version of the engine
	Patterns []Pattern `json:"patterns"`

	calls []Call // all that were recorded
}

// Pattern is what the calls of one pattern cost.
type Pattern struct {
	Name string `json:"pattern"`
	// Runs is the fallback that runs in the pattern's place, or "".
	Runs string `json:"runs,omitempty"`
	// NotRun says why there are no calls, or "".
	NotRun string `json:"not_run,omitempty"`
	// More: the reads have further pages, which were not read.
	More   bool `json:"more,omitempty"`
	Calls  int  `json:"calls"`
	Failed int  `json:"failed,omitempty"`
	// Median and Most are over all calls that did not fail, for each number of Cost by itself.
	Median *Cost `json:"median,omitempty"`
	Most   *Cost `json:"most,omitempty"`
	// Worst are the arguments of the call that read the most rows, tombstones and
	// hidden entries, the first of several.
	Worst string `json:"worst,omitempty"`
	// Plan is how the engine runs the pattern or its fallback, if it reports that: a line a request.
	Plan []string `json:"plan,omitempty"`
}

// Cost is what a call cost. A negative number is not known.
type Cost struct {
	drivers.Work
	Returned int64         `json:"rows_returned"`
	Client   time.Duration `json:"client_nanoseconds"` // how long the call took; Work.Time is what the engine reports
}

// fields are the numbers, in the order of columns; the last is the client's time.
func (c *Cost) fields() []*int64 {
	return []*int64{
		&c.Requests, &c.Nodes, &c.Returned, &c.Rows, &c.Tombstones, &c.Hidden, &c.Cells, &c.Bytes, &c.Blocks,
		(*int64)(&c.Time), (*int64)(&c.Client),
	}
}

// Of returns what calls of a pattern cost.
func Of(p *schemas.Pattern, calls []Call) Pattern {
	one := Pattern{Name: p.Name}
	for i := range calls {
		calls[i].runs = p
	}
	one.add(calls)
	return one
}

// report makes a report of the recorded calls, with patterns in the schema's order.
func (r *recorder) report(model, engine string, s *schemas.Schema) *Report {
	byPattern := make(map[string][]Call)
	for _, c := range r.calls {
		byPattern[c.pattern] = append(byPattern[c.pattern], c)
	}
	in := within(s, byPattern)
	report := &Report{Model: model, Engine: engine, Version: r.version, calls: r.calls}
	for _, p := range s.Patterns {
		one := Pattern{Name: p.Name}
		one.add(byPattern[p.Name])
		if one.Plan = r.plans[p.Name]; one.Runs != "" {
			one.Plan = r.plans[one.Runs]
		}
		if one.Calls == 0 {
			one.NotRun = r.why(p, in[p.Name])
		}
		report.Patterns = append(report.Patterns, one)
	}
	return report
}

// within says, for patterns without a call of their own, how they ran: as a part of a batch,
// or in the place of another pattern.
func within(s *schemas.Schema, ran map[string][]Call) map[string]string {
	in := make(map[string]string)
	for _, p := range s.Patterns {
		if len(ran[p.Name]) == 0 {
			continue
		}
		runs := ran[p.Name][0].runs
		in[runs.Name] = "ran in the place of " + p.Name
		for _, part := range runs.Parts {
			if in[part.Pattern.Name] == "" {
				in[part.Pattern.Name] = "ran as a part of " + runs.Name
			}
		}
	}
	return in
}

// why says why no operation called a pattern.
func (r *recorder) why(p *schemas.Pattern, within string) string {
	switch {
	case within != "":
		return within
	case r.loaded[p.Name]:
		return "ran only before the operations, when accounts were made and mail loaded"
	case !r.prepared[p.Name] && (p.Fallback == nil || !r.prepared[p.Fallback.Name]):
		return "the engine cannot run it"
	}
	return "no operation ran it"
}

// add sets the pattern's figures from all its calls.
func (p *Pattern) add(calls []Call) {
	p.Calls = len(calls)
	var costs []Cost
	most := int64(-1)
	for i := range calls {
		c := &calls[i]
		if c.runs.Name != p.Name {
			p.Runs = c.runs.Name
		}
		if c.Err != nil {
			p.Failed++
			continue
		}
		cost := Cost{c.Work, c.Rows, c.Took}
		if n := max(0, cost.Rows) + max(0, cost.Tombstones) + max(0, cost.Hidden); n > most {
			most, p.Worst = n, c.Args
		}
		costs = append(costs, cost)
	}
	if len(costs) > 0 {
		p.Median, p.Most = fold(costs, results.Median), fold(costs, slices.Max)
	}
}

// fold applies one to the known numbers of each field. A field without any is -1.
func fold(costs []Cost, one func([]int64) int64) *Cost {
	var all Cost
	for i, to := range all.fields() {
		var known []int64
		for j := range costs {
			if n := *costs[j].fields()[i]; n >= 0 {
				known = append(known, n)
			}
		}
		if *to = -1; len(known) > 0 {
			*to = one(known)
		}
	}
	return &all
}

// column is one column of a table of costs.
type column struct {
	head  string
	field int
}

var heads = []string{
	"REQUESTS", "NODES", "RETURNED", "READ", "TOMBSTONES", "HIDDEN", "CELLS", "BYTES", "BLOCKS", "TIME",
}

// of is the column's number of a cost. The time is the client's if the engine reports none.
func (c *column) of(cost *Cost) int64 {
	fields := cost.fields()
	if n := *fields[c.field]; n >= 0 || c.head != "TIME" {
		return n
	}
	return *fields[c.field+1]
}

func (c *column) text(n int64) string {
	if c.head == "TIME" {
		return shortTime(n)
	}
	return strconv.FormatInt(n, 10)
}

func shortTime(n int64) string {
	d := time.Duration(n)
	if d < 10*time.Millisecond {
		return strconv.FormatInt(d.Microseconds(), 10) + "µs"
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}

// WriteTable writes a row for each pattern: the cells that lead returns for it, and its costs. It leaves out a
// pattern for which they are nil, and costs that no pattern knows.
func WriteTable(w io.Writer, head []string, patterns []Pattern, lead func(i int) []string, width int) error {
	var shown []column
	for i, name := range heads {
		c := column{name, i}
		if slices.ContainsFunc(patterns, func(p Pattern) bool { return p.Most != nil && c.of(p.Most) >= 0 }) {
			shown, head = append(shown, c), append(head, name)
		}
	}
	rows := [][]string{head}
	for i := range patterns {
		row := lead(i)
		if row == nil {
			continue
		}
		for _, c := range shown {
			row = append(row, c.cell(&patterns[i]))
		}
		rows = append(rows, row)
	}
	if len(rows) == 1 {
		return nil
	}
	_, err := io.WriteString(w, words.Table(rows, len(head), width))
	return err
}

// WriteText writes the costs as tables of at most width columns; 0 is no limit. Above them is the
// engine's explanation of the columns.
func (r *Report) WriteText(w io.Writer, legend string, width int) error {
	fmt.Fprintf(w, "%s on %s (%s): medians of the calls of each pattern, and the most in brackets.\n%s\n\n",
		r.Model, r.Engine, r.Version, legend)
	if err := WriteTable(w, []string{"PATTERN", "CALLS"}, r.Patterns, func(i int) []string {
		p := &r.Patterns[i]
		if p.Calls == 0 {
			return nil
		}
		return []string{patternName(p), strconv.Itoa(p.Calls)}
	}, width); err != nil {
		return err
	}
	if err := r.writePlans(w, width); err != nil {
		return err
	}
	return r.writeNotes(w)
}

// writePlans prints how the engine runs the patterns, if it reports that.
func (r *Report) writePlans(w io.Writer, width int) error {
	rows := [][]string{{"PATTERN", "PLAN"}}
	for i := range r.Patterns {
		name := r.Patterns[i].Name
		for _, line := range r.Patterns[i].Plan {
			rows, name = append(rows, []string{name, line}), ""
		}
	}
	if len(rows) == 1 {
		return nil
	}
	fmt.Fprintln(w)
	_, err := io.WriteString(w, words.Table(rows, len(rows[0]), width))
	return err
}

func patternName(p *Pattern) string {
	if p.Runs != "" {
		return p.Name + " (by " + p.Runs + ")"
	}
	return p.Name
}

// cell writes the median, and the most if that differs.
func (c *column) cell(p *Pattern) string {
	if p.Median == nil || c.of(p.Median) < 0 {
		return "-"
	}
	middle, most := c.text(c.of(p.Median)), c.text(c.of(p.Most))
	if middle != most {
		middle += " (" + most + ")"
	}
	if p.More && c.head == "RETURNED" {
		middle += "+"
	}
	return middle
}

// writeNotes names the arguments of reads that met tombstones or hidden entries, the patterns
// whose calls failed, and the patterns that were not called.
func (r *Report) writeNotes(w io.Writer) error {
	var notes, reasons []string
	not := make(map[string][]string)
	for i := range r.Patterns {
		p := &r.Patterns[i]
		switch {
		case p.NotRun != "":
			if not[p.NotRun] == nil {
				reasons = append(reasons, p.NotRun)
			}
			not[p.NotRun] = append(not[p.NotRun], p.Name)
		case p.Failed > 0:
			notes = append(notes, fmt.Sprintf("%s: %d of %d calls failed", p.Name, p.Failed, p.Calls))
		case p.Most.Tombstones > 0 || p.Most.Hidden > 0:
			notes = append(notes, fmt.Sprintf("%s read the most with %s", p.Name, p.Worst))
		}
	}
	for _, reason := range reasons {
		notes = append(notes, reason+": "+strings.Join(not[reason], ", "))
	}
	for i, n := range notes {
		if i == 0 {
			fmt.Fprintln(w)
		}
		if _, err := fmt.Fprintln(w, n); err != nil {
			return err
		}
	}
	return nil
}
