package cmd

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroup is some flags of a command under one heading of its help.
type flagGroup struct {
	title string
	names []string
}

// runGroups are the flags of run, those of daily use first.
var runGroups = []flagGroup{
	{"Flags", []string{
		"model", "engine", "set", "output", "trials", "mail", "durability", "dry-run", "fail-on", "quiet",
	}},
	{"Flags of the load", []string{"seed", "workers", "max-lag", "cache", "mail-limit", "no-floor"}},
	{"Flags of searches and sweeps", []string{"find-max", "from-rate", "max-rate", "step", "precision", "sweep"}},
	{"Flags of data that is kept", []string{"data", "audit", "from"}},
	{"Flags of clusters and several machines", []string{"contact", "shard", "start", "shard-timeout"}},
}

// groupFlags makes a command's help show its flags in groups. Those in no group come last.
func groupFlags(c *cobra.Command, groups []flagGroup) {
	c.InitDefaultHelpFlag()
	rest := flagGroup{title: "Further flags"}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !slices.ContainsFunc(groups, func(g flagGroup) bool { return slices.Contains(g.names, f.Name) }) {
			rest.names = append(rest.names, f.Name)
		}
	})
	var text strings.Builder
	for _, g := range append(slices.Clone(groups), rest) {
		var flags pflag.FlagSet
		flags.SortFlags = false
		for _, name := range g.names {
			flags.AddFlag(c.Flags().Lookup(name))
		}
		text.WriteString(g.title + ":\n" + flags.FlagUsagesWrapped(80) + "\n")
	}
	before, after, _ := strings.Cut(c.UsageTemplate(), "Flags:\n{{.LocalFlags.FlagUsages")
	_, after, _ = strings.Cut(after, "{{end}}")
	c.SetUsageTemplate(before + strings.TrimRight(text.String(), "\n") + "{{end}}" + after)
}
