package cmd

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/page"
	"github.com/mailbench/mailbench/workloads/results"
)

// severalPage is the file of a page of several runs, in the current folder.
const severalPage = "mailbench-report.html"

func newReport() *cobra.Command {
	file, format := "", formatHTML
	var overwrite bool
	var v view
	c := &cobra.Command{
		Use:   "report DIR...",
		Short: "Write the results of runs as one HTML page, or in another format",
		Args:  lacking(cobra.MinimumNArgs(1), "no result folder named; a run prints where its results are"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if format, err = formatOf(cmd, format); err != nil {
				return err
			}
			if v.full && !cmd.Flags().Changed("format") && format == formatHTML { // a page has all tables anyway
				format = "text"
			}
			if format != formatHTML {
				if len(args) > 1 {
					return usagef("--format %s writes one run", format)
				}
				err := writeReport(cmd.OutOrStdout(), format, args[0], file, overwrite, v)
				if err == nil && format == "text" && !v.full {
					fmt.Fprintf(cmd.ErrOrStderr(), "All tables: mailbench report %s --full; charts: %s\n",
						shellquote.Join(args[0]), filepath.Join(args[0], page.HTMLFile))
				}
				return err
			}
			sources, err := openSources(cmd.ErrOrStderr(), args)
			if err != nil {
				return err
			}
			var text bytes.Buffer
			if err := page.Write(&text, sources...); err != nil {
				return err
			}
			if file == "" {
				file = severalPage
				if len(args) == 1 {
					file = filepath.Join(args[0], page.HTMLFile)
				}
			}
			return writeNamed(cmd.OutOrStdout(), file, text.Bytes(), overwrite)
		},
	}
	f := c.Flags()
	f.Var(oneOf(&format, reportFormats, "format"), "format", "`FORMAT`: html, text, json, csv, tables, growth, markdown, junit or bench")
	bindJSON(f, "print JSON")
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
		s := page.Source{Name: filepath.Clean(dir)} // as the command that repeats the run names it
		var err error
		if s.Run, err = results.Open(dir); err == nil {
			s.Curves, err = results.OpenCurves(dir, s.Run)
		}
		if s.NoLog = s.Run != nil && errors.Is(err, fs.ErrNotExist); s.NoLog {
			fmt.Fprintf(notes, "mailbench: %s has no %s: the page has no curves of this run\n", dir, results.LatencyFile)
		} else if err != nil {
			bad = append(bad, usage(err))
		}
		sources = append(sources, s)
	}
	return sources, errors.Join(bad...)
}

// formatHTML is the only format that goes to a file by default, and not to standard output.
const formatHTML = "html"

// reportFormats are the formats of report. Only html can show several runs.
var reportFormats = []string{formatHTML, "text", "json", "csv", "tables", "growth", "markdown", "junit", "bench"}

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
		err = printRun(&text, r, v)
	case "json": // the file as it is may have fields of a newer mailbench
		var b []byte
		b, err = results.ReadRun(dir)
		text.Write(b)
	default:
		err = map[string]func(io.Writer, *results.Run) error{
			"csv": reports.WriteCSV, "tables": reports.WriteTables, "growth": reports.WriteGrowthCSV,
			"markdown": reports.WriteMarkdown, "junit": reports.WriteJUnit, "bench": reports.WriteBench,
		}[format](&text, r)
	}
	if err != nil {
		return err
	}
	return writeNamed(out, file, text.Bytes(), force)
}

// writeNamed is writeOutput, and prints the name of the file.
func writeNamed(out io.Writer, file string, text []byte, overwrite bool) error {
	err := writeOutput(out, file, text, overwrite)
	if err == nil && file != "" && file != "-" {
		_, err = fmt.Fprintln(out, file)
	}
	return err
}

// runReports are the reports that a run directory contains next to the results.
func runReports() []results.Report {
	return []results.Report{
		{Name: reports.BenchFile, Write: func(w io.Writer, _ string, r *results.Run, _ []results.Curve) error {
			return reports.WriteBench(w, r)
		}},
		{Name: page.HTMLFile, Write: page.Report},
	}
}

// printRun prints the text of a run.
func printRun(out io.Writer, r *results.Run, v view) error {
	return writeDocument(out, reports.Of(r, v.by), v.full)
}

// writeOutput writes text to a file, or to out if it is "" or "-". A file that is there is replaced if
// overwrite is set, or if both are pages of mailbench. It is written under a temporary name first, so that
// no reader sees half of it.
func writeOutput(out io.Writer, file string, text []byte, overwrite bool) error {
	if file == "" || file == "-" {
		_, err := out.Write(text)
		return err
	}
	// A named pipe makes its writer wait forever, and a device is not to be replaced.
	info, err := os.Stat(file)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return usagef("%s is no file to write to (%v); name another one", file, info.Mode().Type())
	case err == nil && !overwrite && !page.Ours(text):
		return usagef("%s exists already: name another file with -o, or overwrite it with --overwrite", file)
	case err == nil && !overwrite && !ours(file):
		return usagef("%s was not written by mailbench: name another file with -o, or overwrite it with --overwrite", file)
	}
	target := file
	if to, err := filepath.EvalSymlinks(file); err == nil {
		target = to // a link stays one
	}
	name := filepath.Join(filepath.Dir(target), ".mailbench-"+rand.Text()+filepath.Ext(target))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // the user's umask says who may read it
	if errors.Is(err, fs.ErrNotExist) {
		return usagef("write %s: no folder %s", file, filepath.Dir(target))
	} else if err != nil {
		return missing(fmt.Errorf("write %s: %w", file, err))
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(name, target)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, errors.Join(err, os.Remove(name)))
	}
	return nil
}

// ours reports whether a file is a page of mailbench.
func ours(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, page.HeadSize))
	return err == nil && page.Ours(head)
}
