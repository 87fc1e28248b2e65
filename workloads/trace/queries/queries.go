// Package queries runs the reads of a file on a live keyspace, and shows the cost of each next to what
// lint predicts:
//
//	report, err := queries.Run(ctx, queries.Config{Store: st, Engine: e, Keyspace: k, Sources: files})
//
// A statement that writes is not run, and of a read no more than a page.
package queries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
	"github.com/mailbench/mailbench/schemas/imports"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/trace"
)

// Store is what runs the reads: a live keyspace that mailbench need not have made.
type Store interface {
	drivers.Querier
	drivers.Describer
	Capabilities() drivers.Capabilities
}

// Config says which statements are run, and where.
type Config struct {
	Store    Store
	Engine   string // whose rules lint checks, such as "cassandra"
	Keyspace string
	Sources  []imports.Source
	// Progress is called before statement i of n is run; it may be nil.
	Progress func(i, n int)
}

// ErrInput says that the statements or the keyspace's own description cannot be read, or that there are none.
var ErrInput = errors.New("the statements cannot be used")

// Run reads the statements, runs those that only read, and says what lint predicts for each. It
// returns ErrInput for what cannot be read.
func Run(ctx context.Context, c Config) (*Report, error) {
	text, err := c.Store.Describe(ctx, c.Keyspace)
	if err != nil {
		return nil, err
	}
	described := imports.Source{File: "DESCRIBE KEYSPACE " + c.Keyspace, Text: text}
	r, err := imports.Import(c.Keyspace, slices.Concat([]imports.Source{described}, c.Sources)...)
	if err == nil && len(r.Schema.Tables) == 0 {
		err = fmt.Errorf("no table of keyspace %s could be read: %s", c.Keyspace, r.Unread[0].Reason)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: import: %w", ErrInput, err)
	}
	found, err := lint.Check(r.Schema, lint.Options{Engines: []string{c.Engine}})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	caps := c.Store.Capabilities()
	report := &Report{Schema: r.Schema.Name, Engine: caps.Engine, Version: caps.Version}
	for i := range r.Read {
		if c.Progress != nil {
			c.Progress(i+1, len(r.Read))
		}
		one, err := measure(ctx, c.Store, c.Keyspace, &r.Read[i])
		if err != nil {
			return nil, err
		}
		one.Predicted = predict(found, r.Read[i].Pattern)
		report.Statements = append(report.Statements, one)
	}
	for _, u := range r.Unread {
		if u.Pos.Filename != described.File {
			report.Unread = append(report.Unread, Unread{u.Pos.Filename, u.Pos.Line, u.Reason})
		}
	}
	if len(report.Statements)+len(report.Unread) == 0 {
		return nil, fmt.Errorf("%w: there are no statements", ErrInput)
	}
	return report, nil
}

// runsOfRead is how often a read with parameters is run, with other values each time.
const runsOfRead = 5

// measure runs one statement if it only reads, and no more than a page of rows.
func measure(ctx context.Context, querier drivers.Querier, keyspace string, s *imports.Statement) (Statement, error) {
	r := Statement{
		File: s.Pos.Filename, Line: s.Pos.Line, Text: strings.Join(strings.Fields(s.Text), " "),
		Pattern: trace.Pattern{Name: s.Pattern.Name},
	}
	switch {
	case s.Kind != cql.Select:
		r.NotRun = "it writes"
		return r, nil
	case s.Pattern.Kind == schemas.Scan && s.Limit == nil && addsUp(s):
		r.NotRun = "it would read the whole table for one answer"
		return r, nil
	}
	partition := schemas.Names(s.Pattern.Table.Partition)
	q := drivers.Question{Text: s.In(keyspace), Partition: partition, Most: runsOfRead}
	queried, err := querier.Query(ctx, q)
	if ctx.Err() != nil || drivers.IsOutage(err) {
		return r, err
	}
	if err != nil {
		r.NotRun = err.Error()
		return r, nil
	}
	for _, a := range queried {
		if a.Err != nil && !slices.Contains(r.Errors, a.Err.Error()) {
			r.Errors = append(r.Errors, a.Err.Error())
		}
	}
	r.Pattern = trace.Of(s.Pattern.Name, queried)
	return r, nil
}

