package trace

import (
	"cmp"
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
	Runs   string `json:"runs,omitempty"`
	Calls  int    `json:"calls"` // 0: no operation called it by itself
	Failed int    `json:"failed,omitempty"`
	// Median and Most are over all calls that did not fail, for each number of Cost by itself.
	Median *Cost `json:"median,omitempty"`
	Most   *Cost `json:"most,omitempty"`
	// Plan is how the engine runs the pattern or its fallback, if it reports that: a line a request.
	Plan []string `json:"plan,omitempty"`
}

// Cost is what a call cost. A negative number is not known.
type Cost struct {
	drivers.Work
	Returned int64         `json:"rows_returned"`
	Client   time.Duration `json:"client_nanoseconds"` // how long the call took; Work.Time is what the engine reports
}

// fields are the numbers, in the order of columns; the last is the client's time, which has none.
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
		one, costs, runs := Pattern{Name: p.Name}, []Cost(nil), drivers.Statement(nil)
		for i := range r.calls {
			c := &r.calls[i]
			if cmp.Or(c.runs.Emulates(), c.runs.Pattern()).Name != p.Name {
				continue
			}
			runs = c.runs
			if one.Calls++; c.err != nil {
				one.Failed++
			} else {
				costs = append(costs, Cost{c.work, c.returned, c.took})
			}
		}
		if len(costs) > 0 {
			one.Median, one.Most = fold(costs, median), fold(costs, slices.Max)
		}
		if runs != nil {
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

// WriteText writes the costs as tables of at most width columns; 0 is no limit. Above them is the
// engine's explanation of the columns, and below the patterns whose calls failed or that were not called.
func (r *Report) WriteText(w io.Writer, legend string, width int) {
	fmt.Fprintf(w, "%s on %s (%s): medians of the calls of each pattern, and the most in brackets.\n%s\n\n",
		r.Model, r.Engine, r.Version, legend)
	costs, plans := r.costs(), [][]string{{"PATTERN", "PLAN"}}
	if len(costs) > 1 {
		fmt.Fprint(w, words.Table(costs, len(costs[0]), width))
	}
	for i := range r.Patterns {
		name := r.Patterns[i].Name
		for _, line := range r.Patterns[i].Plan {
			plans, name = append(plans, []string{name, line}), ""
		}
	}
	if len(plans) > 1 {
		fmt.Fprint(w, "\n", words.Table(plans, len(plans[0]), width))
	}
	var not []string
	for i := range r.Patterns {
		p := &r.Patterns[i]
		if p.Calls == 0 {
			not = append(not, p.Name)
		}
		if p.Failed > 0 {
			fmt.Fprintf(w, "\n%s: %d of %d calls failed\n", p.Name, p.Failed, p.Calls)
		}
	}
	if len(not) > 0 {
		fmt.Fprintf(w, "\nno operation called it by itself: %s\n", strings.Join(not, ", "))
	}
}

// costs are a row for each pattern with calls. A column that no pattern knows is left out.
func (r *Report) costs() [][]string {
	head := []string{
		"PATTERN", "CALLS",
		"REQUESTS", "NODES", "RETURNED", "READ", "TOMBSTONES", "HIDDEN", "CELLS", "BYTES", "BLOCKS", "TIME",
	}
	rows := [][]string{head}
	for i := range r.Patterns {
		p := &r.Patterns[i]
		if p.Calls == 0 {
			continue
		}
		row := []string{p.Name, strconv.Itoa(p.Calls)}
		if p.Runs != "" {
			row[0] += " (by " + p.Runs + ")"
		}
		for field := range len(head) - len(row) {
			row = append(row, p.cell(field))
		}
		rows = append(rows, row)
	}
	for c := len(head) - 1; c >= 0; c-- {
		if !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[c] != unknown }) {
			for i, row := range rows {
				rows[i] = slices.Delete(row, c, c+1)
			}
		}
	}
	return rows
}

// unknown is the text of a number that is not known.
const unknown = "-"

// cell is the median of a field, and the most if that differs.
func (p *Pattern) cell(field int) string {
	if p.Median == nil {
		return unknown
	}
	middle, most := p.Median.text(field), p.Most.text(field)
	if middle != most {
		middle += " (" + most + ")"
	}
	return middle
}

// text is a number of a cost. The time is the client's if the engine reports none.
func (c *Cost) text(field int) string {
	all := c.fields()
	n, isTime := *all[field], field == len(all)-2
	if isTime && n < 0 {
		n = int64(c.Client)
	}
	switch {
	case n < 0:
		return unknown
	case isTime:
		return words.Duration(float64(n))
	}
	return strconv.FormatInt(n, 10)
}
