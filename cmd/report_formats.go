package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mailbench/mailbench/reports"
)

// formatHTML is the only format that goes to a file by default, and not to standard output.
const formatHTML = "html"

// reportFormats are the formats of report. Only html can show several runs.
var reportFormats = []string{formatHTML, "text", "json", "csv", "growth", "markdown", "junit", "bench"}

// writeReport writes the run in dir to standard output, or to file.
func writeReport(out io.Writer, format, dir, file string, force bool) error {
	r, err := reports.Open(dir)
	if err != nil {
		return usage(err)
	}
	var text bytes.Buffer
	switch format {
	case "text":
		if file == "" || file == "-" {
			return printRun(out, r)
		}
		err = reports.WriteText(&text, r, width(nil))
	case "json": // the file as it is may have fields of a newer mailbench
		var b []byte
		b, err = os.ReadFile(filepath.Join(dir, reports.RunFile))
		text.Write(b)
	default:
		err = map[string]func(io.Writer, *reports.Run) error{
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
		return usagef("%s is there already: name another file with -o, or overwrite it with --force", file)
	}
	if err := writePage(file, text.Bytes(), true); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, file)
	return err
}
