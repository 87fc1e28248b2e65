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
)

// Report says what each pattern of a model cost on an engine.
type Report struct {
	Model    string    `json:"model"`
	Engine   string    `json:"engine"`
	Version  string    `json:"version"` // version of the engine
	Patterns []Pattern `json:"patterns"`

	calls []call // all that were recorded
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
	// Worst are the arguments of the query that read the most rows, tombstones and
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

// report makes a report of the recorded calls, with patterns in the schema's order.
func (r *recorder) report(model, engine string, s *schemas.Schema) *Report {
	report := &Report{Model: model, Engine: engine, Version: r.version, calls: r.calls}
	for _, p := range s.Patterns {
		var calls []drivers.Queried
		var runs drivers.Statement
		for i := range r.calls {
			if c := &r.calls[i]; c.pattern() == p.Name {
				calls, runs = append(calls, c.Queried), c.runs
			}
		}
		one := Of(p.Name, calls)
		if runs == nil {
			one.NotRun = "no operation called it by itself"
		} else {
			if name := runs.Pattern().Name; name != p.Name {
				one.Runs = name
			}
			if planner, ok := runs.(drivers.Planner); ok {
				one.Plan = planner.Plans()
			}
		}
		report.Patterns = append(report.Patterns, one)
	}
	return report
}

// Of returns what calls of a pattern cost.
func Of(pattern string, calls []drivers.Queried) Pattern {
	p, costs, most := Pattern{Name: pattern, Calls: len(calls)}, []Cost(nil), int64(-1)
	for i := range calls {
		c := &calls[i]
		p.More = p.More || c.More
		if c.Err != nil {
			p.Failed++
			continue
		}
		cost := Cost{c.Work, c.Returned, c.Took}
		if n := max(0, cost.Rows) + max(0, cost.Tombstones) + max(0, cost.Hidden); n > most {
			most, p.Worst = n, c.Args
		}
		costs = append(costs, cost)
	}
	if len(costs) > 0 {
		p.Median, p.Most = fold(costs, median), fold(costs, slices.Max)
	}
	return p
}

// median is the middle number, or the mean of the two in the middle, rounded down.
func median(of []int64) int64 {
	s := slices.Sorted(slices.Values(of))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
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

// column is a column of a table of costs: a place in heads, and in Cost.fields.
type column int

var heads = []string{
	"REQUESTS", "NODES", "RETURNED", "READ", "TOMBSTONES", "HIDDEN", "CELLS", "BYTES", "BLOCKS", "TIME",
}

// of is the column's number of a cost. The time is the client's if the engine reports none.
func (c column) of(cost *Cost) int64 {
	fields := cost.fields()
	if n := *fields[c]; n >= 0 || heads[c] != "TIME" {
		return n
	}
	return *fields[c+1]
}

func (c column) text(n int64) string {
	switch d := time.Duration(n); {
	case heads[c] != "TIME":
		return strconv.FormatInt(n, 10)
	case d < 10*time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + "µs"
	default:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	}
}

// Table has a row for each pattern with calls: the cells that lead returns for it, and its costs. It leaves out costs
// that no pattern knows. Without rows it is "".
func Table(head []string, patterns []Pattern, lead func(i int) []string, width int) string {
	var shown []column
	for i, name := range heads {
		c := column(i)
		if slices.ContainsFunc(patterns, func(p Pattern) bool { return p.Most != nil && c.of(p.Most) >= 0 }) {
			shown, head = append(shown, c), append(head, name)
		}
	}
	rows := [][]string{head}
	for i := range patterns {
		if patterns[i].Calls == 0 {
			continue
		}
		row := lead(i)
		for _, c := range shown {
			row = append(row, c.cell(&patterns[i]))
		}
		rows = append(rows, row)
	}
	if len(rows) == 1 {
		return ""
	}
	return words.Table(rows, len(head), width)
}

// WriteText writes the costs as tables of at most width columns; 0 is no limit. Above them is the
// engine's explanation of the columns, and below the patterns whose calls failed or that were not called.
func (r *Report) WriteText(w io.Writer, legend string, width int) {
	fmt.Fprintf(w, "%s on %s (%s): medians of the calls of each pattern, and the most in brackets.\n%s\n\n",
		r.Model, r.Engine, r.Version, legend)
	fmt.Fprint(w, Table([]string{"PATTERN", "CALLS"}, r.Patterns, func(i int) []string {
		p := &r.Patterns[i]
		name := p.Name
		if p.Runs != "" {
			name += " (by " + p.Runs + ")"
		}
		return []string{name, strconv.Itoa(p.Calls)}
	}, width))
	r.writePlans(w, width)
	reason, not := "", []string(nil)
	for i := range r.Patterns {
		p := &r.Patterns[i]
		if p.NotRun != "" {
			reason, not = p.NotRun, append(not, p.Name)
		}
		if p.Failed > 0 {
			fmt.Fprintf(w, "\n%s: %d of %d calls failed\n", p.Name, p.Failed, p.Calls)
		}
	}
	if len(not) > 0 {
		fmt.Fprintf(w, "\n%s: %s\n", reason, strings.Join(not, ", "))
	}
}

// writePlans prints how the engine runs the patterns, if it reports that.
func (r *Report) writePlans(w io.Writer, width int) {
	rows := [][]string{{"PATTERN", "PLAN"}}
	for i := range r.Patterns {
		name := r.Patterns[i].Name
		for _, line := range r.Patterns[i].Plan {
			rows, name = append(rows, []string{name, line}), ""
		}
	}
	if len(rows) > 1 {
		fmt.Fprint(w, "\n", words.Table(rows, len(rows[0]), width))
	}
}

// cell writes the median, and the most if that differs.
func (c column) cell(p *Pattern) string {
	if p.Median == nil || c.of(p.Median) < 0 {
		return "-"
	}
	middle, most := c.text(c.of(p.Median)), c.text(c.of(p.Most))
	if middle != most {
		middle += " (" + most + ")"
	}
	if p.More && heads[c] == "RETURNED" {
		middle += "+"
	}
	return middle
}
