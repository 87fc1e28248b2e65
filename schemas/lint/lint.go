// Package lint checks a schema before there is any data: every access pattern
// against its table, every table against its patterns, and both against what the
// engines do. With the numbers of a workload it also checks sizes.
//
//	report, err := lint.Check(schema, lint.Options{Engines: []string{"cassandra"}})
//
// [Rules] lists all rules. Each has an id, a severity, documentation, the source of
// its facts and figures, and what to do about a finding. A table or pattern accepts
// findings of a rule, with the reason:
//
//	patterns:
//	  folders: {scan: mailboxes, filter: user,
//	            accept: {scan-filter: the source design finds the folders of a user by a scan}}
//
// An accepted finding is still returned, with its reason. Check refuses an acceptance
// of an unknown rule. An acceptance that matches no finding is a finding itself.
//
// Rules judge by what a schema says. The rows of a table say whether messages gather in
// a partition and what a column holds. Without them, rules assume that a clustering
// column of type timeuuid, timestamp or bigint gets a new value for each message (a uuid
// only if the table has a time), and that others name folders or flags. The purpose of a key column
// (bucket, chunk, salt) they guess by its name and type, unless the table says it; the
// report names each [Guess], and says of each pattern in an [Answer] how many
// partitions answer it, in which order, and what bounds it. The sizes that [Numbers]
// hold come from a forecast; without them, rules about sizes do not run. Drivers
// report which patterns their engines cannot run, and how large rows become ([Facts]).
package lint

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	page "github.com/mailbench/mailbench/docs/rules"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/forecast"
	"github.com/mailbench/mailbench/schemas/strict"
)

// Finding is one thing that a rule found in a schema.
type Finding struct {
	Rule        *Rule    `json:"rule"`
	Severity    Severity `json:"severity"`            // the rule's, or a lower one
	Engine      string   `json:"engine,omitempty"`    // the engine that the finding is about, or ""
	Table       string   `json:"table,omitempty"`     // "" if the finding is about a batch
	Pattern     string   `json:"pattern,omitempty"`   // "" if the finding is about a table
	Part        string   `json:"part,omitempty"`      // the columns or the index, or ""
	Statement   string   `json:"statement,omitempty"` // what an imported pattern is, whatever its name
	schemas.Pos          // with the file: that of a variant's base, or of the CQL
	Message     string   `json:"message"`            // what was found, with the numbers behind it
	Do          string   `json:"do"`                 // the rule's remedy, or the one that fits what was found
	Accepted    string   `json:"accepted,omitempty"` // the reason for which the schema accepts the finding, or ""
	Known       bool     `json:"known,omitempty"`    // an earlier report has the finding (Baseline.Mark)
	Page        string   `json:"page"`               // the rule's documentation
}

// Options say what a schema is checked for.
type Options struct {
	// Engines that the schema is to run on. If there are none, Check takes the engine that
	// the schema was written for, or all engines if it names none.
	Engines []string
	// Numbers are the sizes and shares that follow from a workload. If it is nil, and the schema says how
	// many rows of its own there are, Check forecasts their sizes.
	Numbers *Numbers
	// Facts are what the engines' drivers do with the schema; nil: rules that need them find nothing.
	Facts Facts
	// AllowUnread accepts that a part of the imported CQL could not be read.
	AllowUnread bool
}

// Facts says what engines do with one schema (drivers.Facts).
type Facts interface {
	// Unable says why an engine cannot run a pattern as it is declared, or "".
	Unable(engine string, p *schemas.Pattern) string
	// CheckHints says what is wrong with a table's hints for an engine.
	CheckHints(engine string, t *schemas.Table) error
	// Forecast returns what rows take in the files of an engine, or nil if that is not known.
	Forecast(engine string) *forecast.Engine
}

