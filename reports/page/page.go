// Package page writes results as one HTML page that needs nothing else: no script, no
// network, no fonts. A page of one run shows all of it, with charts. A page of several runs shows
// them side by side. Every text from results is escaped.
package page

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/diagram"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// HeadSize is how many bytes of a file Ours needs to see.
const HeadSize = 1024

// Ours reports whether a file that begins with head is a page of mailbench, of this version or
// an older one.
func Ours(head []byte) bool {
	return bytes.HasPrefix(head, []byte("<!DOCTYPE html>")) &&
		(bytes.Contains(head, []byte(`<meta name="generator" content="mailbench report">`)) ||
			bytes.Contains(head, []byte("<title>mailbench: ")))
}

// Write writes a page of one run, or of several.
func Write(w io.Writer, sources ...Source) error {
	switch len(sources) {
	case 0:
		return fmt.Errorf("create page: no run to show")
	case 1:
		return execute(w, newRunView(&sources[0]))
	}
	return Document(w, several(sources))
}

// HTMLFile is the report in a run directory.
const HTMLFile = "report.html"

// Report writes the page of one run that is in its results folder.
func Report(w io.Writer, name string, r *results.Run, curves []results.Curve) error {
	return execute(w, newRunView(&Source{Name: name, Run: r, Curves: curves}))
}

//go:embed *.tmpl
var templateFiles embed.FS

//go:embed style.css
var style string

var templates = template.Must(template.New("page").Funcs(template.FuncMap{
	"duration": func(ns int64) string { return words.Duration(float64(ns)) },
	"span":     func(seconds float64) string { return words.Duration(seconds * 1e9) },
	"amount":   words.Amount,
	"bytes": func(n int64) string {
		if n < 0 {
			return "unknown"
		}
		return words.Size(float64(n))
	},
	"command":    func(words []string) string { return shellquote.Join(words...) },
	"styleclass": func(s document.Style) string { return classes[s] },
	"px":         func(v float64) string { return fmt.Sprintf("%.1f", v) },
	"diagrams":   func() template.CSS { return template.CSS(diagram.Style()) },
	"style":      func() template.CSS { return template.CSS(style) },
}).ParseFS(templateFiles, "*.tmpl"))

func execute(w io.Writer, v *view) error {
	var text strings.Builder
	if err := templates.ExecuteTemplate(&text, "page", v); err != nil {
		return fmt.Errorf("make page: %w", err)
	}
	clean := strings.Map(func(r rune) rune {
		if r != '\n' && words.Deceptive(r) {
			return -1
		}
		return r
	}, text.String())
	if _, err := io.WriteString(w, clean); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// repeat is the command that repeats the run whose results are in a folder of that name.
func repeat(name string) string {
	return "mailbench run --from " + shellquote.Join(cmp.Or(name, "DIR"))
}
