package cmd

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/results"
)

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

// starting returns the words that begin like what was typed.
func starting(words []string, typed string) (found []string) {
	for _, w := range words {
		if strings.HasPrefix(w, typed) {
			found = append(found, w)
		}
	}
	return found
}

// completeWords completes the flags of a command and its subcommands that are one of some words.
func completeWords(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if a, ok := f.Value.(*accepted); ok && a.words != nil {
			register(cmd, f.Name, cobra.FixedCompletions(a.words, cobra.ShellCompDirectiveNoFileComp))
		}
	})
	for _, c := range cmd.Commands() {
		completeWords(c)
	}
}

// completeFlags completes the flags whose values are words.
func completeFlags(cmd *cobra.Command, words map[string][]string) {
	for flag, all := range words {
		register(cmd, flag, completeList(all))
	}
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
	completeFlags(cmd, map[string][]string{
		"model": append(known.modelNames(), "all"), "engine": append(known.engineNames(), "all"),
	})
	register(cmd, "set", func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		name := results.DefaultWorkload
		if len(args) > 0 {
			name = args[0]
		}
		return known.completeSet(name, typed), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
}

// completeSet completes KEY=VALUE of a workload. Keys are completed up to their next part.
func (r registry) completeSet(workload, typed string) []string {
	w, err := (&workloadFlags{}).readWorkload(workload, nil)
	if err != nil {
		return nil
	}
	all := append(w.Paths(), r.parameterKeys()...)
	for i := range r.engines {
		for _, s := range settingsOf(&r.engines[i]) {
			all = append(all, "engines."+r.engines[i].Name+"."+s.Name+"=")
		}
	}
	var found []string
	for _, path := range starting(all, typed) {
		if at := strings.IndexByte(path[len(typed):], '.'); at >= 0 && !strings.Contains(path[:len(typed)+at], "=") {
			path = path[:len(typed)+at+1]
		}
		if !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	return found
}