// addsUp reports whether a SELECT makes one row of many: it has a function or a GROUP BY. A function that
// does not, such as writetime, counts too: the statement can say LIMIT.
func addsUp(s *imports.Statement) bool {
	return len(s.GroupBy) > 0 || slices.ContainsFunc(s.Select, func(x cql.Expr) bool { return x.Column == "" })
}

// Report is what lint predicts for each statement and what the engine did for it.
type Report struct {
	Schema     string      `json:"schema"`
	Engine     string      `json:"engine"`
	Version    string      `json:"version"`
	Statements []Statement `json:"statements"`
	Unread     []Unread    `json:"unread,omitempty"`
}

// Statement is one statement of a file.
type Statement struct {
	File      string    `json:"file"`
	Line      int       `json:"line"`
	Text      string    `json:"text"`
	Predicted Predicted `json:"foretold"`
	trace.Pattern
	Errors []string `json:"errors,omitempty"`
}

// Predicted is what lint predicts for a pattern.
type Predicted struct {
	Partitions string   `json:"partitions"`
	Bound      string   `json:"bound"`
	Findings   []string `json:"findings,omitempty"`
}

// Unread is a statement that was not read, with the reason.
type Unread struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// predict returns what lint predicts for a pattern.
func predict(r *lint.Report, p *schemas.Pattern) Predicted {
	var f Predicted
	for _, a := range r.Patterns {
		if a.Pattern == p.Name {
			f.Partitions, f.Bound = a.Partitions, a.Bound
		}
	}
	for _, x := range r.Findings {
		if x.Pattern == p.Name && x.Severity != lint.Note {
			f.Findings = append(f.Findings, fmt.Sprintf("%s %s: %s", x.Severity, x.Rule.ID, x.Message))
		}
	}
	return f
}

// WriteText writes a table of predictions and measured values, at most width columns wide (0 is no
// limit; + means that the read has further pages), and below it each statement. legend explains the columns.
func (r *Report) WriteText(w io.Writer, legend string, width int) {
	fmt.Fprintf(w, "%s on %s (%s): the prediction of lint for each statement, and the work of the engine:\n"+
		"medians of its runs, and the most in brackets. Values of parameters are of the table's own rows.\n%s\n\n",
		r.Schema, r.Engine, r.Version, legend)
	patterns := make([]trace.Pattern, len(r.Statements))
	for i := range r.Statements {
		patterns[i] = r.Statements[i].Pattern
	}
	head := []string{"STATEMENT", "PATTERN", "PREDICTED", "RUNS"}
	fmt.Fprint(w, trace.Table(head, patterns, func(i int) []string {
		s := &r.Statements[i]
		return []string{s.place(), s.Name, s.Predicted.Partitions + ", " + s.Predicted.Bound, strconv.Itoa(s.Calls)}
	}, width))
	for i := range r.Statements {
		r.Statements[i].write(w)
	}
	for _, u := range r.Unread {
		fmt.Fprintf(w, "\n%s:%d: not read: %s\n", u.File, u.Line, u.Reason)
	}
}

func (s *Statement) place() string { return s.File + ":" + strconv.Itoa(s.Line) }

// write prints a statement, what lint finds in it, why it was not run or failed, and which values read the most.
func (s *Statement) write(w io.Writer) {
	fmt.Fprintf(w, "\n%s: %s: %s\n", s.place(), s.Name, s.Text)
	for _, f := range s.Predicted.Findings {
		fmt.Fprintf(w, "  lint: %s\n", f)
	}
	if s.NotRun != "" {
		fmt.Fprintf(w, "  not run: %s\n", words.OneLine(s.NotRun))
	}
	for _, e := range s.Errors {
		fmt.Fprintf(w, "  failed: %s\n", words.OneLine(e))
	}
	if s.Worst != "" {
		fmt.Fprintf(w, "  read the most with %s\n", words.OneLine(s.Worst))
	}
}
