package lint

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/schemas/words"
)

// Report is what lint says of one schema.
type Report struct {
	Schema   *schemas.Schema `json:"-"`
	Name     string          `json:"schema"`
	File     string          `json:"file"`
	Engines  []string        `json:"engines"`            // engines that the schema was checked for
	Workload string          `json:"workload,omitempty"` // the workload of the numbers, or ""
	Findings []Finding       `json:"findings"`
	Patterns []Answer        `json:"patterns"`
	Guesses  []Guess         `json:"guesses,omitempty"` // what columns are for, where the schema does not say it
}

// Counts are the numbers of findings of a report by severity. Findings that the schema
// accepts, and those that a baseline has, count apart.
type Counts struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
	Accepted int `json:"accepted"`
	Known    int `json:"known,omitempty"`
}

// Counts counts the findings.
func (r *Report) Counts() (n Counts) {
	for _, f := range r.Findings {
		switch {
		case f.Accepted != "":
			n.Accepted++
		case f.Known:
			n.Known++
		case f.Severity == Error:
			n.Errors++
		case f.Severity == Warning:
			n.Warnings++
		default:
			n.Notes++
		}
	}
	return n
}

// WriteText writes errors and warnings, one a line with its place, and below it what
// to do. With all it also writes notes, what is accepted, and how each pattern is
// answered. Guesses follow. Findings are broken into lines of width columns; 0 is a line for each.
func (r *Report) WriteText(w io.Writer, all bool, width int) {
	n := r.Counts()
	if all {
		rows := [][]string{{"PATTERN", "KIND", "TABLE", "PARTITIONS", "ORDER", "ROW LIMIT"}}
		for _, a := range r.Patterns {
			rows = append(rows, []string{a.Pattern, a.Kind, cmp.Or(a.Table, "-"), a.Partitions, a.Order, a.Bound})
		}
		fmt.Fprintln(w, words.Table(rows, len(rows[0]), 0))
	}
	for _, f := range r.Findings {
		if !all && !f.Fails() {
			continue
		}
		wrap(w, "", fmt.Sprintf("%s: %s", f.In(r.File), &f), width)
		switch {
		case f.Accepted != "":
			wrap(w, indent, "accepted: "+f.Accepted, width)
		case f.Known:
			wrap(w, indent, "known: the baseline has it", width)
		default:
			wrap(w, indent, "Do: "+f.Do, width)
		}
	}
	for _, g := range r.Guesses {
		wrap(w, "", fmt.Sprintf("%s: %s", g.pos.In(r.File), g), width)
	}
	if len(r.Schema.Patterns) == 0 {
		fmt.Fprintln(w, "No statements are known: rules about the use of tables, columns and indexes found nothing.")
	}
	fmt.Fprintf(w, "%s for %s: %s, %s, %s, %d accepted", r.Name, words.List(r.Engines), words.Plural(n.Errors, "error"),
		words.Plural(n.Warnings, "warning"), words.Plural(n.Notes, "note"), n.Accepted)
	if n.Known > 0 {
		fmt.Fprintf(w, ", %d known from the baseline", n.Known)
	}
	if !all && n.Notes+n.Accepted+n.Known > 0 {
		fmt.Fprint(w, " (--all shows them)")
	}
	fmt.Fprintln(w)
}

// WriteGitHub writes errors and warnings, with all also notes, as workflow commands: GitHub Actions shows them at
// the lines of a change.
func (r *Report) WriteGitHub(w io.Writer, all bool) {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, f := range r.Findings {
		if f.Fails() || all && f.Accepted == "" && !f.Known {
			level := strings.Replace(f.Severity.String(), "note", "notice", 1)
			text := data.Replace(fmt.Sprintf("%s: %s. %s", f.Subject(), f.Message, f.Do))
			fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", level,
				property.Replace(PathOf(f.File)), f.Line, f.Column, property.Replace(f.Rule.ID), text)
		}
	}
}

// Fails reports whether a finding is an error or warning that neither the schema nor a baseline accepts.
func (f *Finding) Fails() bool { return f.Accepted == "" && !f.Known && f.Severity > Note }

// JSON returns reports as one JSON object: all findings, also the accepted ones,
// and how each pattern is answered.
func JSON(reports []*Report) any {
	type counted struct {
		*Report
		Counts
	}
	all := struct {
		Schemas []counted `json:"schemas"`
	}{[]counted{}}
	for _, r := range reports {
		all.Schemas = append(all.Schemas, counted{r, r.Counts()})
	}
	return all
}

// String returns severity, rule, what the finding is about and the message.
func (f *Finding) String() string {
	return fmt.Sprintf("%s %s: %s: %s", f.Severity, f.Rule.ID, f.Subject(), f.Message)
}

