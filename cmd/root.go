package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newRoot(known registry) *cobra.Command {
	root := &cobra.Command{
		Use:   "mailbench",
		Short: "Benchmark and validate mailbox data models",
		Long: `mailbench compares mailbox data models: what each mail operation costs in each
model on each engine, and whether what is stored is right.

Exit status:
  0    all well
  1    it could not be done
  2    wrong usage or input
  3    done, but the run was overloaded, measured nothing, has no valid phase or
       missed what its workload expects (--fail-on); or the schema has errors or
       differs; or a comparison found a regression
  4    data is wrong or lost
  130  interrupted; what was measured is saved`,
		Example: `  mailbench run                     workload quick, all models, embedded engine
  mailbench run delivery -m james   one workload, one model
  mailbench workloads               list the workloads`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       versionLine(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages", "Flags.FlagUsagesWrapped 80"))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(flagError(cmd, err))
	})
	root.AddCommand(newRun(known), newReport(), newCompare(), newHistory(), newMerge(), newModels(known),
		newEngines(known), newSchema(known), newWorkloads(), newEngine(known), newVersion())
	run, _, _ := root.Find([]string{"run"})
	groupFlags(run, runGroups)
	root.AddCommand(newWorkloadHelp(), newOperationsHelp(), newOutputHelp(), newRankingHelp())
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	completeTopics(root)
	refuseArguments(root)
	return root
}

// refuseArguments makes a command and its subcommands refuse arguments that they have no use
// for, with the exit status of wrong usage.
func refuseArguments(cmd *cobra.Command) {
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
			var own statusError
			if errors.As(err, &own) {
				return err
			}
			if err != nil {
				return usagef("too many arguments: %q; see %q", strings.Join(args, " "), cmd.CommandPath()+" --help")
			}
			return nil
		}
	}
	for _, c := range cmd.Commands() {
		refuseArguments(c)
	}
}

func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
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
	return usage(unknown("command", args[0], known))
}

// flagError says which values a flag takes, or which flag was probably meant.
func flagError(cmd *cobra.Command, err error) error {
	see := fmt.Sprintf("; see %q", cmd.CommandPath()+" --help")
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		expected := "true or false"
		if b, ok := value.GetFlag().Value.(interface{ expected() string }); ok {
			expected = b.expected()
		} else if value.GetFlag().Value.Type() == "stringToString" {
			expected = "NAME=VALUE"
		}
		return fmt.Errorf("--%s %q: expected %s%s", value.GetFlag().Name, value.GetValue(), expected, see)
	}
	name, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	typed, known := "--"+name, flagNames(cmd)
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

// flagNames lists a command's flags as they are typed, without old names.
func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}