// Check returns what the rules find in a schema, in the order of the file. The error
// is of type [schemas.Errors] for acceptances of unknown rules.
func Check(s *schemas.Schema, o Options) (*Report, error) {
	var known []string
	for _, r := range Rules() {
		known = append(known, r.ID)
	}
	d := strict.Decoder{File: s.File}
	each(s, func(a schemas.Acceptance, f Finding) {
		if !slices.Contains(known, a.Rule) {
			near := cmp.Or(strict.Suggest(a.Rule, known), `; "mailbench schema lint --rules" lists them`)
			d.FailAt(f.Pos, "unknown rule %q in accept of %s%s", a.Rule, f.Subject(), near)
		}
	})
	if err := d.Errs.Sorted(); err != nil {
		return nil, err
	}
	if o.Numbers == nil && o.Facts != nil && forecast.Own(s) {
		o.Numbers, _ = NumbersOf(s, nil, o.Facts) // nil if the schema is incomplete; schema forecast says what
	}
	r := &Report{
		Schema: s, Name: s.Name, File: s.File, Engines: o.Engines,
		Findings: []Finding{}, Patterns: []Answer{}, Guesses: guesses(s),
	}
	for _, p := range s.Patterns {
		r.Patterns = append(r.Patterns, answer(p))
	}
	if o.Numbers != nil {
		r.Workload = o.Numbers.Workload
	}
	if len(r.Engines) == 0 {
		r.Engines = EngineNames()
		if s.Native != "" {
			r.Engines = []string{s.Native}
		}
	}
	asked := func(engine string) bool { return slices.Contains(r.Engines, engine) }
	all := slices.Concat(r.Engines, slices.DeleteFunc(EngineNames(), asked))
	for _, f := range check(s, all, o) { // an acceptance for an engine that was not named is no mistake
		if f.Engine == "" || asked(f.Engine) {
			r.Findings = append(r.Findings, f)
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column), cmp.Compare(a.Rule.place, b.Rule.place))
	})
	return r, nil
}

var (
	notWord    = regexp.MustCompile(`[^A-Za-z0-9_]+`)
	definition = regexp.MustCompile(`^(?i:create|alter|drop|--)`)
)

// check checks each pattern, each table and the whole schema. A rule is named where it finds something.
func check(s *schemas.Schema, engines []string, o Options) []Finding {
	c := &checker{
		Options: o, schema: s, rules: make(map[string]*Rule), engines: engines,
		on: make(map[*schemas.Table][]*schemas.Pattern), fallbacks: make(map[*schemas.Pattern]bool),
		unread: make(map[string]bool), listed: make(map[*schemas.Table]int),
		tables: slices.DeleteFunc(slices.Clone(s.Tables), (*schemas.Table).Header),
	}
	for _, r := range Rules() {
		c.rules[r.ID] = r
	}
	for _, s := range s.Other {
		_, text, _ := strings.Cut(s.Text, "\n")
		if _, unread := s.Unread(); unread && !definition.MatchString(text) {
			for _, word := range notWord.Split(text, -1) {
				c.unread[word] = true
			}
		}
	}
	for _, p := range s.Patterns {
		c.on[p.Table] = append(c.on[p.Table], p)
		c.fallbacks[p.Fallback] = true
	}
	c.on[nil] = s.Patterns
	for _, p := range c.of(nil) {
		switch {
		case p.Kind.Reads():
			c.partitions(p)
		case p.Kind == schemas.Batch:
			c.batch(p)
		default:
			c.write(p)
		}
		if p.Kind == schemas.Slice {
			c.tombstones(p)
		}
		if p.Kind == schemas.Slice && !c.fallbacks[p] {
			c.order(p)
			c.listing(p)
		}
	}
	for _, t := range c.tables {
		for _, check := range []func(*schemas.Table){
			c.growth, c.cells, c.columns, c.indexes, c.writes, c.expiry, c.hot, c.outside,
		} {
			check(t)
		}
	}
	c.substitutes()
	c.settings()
	c.sizes()
	c.acceptances()
	c.statements()
	return c.found
}

// each calls yield for all acceptances of a schema, with what a finding there is about. The position of an imported
// one is that of the statement under its comment.
func each(s *schemas.Schema, yield func(a schemas.Acceptance, f Finding)) {
	for _, t := range s.Tables {
		for _, a := range t.Accept {
			yield(a, Finding{Table: t.Name, Pos: *cmp.Or(t.Imported, &a.Pos)})
		}
	}
	for _, p := range s.Patterns {
		for _, a := range p.Accept {
			yield(a, Finding{Table: tableName(p), Pattern: p.Name, Pos: *cmp.Or(p.Imported, &a.Pos)})
		}
	}
}

