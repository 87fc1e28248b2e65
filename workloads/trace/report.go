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
		one, costs, runs := Pattern{Name: p.Name}, []Cost(nil), drivers.Statement(nil)
		for i := range r.calls {
			c := &r.calls[i]
			if c.pattern() != p.Name {
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
	if heads[c] == "TIME" {
		return words.Duration(float64(n))
	}
	return strconv.FormatInt(n, 10)
}

// WriteText writes the costs as tables of at most width columns; 0 is no limit. Above them is the
// engine's explanation of the columns, and below the patterns whose calls failed or that were not called.
func (r *Report) WriteText(w io.Writer, legend string, width int) {
	fmt.Fprintf(w, "%s on %s (%s): medians of the calls of each pattern, and the most in brackets.\n%s\n\n",
		r.Model, r.Engine, r.Version, legend)
	r.writeCosts(w, width)
	r.writePlans(w, width)
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

// writeCosts prints a row for each pattern with calls. It leaves out costs that no pattern knows.
func (r *Report) writeCosts(w io.Writer, width int) {
	var shown []column
	head := []string{"PATTERN", "CALLS"}
	for i, name := range heads {
		c := column(i)
		if slices.ContainsFunc(r.Patterns, func(p Pattern) bool { return p.Most != nil && c.of(p.Most) >= 0 }) {
			shown, head = append(shown, c), append(head, name)
		}
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
		for _, c := range shown {
			row = append(row, c.cell(p))
		}
		rows = append(rows, row)
	}
	if len(rows) > 1 {
		fmt.Fprint(w, words.Table(rows, len(head), width))
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
	return middle
}
