package queries

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
	"github.com/mailbench/mailbench/schemas/imports"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/workloads/trace"
)

// Store is what runs the reads: a live keyspace that mailbench need not have made.
type Store interface {
	drivers.Asker
	drivers.Describer
	Capabilities() drivers.Capabilities
}

// Config says which statements are run, and where.
type Config struct {
	Store    Store
	Engine   string // whose rules lint checks, such as "cassandra"
	Keyspace string
	Sources  []imports.Source
	// Hints says what is wrong with a table's hints, as in lint.Options.
	Hints func(engine string, t *schemas.Table) error
	// Progress is called before statement i of n is run; it may be nil.
	Progress func(i, n int)
}

// ErrInput says that the statements or the keyspace's own description cannot be read, or that there are none.
var ErrInput = errors.New("the statements cannot be used")

// Run reads the statements, runs those that only read, and says what lint foretells of each. It
// returns ErrInput for what cannot be read.
func Run(ctx context.Context, c Config) (*Report, error) {
	text, err := c.Store.Describe(ctx, c.Keyspace)
	if err != nil {
		return nil, err
	}
	described := imports.Source{File: "DESCRIBE KEYSPACE " + c.Keyspace, Text: text}
	r, err := imports.Import(c.Keyspace, slices.Concat([]imports.Source{described}, c.Sources)...)
	if err != nil {
		return nil, fmt.Errorf("%w: import: %w", ErrInput, err)
	}
	found, err := lint.Check(r.Schema, lint.Options{Engines: []string{c.Engine}, Hints: c.Hints})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	caps := c.Store.Capabilities()
	report := &Report{Schema: r.Schema.Name, Engine: caps.Engine, Version: caps.Version}
	for i := range r.Read {
		if c.Progress != nil {
			c.Progress(i+1, len(r.Read))
		}
		one, err := ask(ctx, c.Store, c.Keyspace, &r.Read[i])
		if err != nil {
			return nil, err
		}
		one.Foretold = foretell(found, r.Read[i].Pattern)
		report.Statements = append(report.Statements, one)
	}
	report.Tables = ofTables(found, r.Read)
	for _, u := range r.Unread {
		if u.File != described.File {
			report.Unread = append(report.Unread, Unread{u.File, u.Line, u.Reason})
		}
	}
	if len(report.Statements)+len(report.Unread) == 0 {
		return nil, fmt.Errorf("%w: there are no statements", ErrInput)
	}
	return report, nil
}

// runsOfRead is how often a read with parameters is run, with other values each time.
const runsOfRead = 5

// ask runs one statement if it only reads, and no more than a page of rows.
func ask(ctx context.Context, asker drivers.Asker, keyspace string, s *imports.Statement) (Statement, error) {
	r := Statement{
		File: s.File, Line: s.Line, Text: strings.Join(strings.Fields(s.Text), " "),
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
	table := quoted(keyspace) + "." + quoted(s.Table.Name)
	q := drivers.Question{Text: s.In(keyspace), Table: table, Most: runsOfRead}
	for _, p := range s.Parameters() {
		q.Parameters = append(q.Parameters, drivers.Parameter(p))
	}
	asked, err := asker.Ask(ctx, q)
	if ctx.Err() != nil || drivers.IsOutage(err) {
		return r, err
	}
	if err != nil {
		r.NotRun = err.Error()
		return r, nil
	}
	var costs []trace.Call
	for _, a := range asked {
		costs = append(costs, trace.Call{Args: a.Args, Rows: a.Returned, Took: a.Took, Err: a.Err, Work: a.Work})
		r.More = r.More || a.More
		if a.Err != nil && !slices.Contains(r.Errors, a.Err.Error()) {
			r.Errors = append(r.Errors, a.Err.Error())
		}
	}
	r.Pattern = trace.Of(s.Pattern, costs)
	return r, nil
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// addsUp reports whether a SELECT makes one row of many: it has a function or a GROUP BY. A function that
// does not, such as writetime, counts too: the statement can say LIMIT.
func addsUp(s *imports.Statement) bool {
	return len(s.GroupBy) > 0 || slices.ContainsFunc(s.Select, func(x cql.Selector) bool { return x.Column == "" })
}