// acceptances checks for acceptances without a finding. It is after all checks whose findings can be accepted.
func (c *checker) acceptances() {
	before := c.found
	each(c.schema, func(a schemas.Acceptance, f Finding) {
		found := func(o Finding) bool { return o.Rule.ID == a.Rule && o.Table == f.Table && o.Pattern == f.Pattern }
		unknown := c.rules[a.Rule].Numbers && c.Numbers == nil
		inherited := a.Pos.File != "" // from the base of a variant, where it may match
		if !inherited && !unknown && !slices.ContainsFunc(before, found) {
			c.add("accept-unused", f, nil, "accepts %s, which has no finding there", []any{a.Rule})
		}
	})
}

// statements checks for CQL that schema import could not read.
func (c *checker) statements() {
	for _, s := range c.schema.Other {
		if pos, ok := s.Unread(); ok {
			reason, text, _ := strings.Cut(s.Text, "\n")
			f := c.add("unread", Finding{Statement: text, Pos: pos}, nil, "%s", []any{reason})
			if c.AllowUnread {
				f.Accepted = "--allow-unread"
			}
		}
	}
}

// checker holds what a rule needs to judge a schema.
type checker struct {
	Options
	schema  *schemas.Schema
	rules   map[string]*Rule // all of them
	engines []string         // those of the report, and then the others
	engine  string           // the engine that is judged for; "" is that of each rule
	found   []Finding

	tables    []*schemas.Table                      // that store something of their own
	on        map[*schemas.Table][]*schemas.Pattern // the patterns of each table, and with nil all
	fallbacks map[*schemas.Pattern]bool             // those that run in place of another one
	unread    map[string]bool                       // the words of statements that could not be read
	listed    map[*schemas.Table]int                // the finding of list-reads-content
}

// onEngines judges for one engine after another.
func (c *checker) onEngines(judge func(engine string)) {
	for _, c.engine = range c.engines {
		judge(c.engine)
	}
	c.engine = ""
}

// of returns the patterns on a table, or with nil on all, of the kinds given, or of all, without those of seeds.
func (c *checker) of(t *schemas.Table, kinds ...schemas.PatternKind) []*schemas.Pattern {
	return slices.DeleteFunc(slices.Clone(c.on[t]), func(p *schemas.Pattern) bool {
		return len(kinds) > 0 && !slices.Contains(kinds, p.Kind) || p.Seed()
	})
}

// add adds a finding, one for each engine that its rule is about, and returns the last one, so that a check can lower
// its severity or name another remedy.
func (c *checker) add(rule string, f Finding, accepted []schemas.Acceptance, format string, args []any) *Finding {
	f.Rule, f.Message = c.rules[rule], fmt.Sprintf(format, args...)
	f.Severity, f.Do, f.Page = f.Rule.Severity, f.Rule.Do, f.Rule.Page()
	f.File = cmp.Or(f.File, c.schema.File)
	for _, a := range accepted {
		if a.Rule == rule {
			f.Accepted = a.Reason
		}
	}
	about := []string{c.engine}
	if c.engine == "" && len(f.Rule.Engines) > 0 {
		other := func(engine string) bool { return !slices.Contains(f.Rule.Engines, engine) }
		about = slices.DeleteFunc(slices.Clone(c.engines), other)
	}
	for _, f.Engine = range about {
		c.found = append(c.found, f)
	}
	return &c.found[len(c.found)-1]
}

func (c *checker) atPattern(rule string, p *schemas.Pattern, format string, args ...any) *Finding {
	f := Finding{Table: tableName(p), Pattern: p.Name, Statement: statement(p), Pos: p.Pos}
	return c.add(rule, f, p.Accept, format, args)
}

// atFilter adds a finding about a read that filters. CQL must say so.
func (c *checker) atFilter(rule string, p *schemas.Pattern, format string, args ...any) {
	f := c.atPattern(rule, p, format, args...)
	if carried(p, "allow filtering") == "false" {
		f.Severity, f.Message = Error, f.Message+"; Cassandra refuses it without ALLOW FILTERING"
	}
}

func (c *checker) atTable(rule string, t *schemas.Table, format string, args ...any) *Finding {
	return c.add(rule, Finding{Table: t.Name, Pos: t.Pos}, t.Accept, format, args)
}

func (c *checker) atColumn(rule string, t *schemas.Table, col *schemas.Column, format string, args ...any) *Finding {
	return c.add(rule, Finding{Table: t.Name, Part: col.Name, Pos: col.Pos}, t.Accept, format, args)
}