// Subject is what a finding is about, in words.
func (f *Finding) Subject() string {
	switch {
	case f.Pattern != "":
		return "pattern " + f.Pattern
	case f.Table != "":
		return "table " + f.Table
	}
	return fmt.Sprintf("%.60s", f.Statement) // that was not read
}

// wrap writes text after lead, in lines of width columns. Those after the first are indented.
// Width 0 is one line.
func wrap(w io.Writer, lead, text string, width int) {
	for _, line := range words.Wrap(lead, text, len(indent), width) {
		fmt.Fprintln(w, line)
	}
}

const indent = "    "

// Baseline are the findings of an earlier report, with how often each was found. Lines
// and messages do not count, so that a finding stays the same when its file changes.
type Baseline map[findingKey]int

// findingKey has as Pattern the statement of an imported one, since its name follows from the statements before it.
type findingKey struct{ Schema, Rule, Engine, Table, Pattern, Part string }

// ReadBaseline reads the text of what JSON returns. Findings that were accepted are no part of it.
func ReadBaseline(text []byte) (Baseline, error) {
	var saved struct {
		Schemas []struct {
			Schema   string
			Findings []struct {
				findingKey
				Statement, Accepted string
			} `json:"findings"`
		} `json:"schemas"`
	}
	if err := strict.JSON(text, &saved); err != nil {
		return nil, fmt.Errorf("%w; expected the output of schema lint --json", err)
	}
	foreign := errors.New("no schemas in it; expected the output of schema lint --json")
	if saved.Schemas == nil {
		return nil, foreign
	}
	b := make(Baseline)
	for _, s := range saved.Schemas {
		if s.Schema == "" { // those of run.json, for example
			return nil, foreign
		}
		for _, f := range s.Findings {
			if f.Accepted == "" {
				f.Schema, f.Pattern = s.Schema, cmp.Or(f.Statement, f.Pattern)
				b[f.findingKey]++
			}
		}
	}
	return b, nil
}

// Mark marks the findings of a report that the baseline has (Finding.Known), and takes
// them out of it.
func (b Baseline) Mark(r *Report) {
	for i := range r.Findings {
		f := &r.Findings[i]
		key := findingKey{r.Name, f.Rule.ID, f.Engine, f.Table, cmp.Or(f.Statement, f.Pattern), f.Part}
		if f.Accepted == "" && b[key] > 0 {
			f.Known = true
			b[key]--
		}
	}
}

// object is a part of a SARIF log.
type object = map[string]any

// SARIF returns reports as a SARIF 2.1.0 log (OASIS standard, 27 March 2020), which code hosts show next to
// the lines of a change. Accepted findings have the suppression inSource. Version is mailbench's.
func SARIF(reports []*Report, version string) any {
	rules, results := []object{}, []object{}
	for _, r := range Rules() {
		first, _, _ := strings.Cut(r.Doc, ". ")
		rules = append(rules, object{
			"id": r.ID, "shortDescription": object{"text": strings.TrimSuffix(first, ".") + "."},
			"fullDescription": object{"text": r.Doc},
			"help":            object{"text": r.Do + "\n\nSource: " + r.Source}, "helpUri": r.Page(),
			"defaultConfiguration": object{"level": r.Severity}, // note, warning and error are SARIF's words, too
		})
	}
	for _, r := range reports {
		for _, f := range r.Findings {
			out := object{
				"ruleId": f.Rule.ID, "ruleIndex": f.Rule.place, "level": f.Severity,
				"message": object{"text": f.Subject() + ": " + f.Message},
				"locations": []object{{"physicalLocation": object{
					"artifactLocation": object{"uri": fileURI(f.File)},
					"region":           object{"startLine": f.Line, "startColumn": f.Column},
				}}},
			}
			if f.Known {
				out["baselineState"] = "unchanged"
			}
			if f.Accepted != "" {
				out["suppressions"] = []object{{"kind": "inSource", "justification": f.Accepted}}
			}
			results = append(results, out)
		}
	}
	return object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{
			"tool":       object{"driver": object{"name": "mailbench schema lint", "version": version, "rules": rules}},
			"columnKind": "unicodeCodePoints", "results": results,
		}},
	}
}

// fileURI returns a file's name as a URI reference: a relative name without "./", an absolute
// one with file://.
func fileURI(file string) string {
	u := url.URL{Path: PathOf(file)}
	if filepath.IsAbs(file) {
		u.Scheme = "file"
	}
	return u.String()
}

// PathOf is the path of a file as CI services know it: they do not find one with "./".
func PathOf(file string) string { return strings.TrimPrefix(filepath.ToSlash(file), "./") }
