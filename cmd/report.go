package cmd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/history"
	"github.com/mailbench/mailbench/reports/page"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/reports/screen"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/merge"
	"github.com/mailbench/mailbench/workloads/results"
)

// reportFlags are the flags of report as they were given.
type reportFlags struct {
	view
	output
	format string
}

// formatHTML is the only format that goes to a file by default, and not to standard output.
const formatHTML = "html"

// reportFormats are the formats of report. Only html can show several runs.
var reportFormats = []string{formatHTML, "text", "json", "csv", "markdown", "junit", "bench"}

func newReport() *cobra.Command {
	f := reportFlags{format: formatHTML}
	some := lacking(cobra.MinimumNArgs(1), "no result folder named; a run prints where its results are")
	c := command("report DIR...", some, f.run)
	c.ValidArgsFunction = completeDirs
	flags := c.Flags()
	flags.Var(oneOf(&f.format, reportFormats, "format"), "format",
		"`FORMAT`: html, text, json, csv, markdown, junit or bench")
	bindJSON(flags, "print JSON")
	f.bindOutput(flags, "write to this `FILE`, or to standard output (-)", notByUs)
	bindView(flags, &f.view)
	return c
}

// run writes the runs in the folders to standard output, or to a file and its name to standard output.
func (f *reportFlags) run(cmd *cobra.Command, dirs []string) (err error) {
	if f.format, err = formatOf(cmd, f.format); err != nil {
		return err
	}
	if f.full && !cmd.Flags().Changed("format") && f.format == formatHTML { // a page has all tables anyway
		f.format = "text"
	}
	for flag, formats := range map[string][]string{
		"rank": {formatHTML, "text", "markdown", "csv"}, "full": {"text"},
	} {
		if cmd.Flags().Changed(flag) && !slices.Contains(formats, f.format) {
			return usagef("--%s does nothing with --format %s: it is for %s", flag, f.format, words.List(formats))
		}
	}
	dir, out := dirs[0], cmd.OutOrStdout()
	var text bytes.Buffer
	switch {
	case f.format == formatHTML:
		var s page.Source
		if s, err = openSources(dirs, f.by); err == nil {
			err = page.Write(&text, s)
		}
		if f.File == "" && len(dirs) == 1 {
			f.File = filepath.Join(dir, page.HTMLFile)
		}
		f.File = cmp.Or(f.File, "mailbench-report.html") // of several runs, in the current folder
	case len(dirs) > 1:
		return usagef("--format %s writes one run", f.format)
	case f.format == "text" && f.Std(): // in the width and the colors of the terminal
		err = f.one(out, dir)
	default:
		err = f.one(&text, dir)
	}
	if err == nil {
		var read []string
		for _, dir := range dirs {
			read = append(read, filepath.Join(dir, results.RunFile), filepath.Join(dir, results.LatencyFile))
		}
		err = f.write(out, text.Bytes(), page.Ours, read...)
	}
	if err == nil && !f.Std() {
		_, err = fmt.Fprintln(out, f.File)
	}
	if err == nil && f.format == "text" && !f.full {
		fmt.Fprintf(cmd.ErrOrStderr(), "All tables: mailbench report %s --full; charts: %s\n",
			shellquote.Join(dir), filepath.Join(dir, page.HTMLFile))
	}
	return err
}

// one writes the run in a folder in a format other than html.
func (f *reportFlags) one(w io.Writer, dir string) error {
	r, err := results.Open(dir)
	switch {
	case err != nil:
		return usage(err)
	case f.format == "text":
		return printRun(w, r, f.view)
	case f.format == "json": // the file as it is may have fields of a newer mailbench
		file, err := plainfile.OpenIn(dir, results.RunFile)
		if err == nil {
			defer file.Close()
			_, err = io.Copy(w, file)
		}
		return err
	}
	switch f.format {
	case "markdown":
		return document.WriteMarkdown(w, reports.Of(r, f.by))
	case "csv":
		return document.WriteCSV(w, reports.Of(r, f.by))
	case "junit":
		return reports.WriteJUnit(w, r)
	}
	return reports.WriteBench(w, r)
}

// openSources reads the runs of all folders as one. Its error names each folder that cannot be read.
func openSources(dirs []string, by ranking.Metric) (page.Source, error) {
	var sources []page.Source
	var bad []error
	for _, dir := range dirs {
		r, err := results.Open(dir)
		if err != nil {
			bad = append(bad, usage(err))
		}
		// It is named as the command that repeats the run names it.
		sources = append(sources, page.Source{Name: filepath.Clean(dir), Run: r, By: by})
	}
	if len(bad) > 0 {
		return page.Source{}, errors.Join(bad...)
	}
	s, err := page.Together(sources)
	return s, usage(err)
}