func (c *checker) atIndex(rule string, t *schemas.Table, x *schemas.Index, format string, args ...any) *Finding {
	return c.add(rule, Finding{Table: t.Name, Part: x.Name, Pos: x.Pos}, t.Accept, format, args)
}

// statement is what an imported pattern is, in one line and without the name that import gave it, or "".
func statement(p *schemas.Pattern) string {
	if p.Imported == nil {
		return ""
	}
	if p.Kind != schemas.Batch {
		return strings.Join(strings.Fields(p.Shape()), " ")
	}
	words := []string{"batch", p.Atomic.String()}
	for _, part := range p.Parts {
		words = append(words, part.Each, statement(part.Pattern))
	}
	return strings.Join(words, "; ")
}

func tableName(p *schemas.Pattern) string {
	if p.Table == nil {
		return ""
	}
	return p.Table.Name
}

// names lists columns and patterns for messages.
func names[T schemas.Named](all []T) string { return strings.Join(schemas.Names(all), ", ") }

// Severity says how bad a finding is.
type Severity uint8

// Severities, in ascending order.
const (
	// Note: a fact to know. The design may be right as it is.
	Note Severity = iota
	// Warning: a design that the engine's documentation advises against.
	Warning
	// Error: the engine refuses it, or its cost grows with all data of the store.
	Error
)

var severityNames = [...]string{"note", "warning", "error"}

// String returns the severity in one word.
func (s Severity) String() string { return severityNames[s] }

// MarshalText writes the severity into JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Rule is one thing that lint looks for. All of it is in its section of docs/rules/README.md.
type Rule struct {
	ID       string
	Severity Severity
	// Engines are the engines that the rule is about. If there are none, it judges the
	// schema by itself.
	Engines []string
	// Numbers: the rule needs the sizes of rows.
	Numbers bool

	Doc    string // what is found, and why it matters
	Source string // source of the fact or the figure
	Do     string // how to fix it

	about string // after the severity: for which engines, and whether it needs numbers
	place int    // its place on the page: findings of one place in a file are in this order
}

const (
	cassandra = "cassandra"
	hbase     = "hbase"
	oracle    = "oraclenosql"
	embedded  = "embedded"
)

// EngineNames returns the engines that schemas can be checked for. The list does not
// follow from the drivers: the engine null is not on it.
func EngineNames() []string { return []string{embedded, cassandra, hbase, oracle} }

// Rules returns all rules in the order of their page.
var Rules = sync.OnceValue(func() (all []*Rule) {
	for i, section := range strings.Split(page.Page, "\n## ")[1:] {
		all = append(all, newRule(i, section))
	}
	return all
})

// sectionOf is the section of a rule: its id, its severity with the engines, what it finds, the remedy and the source.
var sectionOf = regexp.MustCompile(
	`(?s)^(\S+)\n\n(\w+)(.*?)\.\s(.*?)\n\n\*\*Do:\*\* (.*?)\n\n\*\*Source:\*\* (.*?)\n*$`)

var plain = strings.NewReplacer(`\*`, "*", `\<`, "<", `\[`, "[")

func newRule(place int, section string) *Rule {
	m := sectionOf.FindStringSubmatch(section)
	for i := range m {
		m[i] = strings.Join(strings.Fields(plain.Replace(m[i])), " ")
	}
	r := &Rule{place: place, ID: m[1], about: m[3], Doc: m[4], Do: m[5], Source: m[6]}
	r.Severity = Severity(slices.Index(severityNames[:], strings.ToLower(m[2])))
	r.Engines = slices.DeleteFunc(EngineNames(), func(name string) bool { return !strings.Contains(r.about, name) })
	r.Numbers = strings.Contains(r.about, "with --workload or own rows")
	return r
}

// WriteRules writes the documentation of rules.
func WriteRules(w io.Writer, rules []*Rule) {
	for i, r := range rules {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s (%s%s)\n", r.ID, r.Severity, r.about)
		for _, part := range [][2]string{{"", r.Doc}, {"Do: ", r.Do}, {"Source: ", r.Source}, {"Page: ", r.Page()}} {
			wrap(w, indent, part[0]+part[1], 80)
		}
	}
}

// MarshalText writes the id into JSON.
func (r *Rule) MarshalText() ([]byte, error) { return []byte(r.ID), nil }

// Page is the address of the rule's documentation.
func (r *Rule) Page() string {
	return "https://github.com/mailbench/mailbench/blob/main/docs/rules/README.md#" + r.ID
}
