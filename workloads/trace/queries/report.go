package queries

import (
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/imports"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/workloads/trace"
)

// Report is what lint foretells of each statement and what the engine did for it.
type Report struct {
	Schema     string      `json:"schema"`
	Engine     string      `json:"engine"`
	Version    string      `json:"version"`
	Statements []Statement `json:"statements"`
	Tables     []string    `json:"tables,omitempty"` // what lint finds in the tables of the statements
	Unread     []Unread    `json:"unread,omitempty"`
}

// Statement is one statement of a file.
type Statement struct {
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Text     string   `json:"text"`
	Foretold Foretold `json:"foretold"`
	// More: the read has further pages, which were not read.
	More bool `json:"more,omitempty"`
	trace.Pattern
	Errors []string `json:"errors,omitempty"`
}

// Foretold is what lint says of a pattern.
type Foretold struct {
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

// foretell returns what lint says of a pattern.
func foretell(r *lint.Report, p *schemas.Pattern) Foretold {
	var f Foretold
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