// printRun prints the text of a run.
func printRun(out io.Writer, r *results.Run, v view) error {
	return screen.Document(out, reports.Of(r, v.by), v.full)
}

// output is where a text goes, for --output FILE and --overwrite.
type output struct{ plainfile.Output }

func (o *output) bindOutput(flags *pflag.FlagSet, doc, overwrite string) {
	flags.StringVarP(&o.File, "output", "o", "", doc)
	flags.BoolVar(&o.Overwrite, "overwrite", false, overwrite)
}

// write is Write, with the exit status of wrong input where there can be no such file.
func (o *output) write(out io.Writer, text []byte, ours func(head []byte) bool, read ...string) error {
	return missing(o.Write(out, text, ours, read...))
}

// The help of --overwrite. Only a page shows that mailbench has written it.
const (
	notByUs    = "overwrite a file that mailbench has not written"
	aFileThere = "overwrite files that are there"
)

// historyFlags are the flags of history as they were given.
type historyFlags struct {
	output
	metrics []string
	full    bool // all metrics
}

func newHistory() *cobra.Command {
	var f historyFlags
	one := lacking(cobra.ExactArgs(1), "expected one folder that contains folders of results")
	c := command("history DIR", one, func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) })
	c.ValidArgsFunction = completeDirs
	flags := c.Flags()
	bindList(flags, &f.metrics, "metric", "", "draw the trend of these `METRICS`, such as list.p99 or 'james/*.p50'")
	flags.BoolVar(&f.full, "full", false, "print all metrics of all runs")
	f.bindOutput(flags, "write one HTML page to `FILE`, or to standard output (-)", notByUs)
	bindJSON(flags, "print JSON")
	return c
}

// run reads the folder, and writes the history in each form that the flags name. A metric that no run has is an error.
func (f *historyFlags) run(cmd *cobra.Command, dir string) error {
	out := cmd.OutOrStdout()
	if asJSON(cmd) && f.File == "-" {
		return usagef("--json and -o - both write to standard output: leave one out")
	}
	var selected []compare.Gate
	var err error
	if len(f.metrics) > 0 {
		if selected, err = compare.ParseGates(strings.Join(f.metrics, ",")); err != nil {
			return usagef("--metric %w", err)
		}
	}
	h, err := history.Read(dir, selected)
	switch {
	case err != nil:
		return input(err)
	case len(h.Series) == 0 && len(h.Skipped) > 0:
		return usagef("%s contains no results of complete runs; %s skipped, first %s: %s", dir,
			words.Plural(len(h.Skipped), "folder"), h.Skipped[0].Folder, h.Skipped[0].Why)
	case len(h.Series) == 0:
		return usagef("%s contains no results of complete runs", dir)
	}
	d := h.Document(len(f.metrics) > 0)
	if f.File != "" {
		var text bytes.Buffer
		if err := page.Document(&text, d); err != nil {
			return err
		}
		if err := f.write(out, text.Bytes(), page.Ours); err != nil || f.File == "-" {
			return err
		}
	}
	return show(cmd, h, func(w io.Writer, _ int) {
		_ = screen.Document(w, d, f.full)
		if f.File != "" {
			fmt.Fprintf(w, "\nwritten: %s\n", f.File)
		}
	})
}

func newMerge() *cobra.Command {
	var wait time.Duration
	var run runFlags // of these a merge has those that say where results go, and how they are shown
	some := lacking(cobra.MinimumNArgs(1), "no result folders named")
	c := command("merge DIR...", some, func(cmd *cobra.Command, args []string) error {
		if wait > 0 {
			if err := merge.Await(cmd.Context(), args, wait); err != nil {
				return err
			}
		}
		merged, err := merge.Open(args)
		if err != nil {
			return usage(err)
		}
		dir, err := createDir(run.outputDir(merged.Run.Workload.Name), run.view.by)
		if err != nil {
			return err
		}
		return run.finish(cmd, dir, merged.Run, merged.WriteLog(dir.LatencyLog()))
	})
	c.ValidArgsFunction = completeDirs
	f := c.Flags()
	f.StringVarP(&run.output, "output", "o", "", "write the results to `DIR` (default results/WORKLOAD-TIME)")
	f.Var(duration(&wait, 0, 7*24*time.Hour), "wait", "wait up to `TIME` until all folders contain results")
	bindFailOn(f, &run.failOn)
	bindView(f, &run.view)
	bindJSON(f, runJSON)
	return c
}
