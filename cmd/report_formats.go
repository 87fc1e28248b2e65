package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/page"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/reports/results"
)

// formatHTML is the only format that goes to a file by default, and not to standard output.
const formatHTML = "html"

// reportFormats are the formats of report. Only html can show several runs.
var reportFormats = []string{formatHTML, "text", "json", "csv", "growth", "markdown", "junit", "bench"}

// writeReport writes the run in dir to standard output, or to file.
func writeReport(out io.Writer, format, dir, file string, force bool, v view) error {
	r, err := results.Open(dir)
	if err != nil {
		return usage(err)
	}
	var text bytes.Buffer
	switch format {
	case "text":
		if file == "" || file == "-" {
			return printRun(out, r, v)
		}
		err = v.text(nil, false).Write(&text, r)
	case "json": // the file as it is may have fields of a newer mailbench
		var b []byte
		b, err = results.ReadRun(dir)
		text.Write(b)
	default:
		err = map[string]func(io.Writer, *results.Run) error{
			"csv": reports.WriteCSV, "growth": reports.WriteGrowthCSV, "markdown": reports.WriteMarkdown,
			"junit": reports.WriteJUnit, "bench": reports.WriteBench,
		}[format](&text, r)
	}
	if err != nil {
		return err
	}
	if file == "" || file == "-" {
		_, err := out.Write(text.Bytes())
		return err
	}
	if _, err := os.Stat(file); !force && !errors.Is(err, fs.ErrNotExist) {
		return usagef("%s is there already: name another file with -o, or overwrite it with --overwrite", file)
	}
	if err := writePage(file, text.Bytes(), true); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, file)
	return err
}

// runReports are the reports that a run directory holds beside the results.
func runReports() []results.Report {
	return []results.Report{
		{Name: reports.BenchFile, Write: func(w io.Writer, _ string, r *results.Run, _ []results.Curve) error {
			return reports.WriteBench(w, r)
		}},
		{Name: page.HTMLFile, Write: page.Report},
	}
}

// text is the text of a run on out.
func (v view) text(out io.Writer, colour bool) reports.Text {
	return reports.Text{Width: width(out), Colour: colour, Full: v.full, By: ranking.Metric(v.by)}
}

// printRun prints the text of a run, with colours on a terminal.
func printRun(out io.Writer, r *results.Run, v view) error {
	if !colour(out) {
		return v.text(out, false).Write(out, r)
	}
	var text strings.Builder
	if err := v.text(out, true).Write(&text, r); err != nil {
		return err
	}
	return styled(out, text.String())
}
