package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
	"github.com/mailbench/mailbench/schemas/imports"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/workloads/trace"
)

// queriesFlags are the flags of schema explain --queries as they were given.
type queriesFlags struct {
	queries []string
	store   storeFlags
	json    bool
	quiet   bool
}

// runsOfRead is how often a read with parameters is run, with other values each time.
const runsOfRead = 5

// queriesReport is what lint foretells of each statement and what the engine did for it.
type queriesReport struct {
	Schema     string            `json:"schema"`
	Engine     string            `json:"engine"`
	Version    string            `json:"version"`
	Statements []statementReport `json:"statements"`
	Tables     []string          `json:"tables,omitempty"` // what lint finds in the tables of the statements
	Unread     []unreadStatement `json:"unread,omitempty"`
	columns    string            // what those of the table mean
}

// statementReport is one statement of a file.
type statementReport struct {
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Text     string   `json:"text"`
	Foretold foretold `json:"foretold"`
	// More: the read has further pages, which were not read.
	More bool `json:"more,omitempty"`
	trace.Pattern
	Errors []string `json:"errors,omitempty"`
}

// foretold is what lint says of a pattern.
type foretold struct {
	Partitions string   `json:"partitions"`
	Bound      string   `json:"bound"`
	Findings   []string `json:"findings,omitempty"`
}

