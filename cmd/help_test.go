package cmd

import (
	"bytes"
	"fmt"
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

// Each line of the table of flags names a command and its flags, and the command refuses them.
func TestFlagsTogether(t *testing.T) {
	root, rules := newRoot(bundled()), 0
	for line := range strings.Lines(flagsTogether) {
		path, rule, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			continue
		}
		c, rest, err := root.Find(strings.Fields(path))
		if err != nil || len(rest) > 0 {
			t.Errorf("%s is no command: %v", path, err)
			continue
		}
		names, others, needs := strings.Cut(rule, " needs ")
		if !needs {
			names, others, _ = strings.Cut(rule, " not ")
		}
		for _, name := range strings.Fields(names) {
			for _, other := range strings.Fields(others) {
				flag, with := c.Flags().Lookup(name), c.Flags().Lookup(other)
				if flag == nil || with == nil {
					t.Errorf("%s has no --%s or no --%s", path, name, other)
					continue
				}
				rules++
				flag.Changed = true
				alone := fmt.Sprint(idle(c))
				with.Changed = true
				both := fmt.Sprint(idle(c))
				flag.Changed, with.Changed = false, false
				belongs, nothing := "--"+name+" belongs to --", "--"+name+" does nothing with --"+other+":"
				if needs && (!strings.Contains(alone, belongs) || strings.Contains(both, belongs)) || !needs && !strings.Contains(both, nothing) {
					t.Errorf("%s --%s: %s; and with --%s: %s", path, name, alone, other, both)
				}
			}
		}
	}
	if rules < 50 {
		t.Errorf("%d rules", rules)
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
