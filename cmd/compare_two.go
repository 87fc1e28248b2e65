package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/reports/page"
	"github.com/mailbench/mailbench/reports/results"
)

// compareFlags are the flags of compare as they were given.
type compareFlags struct {
	failOver           []string
	format             string
	asJSON             bool
	force, all, noFail bool

	// Flags for runs that compare makes.
	workload, base, new string
	turns               int
	output              string
	quiet               bool
}

var compareFormats = []string{"text", "json", "markdown", "html"}

// run compares two folders and prints the result.
func (f *compareFlags) run(out io.Writer, base, new string) error {
	c, err := f.compare(base, new)
	if err != nil {
		return err
	}
	return f.tell(out, c)
}

// compare reads two folders and compares them.
func (f *compareFlags) compare(base, new string) (*compare.Comparison, error) {
	gates, err := f.gates()
	if err != nil {
		return nil, err
	}
	b, err := openSide(base)
	if err != nil {
		return nil, err
	}
	n, err := openSide(new)
	if err != nil {
		return nil, err
	}
	c, err := compare.Runs(b, n, compare.Options{Gates: gates, Force: f.force, Builds: f.workload != ""})
	if err != nil {
		return nil, usage(err)
	}
	return c, nil
}

// tell prints a comparison. A regression is an error.
func (f *compareFlags) tell(out io.Writer, c *compare.Comparison) error {
	if err := f.write(out, c); err != nil {
		return fmt.Errorf("print the comparison: %w", err)
	}
	if len(c.Regressions) > 0 && !f.noFail {
		err := fmt.Errorf("%s is worse than %s: %s", c.New.Name, c.Base.Name, c.Regressions[0])
		if more := len(c.Regressions) - 1; more > 0 {
			err = fmt.Errorf("%w (and %d more, in the report)", err, more)
		}
		return statusError{exitBroken, err}
	}
	return nil
}

func (f *compareFlags) gates() ([]compare.Gate, error) {
	text := compare.DefaultGates
	if len(f.failOver) > 0 {
		text = strings.Join(f.failOver, ",")
	}
	gates, err := compare.ParseGates(text)
	if err != nil {
		return nil, usagef("--fail-over %w", err)
	}
	return gates, nil
}

func (f *compareFlags) write(out io.Writer, c *compare.Comparison) error {
	switch f.format {
	case "json":
		return printJSON(out, c)
	case "markdown":
		return c.WriteMarkdown(out)
	case "html":
		return page.Comparison(out, c)
	}
	return c.WriteText(out, width(out), f.all)
}

// openSide reads a folder of results, or all folders of results in a folder.
func openSide(dir string) (compare.Side, error) {
	side := compare.Side{Name: dir}
	folders := []string{dir}
	if _, err := os.Stat(filepath.Join(dir, results.RunFile)); errors.Is(err, os.ErrNotExist) {
		if inside, _ := filepath.Glob(filepath.Join(dir, "*", results.RunFile)); len(inside) > 0 {
			folders = nil
			for _, name := range inside {
				folders = append(folders, filepath.Dir(name))
			}
		}
	}
	for _, folder := range folders {
		r, err := results.Open(folder)
		if err != nil {
			return side, usage(err)
		}
		side.Runs = append(side.Runs, r)
	}
	return side, nil
}
