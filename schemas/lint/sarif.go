package lint

import (
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// object is a part of a SARIF log.
type object = map[string]any

// WriteSARIF writes reports as a SARIF 2.1.0 log (OASIS standard, 27 March 2020), which code hosts show next to
// the lines of a change. Accepted findings have the suppression inSource. Version is mailbench's.
func WriteSARIF(w io.Writer, reports []*Report, version string) error {
	rules, results, at := []object{}, []object{}, make(map[string]int)
	for i, r := range Rules() {
		at[r.ID] = i
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
			results = append(results, result(&f, at[f.Rule.ID]))
		}
	}
	return encode(w, object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{
			"tool":       object{"driver": object{"name": "mailbench schema lint", "version": version, "rules": rules}},
			"columnKind": "unicodeCodePoints", "results": results,
		}},
	})
}

// result is a finding of the rule with an index.
func result(f *Finding, rule int) object {
	location := object{"physicalLocation": object{
		"artifactLocation": object{"uri": fileURI(f.File)},
		"region":           object{"startLine": f.Line, "startColumn": f.Column},
	}}
	logical := []object{}
	for _, of := range [][2]string{{"table", f.Table}, {"pattern", f.Pattern}} {
		if of[1] != "" {
			logical = append(logical, object{"kind": of[0], "name": of[1]})
		}
	}
	location["logicalLocations"] = logical
	out := object{
		"ruleId": f.Rule.ID, "ruleIndex": rule, "level": f.Severity,
		"message": object{"text": f.subject() + ": " + f.Message}, "locations": []object{location},
	}
	if f.Known {
		out["baselineState"] = "unchanged"
	}
	if f.Accepted != "" {
		out["suppressions"] = []object{{"kind": "inSource", "justification": f.Accepted}}
	}
	return out
}

// fileURI returns a file's name as a URI reference: a relative name without "./", an absolute
// one with file://.
func fileURI(file string) string {
	u := url.URL{Path: clean(file)}
	if filepath.IsAbs(file) {
		u.Scheme = "file"
	}
	return u.String()
}

// clean is the path of a file as CI services know it: they do not find one with "./".
func clean(file string) string {
	if file == "" {
		return ""
	}
	return filepath.ToSlash(filepath.Clean(file))
}