type unreadStatement struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// run runs the reads of the files on a live keyspace, and prints what they cost beside what lint says.
func (f *queriesFlags) run(cmd *cobra.Command, known registry) (err error) {
	if f.store.engine == "" || f.store.keyspace == "" {
		return usagef("--queries runs the statements on a live keyspace; add --engine cassandra and --keyspace NAME")
	}
	sources, err := readSources(f.queries)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	st, err := f.store.open(ctx, known, &schemas.Schema{Name: "imported"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	asker, asks := st.(drivers.Asker)
	describer, describes := st.(drivers.Describer)
	if !asks || !describes {
		return usagef("--queries: %s runs no statements of one's own; expected --engine cassandra", f.store.engine)
	}
	text, err := describer.Describe(ctx, f.store.keyspace)
	if err != nil {
		return err
	}
	r, err := imports.Import(f.store.keyspace, slices.Concat(
		[]imports.Source{{File: "DESCRIBE KEYSPACE " + f.store.keyspace, Text: text}}, sources)...)
	if err != nil {
		return usage(fmt.Errorf("import: %w", err))
	}
	found, err := lint.Check(r.Schema, lint.Options{Engines: []string{f.store.engine}, Hints: known.checkHints})
	if err != nil {
		return usage(err)
	}
	caps := st.Capabilities()
	report := &queriesReport{Schema: r.Schema.Name, Engine: caps.Engine, Version: caps.Version}
	for _, e := range known.engines {
		if e.Name == f.store.engine {
			report.columns = e.TraceDoc
		}
	}
	bar := newLineBar(cmd.ErrOrStderr(), f.quiet)
	for i := range r.Read {
		bar.show(fmt.Sprintf("statement %d of %d", i+1, len(r.Read)))
		one, err := f.ask(ctx, asker, &r.Read[i])
		if err != nil {
			bar.close()
			return err
		}
		one.Foretold = foretell(found, r.Read[i].Pattern)
		report.Statements = append(report.Statements, one)
	}
	bar.close()
	report.Tables = ofTables(found, r.Read)
	for _, u := range r.Unread {
		if slices.Contains(f.queries, u.File) {
			report.Unread = append(report.Unread, unreadStatement{u.File, u.Line, u.Reason})
		}
	}
	if len(report.Statements)+len(report.Unread) == 0 {
		return usagef("--queries %s: there are no statements", strings.Join(f.queries, ", "))
	}
	out := cmd.OutOrStdout()
	if f.json {
		err = printJSON(out, report)
	} else {
		err = report.writeText(out)
	}
	if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}

// ask runs one statement if it only reads, and no more than a page of rows.
func (f *queriesFlags) ask(ctx context.Context, asker drivers.Asker, s *imports.Statement) (statementReport, error) {
	r := statementReport{
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
	table := quoted(f.store.keyspace) + "." + quoted(s.Table.Name)
	q := drivers.Question{Text: s.In(f.store.keyspace), Table: table, Most: runsOfRead}
	for _, p := range s.Parameters() {
		q.Parameters = append(q.Parameters, drivers.Parameter(p))
	}
	asked, err := asker.Ask(ctx, q)
	if ctx.Err() != nil || isOutage(err) {
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

// foretell returns what lint says of a pattern.
func foretell(r *lint.Report, p *schemas.Pattern) foretold {
	var f foretold
	for _, a := range lint.Answers(r.Schema) {
		if a.Pattern == p {
			f.Partitions, f.Bound = a.Partitions, a.Bound
		}
	}
	for _, x := range r.Findings {
		if x.Pattern == p.Name && x.Rule.Severity != lint.Note {
			f.Findings = append(f.Findings, fmt.Sprintf("%s %s: %s", x.Rule.Severity, x.Rule.ID, x.Message)+accepted(x))
		}
	}
	return f
}

func accepted(f lint.Finding) string {
	if f.Accepted == "" {
		return ""
	}
	return " (accepted: " + f.Accepted + ")"
}

// ofTables returns what lint finds in the tables of the statements themselves.
func ofTables(r *lint.Report, read []imports.Statement) (all []string) {
	for _, x := range r.Findings {
		named := slices.ContainsFunc(read, func(s imports.Statement) bool {
			return s.Pattern.Table != nil && s.Pattern.Table.Name == x.Table
		})
		if x.Pattern == "" && named && x.Rule.Severity != lint.Note {
			all = append(all, x.String()+accepted(x))
		}
	}
	return all
}

// writeText prints a table of what was foretold and what was done, and below it each statement.
func (r *queriesReport) writeText(w io.Writer) error {
	fmt.Fprintf(w, "%s on %s (%s): what lint foretells of each statement, and what the engine did for it:\n"+
		"medians of its runs, and the most in brackets. Values of parameters are of the table's own rows.\n%s\n\n",
		r.Schema, r.Engine, r.Version, r.columns)
	shown := slices.DeleteFunc(slices.Clone(costColumns), func(c column) bool {
		return !slices.ContainsFunc(r.Statements, func(s statementReport) bool { return s.Most != nil && c.of(s.Most) >= 0 })
	})
	head := []string{"STATEMENT", "PATTERN", "FORETOLD", "RUNS"}
	for _, c := range shown {
		head = append(head, c.head)
	}
	var rows [][]string
	for i := range r.Statements {
		s := &r.Statements[i]
		if s.NotRun != "" {
			continue
		}
		row := []string{s.place(), s.Name, s.Foretold.Partitions + ", " + s.Foretold.Bound, strconv.Itoa(s.Calls)}
		for _, c := range shown {
			cell := c.cell(&s.Pattern)
			if c.head == "RETURNED" && s.More {
				cell += "+"
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		if err := table(w, head, rows); err != nil {
			return err
		}
	}
	for i := range r.Statements {
		r.Statements[i].write(w)
	}
	for i, f := range r.Tables {
		if i == 0 {
			fmt.Fprintln(w, "\nWhat lint finds in the tables themselves:")
		}
		fmt.Fprintf(w, "  %s\n", f)
	}
	for _, u := range r.Unread {
		fmt.Fprintf(w, "\n%s:%d: not read: %s\n", u.File, u.Line, u.Reason)
	}
	return nil
}

func (s *statementReport) place() string { return s.File + ":" + strconv.Itoa(s.Line) }

// write prints a statement, what lint finds in it, and what the engine did that is worth a look.
func (s *statementReport) write(w io.Writer) {
	fmt.Fprintf(w, "\n%s: %s: %s\n", s.place(), s.Name, s.Text)
	for _, f := range s.Foretold.Findings {
		fmt.Fprintf(w, "  lint: %s\n", f)
	}
	if len(s.Foretold.Findings) == 0 {
		fmt.Fprintln(w, "  lint: no finding")
	}
	if s.NotRun != "" {
		fmt.Fprintf(w, "  not run: %s\n", printable(s.NotRun))
		return
	}
	for _, e := range s.Errors {
		fmt.Fprintf(w, "  failed: %s\n", printable(e))
	}
	if s.Most == nil {
		return
	}
	fmt.Fprintf(w, "  engine: at most %d rows and %d tombstones read for %d returned", s.Most.Rows, max(s.Most.Tombstones, 0), s.Most.Returned)
	if s.More {
		fmt.Fprint(w, ", and the read goes on after the first page, which was not read")
	}
	if s.Worst != "" {
		fmt.Fprintf(w, "; the most with %s", printable(s.Worst))
	}
	fmt.Fprintln(w)
}
