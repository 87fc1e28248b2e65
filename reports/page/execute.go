package page

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/diagram"
	"github.com/mailbench/mailbench/schemas/words"
)

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
	"upper":   func(v results.Verdict) string { return strings.ToUpper(string(v)) },
	"join":    func(s []string) string { return strings.Join(s, ", ") },
	"command": commandLine,
	"styleclass": func(s document.Style) string {
		return [...]string{"", "strong", "bad", "warn", "soft", "best"}[s]
	},
	"count":    func(index int) int { return index + 1 },
	"facts":    sortedFacts,
	"px":       func(v float64) string { return fmt.Sprintf("%.1f", v) },
	"diagrams": func() template.CSS { return template.CSS(diagram.Style()) },
	"style":    func() template.CSS { return template.CSS(style) },
}).ParseFS(templateFiles, "*.tmpl"))

func execute(w io.Writer, name string, view any) error {
	var text strings.Builder
	if err := templates.ExecuteTemplate(&text, name, view); err != nil {
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
