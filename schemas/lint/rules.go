package lint

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	page "github.com/mailbench/mailbench/docs/rules"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

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

// Rule is one thing that lint looks for. All but run is in its section of docs/rules/README.md.
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

	section string
	run     func(*checker) // finds what the rule looks for
}

// finders find what rules look for, by the ids of these.
type finders map[string]func(*checker)

// ofPatterns runs a rule on one pattern after another, of some kinds or of all.
func ofPatterns(rule func(*checker, *schemas.Pattern), kinds ...schemas.PatternKind) func(*checker) {
	return func(c *checker) {
		for _, p := range c.of(nil, kinds...) {
			rule(c, p)
		}
	}
}

// ofTables runs a rule on each table that stores something of its own.
func ofTables(rule func(*checker, *schemas.Table)) func(*checker) {
	return func(c *checker) {
		for _, t := range c.tables() {
			rule(c, t)
		}
	}
}

// ofEngines runs a rule for each engine, whatever its section says.
func ofEngines(rule func(*checker)) func(*checker) {
	return func(c *checker) {
		for _, c.engine = range c.engines {
			rule(c)
		}
	}
}

// ofIndexes runs a rule on each index, with the first of its columns that is not in the partition key.
func ofIndexes(rule func(*checker, *schemas.Table, *schemas.Index, *schemas.Column)) func(*checker) {
	return ofTables(func(c *checker, t *schemas.Table) {
		for _, x := range t.Indexes {
			var first *schemas.Column
			for _, ic := range x.Columns {
				if first == nil && ic.Column.Role != schemas.Partition {
					first = ic.Column
				}
			}
			rule(c, t, x, first)
		}
	})
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

// themes have the rules by what they are about.
var themes = []finders{
	partitionRules, orderRules, boundRules, cellRules, columnRules, indexRules,
	writeRules, tombstoneRules, hotRules, fallbackRules, hintRules, outsideRules, sizeRules, acceptRules,
}

// Rules returns all rules in the order of their page.
var Rules = sync.OnceValue(func() (all []*Rule) {
	for _, section := range strings.Split(page.Page, "\n## ")[1:] {
		r := newRule(section)
		for _, theme := range themes {
			if run := theme[r.ID]; run != nil {
				r.run = run
			}
		}
		if all = append(all, r); r.run == nil {
			panic("no function finds the rule " + r.ID)
		}
	}
	return all
})

// newRule reads the section of a rule: its id, a paragraph that begins with the severity and the engines, then **Do:**
// and **Source:**.
func newRule(section string) *Rule {
	r := &Rule{section: "## " + section}
	for i, paragraph := range strings.Split(section, "\n\n") {
		text := strings.Join(strings.Fields(plain.Replace(paragraph)), " ")
		switch {
		case i == 0:
			r.ID = text
		case i == 1:
			about := ""
			about, r.Doc, _ = strings.Cut(text, ". ")
			about, r.Numbers = strings.CutSuffix(about, needsNumbers)
			severity, engines, _ := strings.Cut(about, ", for ")
			r.Severity = Severity(slices.Index(severityNames[:], strings.ToLower(severity)))
			r.Engines = slices.DeleteFunc(EngineNames(), func(name string) bool { return !strings.Contains(engines, name) })
		case strings.HasPrefix(text, "Do: "):
			r.Do = text[len("Do: "):]
		case strings.HasPrefix(text, "Source: "):
			r.Source = text[len("Source: "):]
		}
	}
	return r
}

const needsNumbers = ", with --workload or own rows"

var plain = strings.NewReplacer("**Do:**", "Do:", "**Source:**", "Source:", `\*`, "*", `\<`, "<", `\[`, "[")

// WriteRules writes the documentation of rules.
func WriteRules(w io.Writer, rules []*Rule) error {
	b := bufio.NewWriter(w)
	for i, r := range rules {
		if i > 0 {
			fmt.Fprintln(b)
		}
		fmt.Fprintf(b, "%s (%s%s)\n", r.ID, r.Severity, r.about())
		for _, part := range [][2]string{{"", r.Doc}, {"Do: ", r.Do}, {"Source: ", r.Source}, {"Page: ", r.Page()}} {
			wrap(b, indent, part[0]+part[1], 80)
		}
	}
	return b.Flush()
}

// MarshalText writes the id into JSON.
func (r *Rule) MarshalText() ([]byte, error) { return []byte(r.ID), nil }

// Page is the address of the rule's documentation.
func (r *Rule) Page() string {
	return "https://github.com/mailbench/mailbench/blob/main/docs/rules/README.md#" + r.ID
}

// about says which engines a rule is for, and whether it needs a workload.
func (r *Rule) about() string {
	s := ""
	if len(r.Engines) > 0 {
		s = ", for " + words.List(r.Engines)
	}
	if r.Numbers {
		s += needsNumbers
	}
	return s
}

// WriteRulesMarkdown writes the page of all rules, or the sections of some.
func WriteRulesMarkdown(w io.Writer, rules []*Rule) error {
	if len(rules) == len(Rules()) {
		_, err := io.WriteString(w, page.Page)
		return err
	}
	for _, r := range rules {
		if _, err := io.WriteString(w, r.section+"\n"); err != nil {
			return err
		}
	}
	return nil
}
