package lint

import (
	"cmp"
	"encoding/json"
	"io"
)

type jsonReport struct {
	Schema   string        `json:"schema"`
	File     string        `json:"file"`
	Engines  []string      `json:"engines"`
	Workload string        `json:"workload,omitempty"`
	Errors   int           `json:"errors"`
	Warnings int           `json:"warnings"`
	Notes    int           `json:"notes"`
	Accepted int           `json:"accepted"`
	Known    int           `json:"known,omitempty"` // findings that a baseline has
	Gone     int           `json:"gone,omitempty"`  // findings of a baseline that are no longer there
	Findings []jsonFinding `json:"findings"`
	Patterns []jsonAnswer  `json:"patterns"`
	Guesses  []jsonGuess   `json:"guesses,omitempty"`
}

type jsonGuess struct {
	Table   string `json:"table"`
	Column  string `json:"column"`
	Purpose string `json:"purpose"` // bucket, chunk or salt, by the column's name and type
	Line    int    `json:"line"`
}

type jsonFinding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Engine   string `json:"engine,omitempty"`
	Table    string `json:"table,omitempty"`
	Pattern  string `json:"pattern,omitempty"`
	Part     string `json:"part,omitempty"`
	File     string `json:"file"` // a variant's finding may be in the file of its base
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Message  string `json:"message"`
	Do       string `json:"do"`
	Accepted string `json:"accepted,omitempty"`
	Known    bool   `json:"known,omitempty"`
	Page     string `json:"page"`
}

type jsonAnswer struct {
	Pattern    string `json:"pattern"`
	Kind       string `json:"kind"`
	Table      string `json:"table,omitempty"`
	Partitions string `json:"partitions"`
	Order      string `json:"order"`
	Bound      string `json:"bound"`
}

// WriteJSON writes reports as one JSON object: all findings, also the accepted ones,
// and how each pattern is answered.
func WriteJSON(w io.Writer, reports []*Report) error {
	out := struct {
		Schemas []jsonReport `json:"schemas"`
	}{[]jsonReport{}}
	for _, r := range reports {
		n := r.Counts()
		j := jsonReport{
			Schema: r.Schema.Name, File: r.Schema.File, Engines: r.Engines, Workload: r.Workload,
			Errors: n.Errors, Warnings: n.Warnings, Notes: n.Notes, Accepted: n.Accepted, Known: n.Known, Gone: r.Gone,
			Findings: []jsonFinding{}, Patterns: []jsonAnswer{},
		}
		for _, f := range r.Findings {
			j.Findings = append(j.Findings, jsonFinding{
				Rule: f.Rule.ID, Severity: f.Severity.String(), Engine: f.Engine,
				Table: f.Table, Pattern: f.Pattern, Part: f.Part,
				File: cmp.Or(f.Pos.File, r.Schema.File), Line: f.Pos.Line, Column: f.Pos.Column,
				Message: f.Message, Do: f.Do, Accepted: f.Accepted, Known: f.Known,
				Page: f.Rule.Page(),
			})
		}
		for _, a := range Answers(r.Schema) {
			j.Patterns = append(j.Patterns, jsonAnswer{
				a.Pattern.Name, a.Pattern.Kind.String(), tableName(a.Pattern), a.Partitions, a.Order, a.Bound,
			})
		}
		for _, g := range r.Guesses {
			j.Guesses = append(j.Guesses, jsonGuess{g.Table.Name, g.Column.Name, g.Purpose.String(), g.Column.Pos.Line})
		}
		out.Schemas = append(out.Schemas, j)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}
