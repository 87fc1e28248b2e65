package cmd

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/schemas/strict"
)

func newRoot(known registry) *cobra.Command {
	root := &cobra.Command{
		Use:           "mailbench",
		Short:         "Benchmark and validate mailbox data models",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       versionLine(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages", "Flags.FlagUsagesWrapped 80"))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if err := cmd.ValidateArgs(cmd.Flags().Args()); cmd.HasSubCommands() && err != nil {
			return err // the command before the flag is unknown, too
		}
		return usage(flagError(cmd, err))
	})
	run := newRun(known)
	root.AddCommand(run, newReport(), newCompare(), newHistory(), newMerge(), newModels(known),
		newEngines(known), newSchema(known), newWorkloads(), newEngine(known), newVersion())
	root.AddCommand(topics()...)
	setTexts(root)
	groupFlags(run, runGroups)
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	completeTopics(root)
	completeWords(root)
	refuseArguments(root)
	return root
}

// refuseArguments makes a command and its subcommands refuse arguments that they have no use
// for, with the exit status of wrong usage.
func refuseArguments(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false // help has them in the order of the code
	switch check := cmd.Args; {
	case cmd.Name() == "help":
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			found, rest, _ := cmd.Root().Find(args)
			return unknownCommand(found, rest)
		}
	case cmd.HasSubCommands() && cmd.RunE == nil:
		cmd.Args = unknownCommand
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	case !cmd.Runnable(): // the command is a topic of help
	default:
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err == nil || errors.As(err, new(statusError)) {
				return err
			}
			return usagef("too many arguments: %q; see %q", strings.Join(args, " "), cmd.CommandPath()+" --help")
		}
	}
	for _, c := range cmd.Commands() {
		refuseArguments(c)
	}
}

// lacking is a check of arguments whose error says in these words which is missing.
func lacking(check cobra.PositionalArgs, which string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) != nil {
			return usagef("%s; see %q", which, cmd.CommandPath()+" --help")
		}
		return nil
	}
}

// elsewhere are commands that people expect, and what does the same here.
var elsewhere = map[string]string{
	"mailbench verify": "mailbench run --verify=only", "mailbench audit": "mailbench run --verify=only",
	"mailbench engine list": "mailbench engines", "mailbench engine show": "mailbench engines NAME",
}

func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if use := elsewhere[cmd.CommandPath()+" "+args[0]]; use != "" {
		return usagef("unknown command %q; use %q", args[0], use)
	}
	var known []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	if len(known) == 0 {
		return usagef("%s has no command %q", cmd.CommandPath(), args[0])
	}
	for _, parent := range append([]*cobra.Command{cmd.Root()}, cmd.Root().Commands()...) {
		for _, c := range parent.Commands() {
			if c.Name() == args[0] {
				return usagef("unknown command %q; did you mean %q?", args[0], c.CommandPath())
			}
		}
	}
	return usage(unknown("command", args[0], known))
}

// flagError says which values a flag takes, or which flag was probably meant.
func flagError(cmd *cobra.Command, err error) error {
	see := fmt.Sprintf("; see %q", cmd.CommandPath()+" --help")
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		expected := map[string]string{
			"stringToString": "NAME=VALUE", "int": "a whole number", "float64": "a number", "duration": "a duration such as 30s",
		}[value.GetFlag().Value.Type()]
		switch a, ok := value.GetFlag().Value.(*accepted); {
		case ok && a.expected == "":
			return fmt.Errorf("--%s: %w", value.GetFlag().Name, value.Unwrap())
		case ok && a.what != "":
			return unknown(a.what, value.GetValue(), a.words)
		case ok:
			expected = a.expected
		}
		expected = cmp.Or(expected, "true or false")
		return fmt.Errorf("--%s %q: expected %s%s", value.GetFlag().Name, value.GetValue(), expected, see)
	}
	name, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	typed, known := "--"+name, []string(nil) // flags as they are typed, without old names
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, "--"+f.Name)
		}
	})
	if m := attached.FindStringSubmatch(err.Error()); m != nil { // -rate 200/s
		name, typed, ok = m[1], "-"+m[1], true
	}
	if !ok {
		return fmt.Errorf("%w%s", err, see)
	}
	if use := meant(cmd, name, known); use != "" {
		return fmt.Errorf("unknown flag %q; use %s%s", typed, use, see)
	}
	return unknown("flag", typed, known)
}

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
	{"Flags of the load", []string{"seed", "workers", "max-wait", "cache", "mail-limit", "no-floor"}},
	{"Flags of searches and sweeps", []string{"find-max", "from-rate", "max-rate", "step", "precision", "sweep"}},
	{"Flags of data that is kept", []string{"data", "verify", "from"}},
	{"Flags of clusters and several machines", []string{"contact", "shard", "start", "shard-timeout"}},
}

// groupFlags makes a command's help show its flags in groups. Those in no group come last.
func groupFlags(c *cobra.Command, groups []flagGroup) {
	c.InitDefaultHelpFlag()
	rest := flagGroup{title: "More flags"}
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

// flagsOfOthers are flags that other tools have, and what does the same here.
//
//go:embed help/flags-of-others.txt
var flagsOfOthers string

var attached = regexp.MustCompile(`^unknown shorthand flag: '.' in -([A-Za-z]{2}[A-Za-z_-]*)`)

// meant returns what to use instead of a flag that a command does not have, or "". A misspelt flag of the
// command is no guess.
func meant(cmd *cobra.Command, flag string, known []string) string {
	guess := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(flag))
	uses := make(map[string]string)
	for line := range strings.Lines(flagsOfOthers) {
		words, use, _ := strings.Cut(strings.TrimSpace(line), " -> ")
		for _, word := range strings.Fields(words) {
			if use != "" && has(cmd, use) {
				uses[word] = use
			}
		}
	}
	if uses[guess] == "" && len(uses) > 0 && strict.Nearest("--"+flag, known) == "" {
		long := slices.DeleteFunc(slices.Sorted(maps.Keys(uses)), func(word string) bool { return len(word) < 4 })
		guess = strict.Nearest(guess, long)
	}
	return uses[guess]
}

// has reports whether a command has all flags of a line. The --set of some commands is for engines only.
func has(cmd *cobra.Command, line string) bool {
	for _, word := range strings.Fields(line) {
		name, ok := strings.CutPrefix(word, "--")
		if !ok {
			continue
		}
		flag := cmd.Flags().Lookup(name)
		if flag == nil || flag.Usage == setOfEngine && !strings.Contains(line, " engines.") {
			return false
		}
	}
	return true
}
