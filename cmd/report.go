package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/reports/page"
	"github.com/mailbench/mailbench/reports/results"
)

// severalPage is the file of a page of several runs, in the current folder.
const severalPage = "mailbench-report.html"

func newReport() *cobra.Command {
	var file, format string
	var asJSON bool
	var overwrite bool
	var v view
	c := &cobra.Command{
		Use:   "report DIR...",
		Short: "Write the results of runs as one HTML page, or in another format",
		Long: `Write one HTML page of saved results. It needs nothing else: no network, no
script, no fonts. It can be sent, kept and printed.

The page of one run has an overview of operations and models, percentiles,
response over time, the access patterns behind each operation, and what it
takes to repeat the run. It is written to report.html in the run's folder, which
a run has written already: the page of an older mailbench is made anew.

The page of several runs shows them side by side, in the order given: their
differences in settings, medians, ratios to the first, and the trend. Runs of
the same load on different engines also get one answer and one overview. It is
written to ` + severalPage + ` in the current folder. It does not say whether
a difference is more than chance.

--format writes one run to standard output instead: text (as the run printed
it; with --full all figures), json (run.json), csv (the timeline), growth (CSV
of how cost grows over a sweep), markdown (for a pull request or the summary of
a step in CI), junit (XML: cells and objectives as test cases) or bench (Go
benchmark lines, for benchstat). All have the figures of run.json.

A file that mailbench has not written is not overwritten, unless --overwrite
says so.`,
		Example: `  mailbench report results/monday
  mailbench report results/monday results/tuesday
  mailbench report results/monday results/tuesday -o - > week.html
  mailbench report results/monday --format markdown > summary.md
  mailbench report results/monday --format junit -o junit.xml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no result folder named; a run prints where its results are; see %q", cmd.CommandPath()+" --help")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if format, err = formatOf(cmd.Flags(), format, asJSON); err != nil {
				return err
			}
			if !slices.Contains(reportFormats, format) {
				return usage(unknown("format", format, reportFormats))
			}
			if format != formatHTML {
				if len(args) > 1 {
					return usagef("--format %s writes one run", format)
				}
				return writeReport(cmd.OutOrStdout(), format, args[0], file, overwrite, v)
			}
			sources, err := openSources(cmd.ErrOrStderr(), args)
			if err != nil {
				return err
			}
			var text bytes.Buffer
			if err := page.Write(&text, sources...); err != nil {
				return err
			}
			if file == "-" {
				_, err := cmd.OutOrStdout().Write(text.Bytes())
				return err
			}
			if file == "" {
				file = severalPage
				if len(args) == 1 {
					file = filepath.Join(args[0], page.HTMLFile)
				}
			}
			if err := writePage(file, text.Bytes(), overwrite); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), file)
			return err
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&format, "format", formatHTML, "`FORMAT`: html, text, json, csv, growth, markdown, junit or bench")
	completeFlags(c, map[string][]string{"format": reportFormats})
	bindJSON(c, &asJSON)
	f.StringVarP(&file, "output", "o", "", "write to this `FILE`, or to standard output (-)")
	f.BoolVar(&overwrite, "overwrite", false, "overwrite a file that mailbench has not written")
	bindView(f, &v)
	return c
}

// openSources reads the runs of all folders, and notes which latency logs are gone. Its error names
// each folder that cannot be read.
func openSources(notes io.Writer, dirs []string) ([]page.Source, error) {
	var sources []page.Source
	var bad []error
	for _, dir := range dirs {
		s, err := openSource(notes, dir)
		if err != nil {
			bad = append(bad, err)
		}
		sources = append(sources, s)
	}
	return sources, errors.Join(bad...)
}

func openSource(notes io.Writer, dir string) (s page.Source, err error) {
	if s.Run, err = results.Open(dir); err != nil {
		return s, usage(err)
	}
	s.Curves, err = results.OpenCurves(dir, s.Run)
	if errors.Is(err, fs.ErrNotExist) {
		s.NoLog = true
		fmt.Fprintf(notes, "mailbench: %s has no %s any more: the page has no curves of it\n", dir, results.LatencyFile)
	} else if err != nil {
		return s, usage(err)
	}
	s.Name = filepath.Clean(dir) // as the command that repeats the run names it
	return s, nil
}
