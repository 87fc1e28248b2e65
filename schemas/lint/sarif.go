package lint

import (
	"cmp"
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
)

// The parts of SARIF 2.1.0 that are written here: OASIS standard, 27 March 2020,
// sections 3.13 (log), 3.14 (run), 3.19 (tool component), 3.49 (rule), 3.27 (result),
// 3.28 (location) and 3.35 (suppression), 3.27.24 (baselineState).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID            string    `json:"id"`
		Short         sarifText `json:"shortDescription"`
		Full          sarifText `json:"fullDescription"`
		Help          sarifText `json:"help"`
		HelpURI       string    `json:"helpUri"`
		Configuration struct {
			Level string `json:"level"`
		} `json:"defaultConfiguration"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
		Baseline     string             `json:"baselineState,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region struct {
			Line   int `json:"startLine"`
			Column int `json:"startColumn"`
		} `json:"region"`
	}
	sarifLogical struct {
		Name string `json:"name"`
		Kind string `json:"kind"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
)

// WriteSARIF writes reports as a SARIF 2.1.0 log, which code hosts show beside the
// lines of a change. Accepted findings have the suppression inSource. Version is
// mailbench's.
func WriteSARIF(w io.Writer, reports []*Report, version string) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "mailbench schema lint", Version: version}
	at := make(map[string]int)
	for i, r := range Rules() {
		at[r.ID] = i
		rule := sarifRule{
			ID: r.ID, Short: sarifText{firstSentence(r.Doc)}, Full: sarifText{r.Doc},
			Help: sarifText{r.Do + "\n\nSource: " + r.Source}, HelpURI: r.Page(),
		}
		rule.Configuration.Level = r.Severity.String() // note, warning and error are SARIF's words, too
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rule)
	}
	for _, r := range reports {
		for _, f := range r.Findings {
			run.Results = append(run.Results, result(cmp.Or(f.Pos.File, r.Schema.File), &f, at[f.Rule.ID]))
		}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

func result(file string, f *Finding, rule int) sarifResult {
	out := sarifResult{
		RuleID: f.Rule.ID, RuleIndex: rule, Level: f.Severity.String(),
		Message: sarifText{f.subject() + ": " + f.Message},
	}
	var l sarifLocation
	l.Physical.Artifact.URI = fileURI(file)
	l.Physical.Region.Line, l.Physical.Region.Column = f.Pos.Line, f.Pos.Column
	if f.Table != "" {
		l.Logical = append(l.Logical, sarifLogical{f.Table, "table"})
	}
	if f.Pattern != "" {
		l.Logical = append(l.Logical, sarifLogical{f.Pattern, "pattern"})
	}
	out.Locations = []sarifLocation{l}
	if f.Known {
		out.Baseline = "unchanged"
	}
	if f.Accepted != "" {
		out.Suppressions = []sarifSuppression{{"inSource", f.Accepted}}
	}
	return out
}

// fileURI returns a file's name as a URI reference: a relative name without "./", an absolute
// one with file://.
func fileURI(file string) string {
	u := url.URL{Path: filepath.ToSlash(filepath.Clean(file))}
	if filepath.IsAbs(file) {
		u.Scheme = "file"
	}
	return u.String()
}

func firstSentence(text string) string {
	for i := range text {
		if text[i] == '.' && (i+1 == len(text) || text[i+1] == ' ') {
			return text[:i+1]
		}
	}
	return text
}
