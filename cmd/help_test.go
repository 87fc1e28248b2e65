package cmd

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/reports/compare"
)

// Every help text can be read on a terminal of 80 columns.
func TestHelpFits80Columns(t *testing.T) {
	helpOfAll(t, newRoot(bundled()))
}

// The help of compare names all metrics that --threshold accepts.
func TestHelpNamesMetrics(t *testing.T) {
	c, _, err := newRoot(bundled()).Find([]string{"compare"})
	if err != nil {
		t.Fatal(err)
	}
	_, named, _ := strings.Cut(c.Long, "Metrics are ")
	named, _, _ = strings.Cut(named, "Without --threshold")
	words := strings.FieldsFunc(named, func(r rune) bool { return strings.ContainsRune(" ,()\n", r) })
	for _, name := range compare.Names {
		if !slices.Contains(words, name) && !slices.Contains(words, name+".") {
			t.Errorf("it does not name %s", name)
		}
	}
}

// helpOfAll returns the help of a command and all below it, and checks each.
func helpOfAll(t *testing.T, root *cobra.Command) string {
	root.InitDefaultVersionFlag()
	var all strings.Builder
	var fits func(*cobra.Command)
	fits = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			fits(sub)
		}
		if c.Name() == "help" || c.Name() == "completion" || c.HasParent() && c.Parent().Name() == "completion" {
			return // cobra's own
		}
		if c.Short == "" {
			t.Errorf("%s: help has no short text of it", c.CommandPath())
		}
		var b bytes.Buffer
		c.InitDefaultHelpFlag()
		c.SetOut(&b)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		if c.Runnable() && !strings.Contains(b.String(), "Flags:") {
			t.Errorf("%s: no flags in the help", c.CommandPath())
		}
		if strings.Contains(b.String(), "/tmp") { // where others can make what a command then finds
			t.Errorf("%s: the help names a folder for everybody", c.CommandPath())
		}
		all.WriteString(b.String())
		c.Flags().VisitAll(func(f *pflag.Flag) { // help breaks lines itself
			if f.Name == "force" && !f.Hidden && c.Name() != "compare" {
				t.Errorf("%s --force: a file is replaced with --overwrite", c.CommandPath())
			}
			if strings.Contains(f.Usage, "\n") {
				t.Errorf("%s --%s: a line break in %q", c.CommandPath(), f.Name, f.Usage)
			}
		})
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), n, line)
			}
		}
	}
	fits(root)
	return all.String()
}
