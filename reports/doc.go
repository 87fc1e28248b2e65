// Package reports writes the results of a run for people and for other tools: text for a
// terminal, Markdown, CSV, JUnit, Go benchmark lines, and the overview that compares models.
// A report can always be made again from a run directory (package reports/results).
package reports
