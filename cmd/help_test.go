package cmd

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every help text can be read on a terminal of 80 columns.
func TestHelpFits80Columns(t *testing.T) {
	helpOfAll(t, newRoot(bundled()))
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
