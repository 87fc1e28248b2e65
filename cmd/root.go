package cmd

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/reports/glossary"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/run"
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
		newSchema(known), newWorkloads(), newEngine(known), newVersion())
	root.AddCommand(topics()...)
	groupFlags(run, runGroups)
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	completeTopics(root)
	each(root, func(c *cobra.Command) {
		setText(c)
		completeWords(c)
		refuseArguments(c)
	})
	return root
}

// each calls f with a command and all below it.
func each(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, c := range cmd.Commands() {
		each(c, f)
	}
}

// refuseArguments makes a command refuse arguments that it has no use for, with the exit status of wrong usage.
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
	"mailbench engines": "mailbench engine list, or engine show NAME",
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

// texts are the help texts of commands with their examples, and of topics: that of "schema diff" is in
// help/mailbench-schema-diff.help.txt.
//
//go:embed help/*.help.txt
var texts embed.FS

// setText gives a command its help text.
func setText(cmd *cobra.Command) {
	if text, err := texts.ReadFile("help/" + strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".help.txt"); err == nil {
		long, example, _ := strings.Cut(string(text), "Examples:\n")
		cmd.Long = strings.TrimSpace(long + "\n" + cmd.Long)
		cmd.Example = strings.TrimRight(example, "\n")
	}
}

// topics are the texts of "mailbench help" that are of no command. Lists of terms are below what help has of them.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "workload", Short: "The language of workload files", Long: workloads.Reference()},
		{Use: "operations", Short: "The mail operations that workloads name", Long: terms(glossary.Operations())},
		{Use: "output", Short: "The files and columns of results", Long: terms(glossary.Columns())},
		{Use: "ranking", Short: "How a run ranks models, and significance", Long: ranking.Rule},
	}
}

// completeTopics adds topics to what the command help completes.
func completeTopics(root *cobra.Command) {
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		panic(err) // InitDefaultHelpCmd makes the command
	}
	commands := help.ValidArgsFunction
	help.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		found, directive := commands(c, args, typed)
		for _, topic := range root.Commands() {
			if len(args) == 0 && topic.IsAdditionalHelpTopicCommand() && strings.HasPrefix(topic.Name(), typed) {
				found = append(found, topic.Name()+"\t"+topic.Short)
			}
		}
		return found, directive
	}
}

// terms writes words and what they mean, in lines of at most 80 columns.
func terms(all []glossary.Term) string {
	rows := mapped(all, func(t glossary.Term) []string { return []string{t.Word, t.Meaning} })
	var b strings.Builder
	for line := range strings.Lines(words.Table(rows, len(rows[0]), 78)) {
		b.WriteString("  " + line)
	}
	return b.String()
}

func newVersion() *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, commit and Go version; --json: and the machine",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd, run.Environment("."), func(w io.Writer, _ int) { fmt.Fprintln(w, versionLine()) })
		},
	}
	bindJSON(c.Flags(), "print JSON")
	return c
}

// versionLine says which mailbench this is.
func versionLine() string {
	e := run.Environment(".")
	built := e.Go + " " + runtime.GOOS + "/" + runtime.GOARCH
	if e.Commit != "" {
		built = "commit " + e.Commit + ", " + built
	}
	if e.Dirty {
		built += ", with uncommitted changes"
	}
	return fmt.Sprintf("mailbench %s (%s)", e.Version, built)
}

// completeList completes the last word of a flag's list, such as "james,ora".
func completeList(words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		var all []string
		for _, w := range words {
			if strings.HasPrefix(before+w, typed) && !strings.Contains(","+before, ","+w+",") {
				all = append(all, before+w)
			}
		}
		return all, cobra.ShellCompDirectiveDefault
	}
}

// completeSchema completes the name of a model or variant, or a file.
func completeSchema(known registry) cobra.CompletionFunc {
	return cobra.FixedCompletions(known.modelNames(), cobra.ShellCompDirectiveDefault)
}

// completeWords completes the flags of a command that are one of some words.
func completeWords(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if a, ok := f.Value.(*accepted); ok && a.words != nil {
			register(cmd, f.Name, cobra.FixedCompletions(a.words, cobra.ShellCompDirectiveNoFileComp))
		}
	})
}

func register(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the program named a flag that does not exist
	}
}

// completeRun completes the workload and the flags of run.
func completeRun(cmd *cobra.Command, known registry) {
	// The argument may also be the name of a file.
	cmd.ValidArgsFunction = cobra.FixedCompletions(workloads.BundledNames(), cobra.ShellCompDirectiveDefault)
	register(cmd, "model", completeList(append(known.modelNames(), "all")))
	register(cmd, "engine", completeList(append(known.engineNames(), "all")))
	register(cmd, "set", func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		name, f := results.DefaultWorkload, runFlags{quiet: true}
		if len(args) > 0 {
			name = args[0]
		}
		_, _ = f.ofSchema(cmd, known, args, nil) // the patterns of a schema are the keys of a mix
		w, _ := f.workload(known.engineWords(), name)
		return known.completeSet(w, typed), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
}

// completeSet completes KEY=VALUE of a workload. Keys are completed up to their next part.
func (r registry) completeSet(w *workloads.Workload, typed string) []string {
	if w == nil {
		return nil
	}
	all := w.Paths()
	for model, parameters := range r.words().Models {
		for _, p := range parameters {
			all = append(all, "models."+model+"."+p.Name+"=")
		}
	}
	for i := range r.engines {
		for _, s := range settingsOf(&r.engines[i]) {
			all = append(all, "engines."+r.engines[i].Name+"."+s.Name+"=")
		}
	}
	var found []string
	for _, path := range all {
		if !strings.HasPrefix(path, typed) {
			continue
		}
		if at := strings.IndexByte(path[len(typed):], '.'); at >= 0 && !strings.Contains(path[:len(typed)+at], "=") {
			path = path[:len(typed)+at+1]
		}
		if !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	return found
}
