package cmd

import (
	"cmp"
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
	root.AddCommand(newRun(known), newReport(), newCompare(), newHistory(), newMerge(), newModels(known),
		newEngines(known), newSchema(known), newWorkloads(), newEngine(known), newVersion())
	setTexts(root)
	run, _, _ := root.Find([]string{"run"})
	groupFlags(run, runGroups)
	root.AddCommand(topics()...)
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
		if a, ok := value.GetFlag().Value.(*accepted); ok && a.what != "" {
			return unknown(a.what, value.GetValue(), a.words)
		} else if ok {
			expected = a.expected
		}
		expected = cmp.Or(expected, "true or false")
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

// guessed are flags that other tools have, and what does the same here. A guess is written without
// hyphens. Where a command does not have a flag that a line names, the line is left out.
var guessed = []struct{ guesses, use string }{
	{"rate targetrate throughput target qps rps tps iops ops opss opspersecond requestrate arrivalrate ratelimit speed " +
		"messagespersecond", "--set phases.measure.rate=200/s"},
	{"duration time runtime runfor seconds minutes timelimit period testduration", "--set phases.measure.duration=30s"},
	{
		"operations operationcount requests requestcount iterations count number numops opcount",
		"--set phases.measure.operations=5000",
	},
	{"threads threadcount clients client concurrency connections conns conn vus virtualusers parallel parallelism jobs " +
		"goroutines closedloop", "--set phases.measure.clients=8"},
	{"warmup warmuptime rampup", "--set phases.warmup.duration=5s"},
	{"arrivals poisson distribution", "--set phases.measure.arrivals=poisson"},
	{
		"mix workloadmix operationmix readratio reads writes writeratio ratio proportion readproportion weights",
		"--set 'phases.measure.mix={list: 80, deliver: 20}'",
	},
	{"users usercount mailboxes accounts numusers", "--set population.users=100"},
	{
		"messages messagecount mails emails mailcount records recordcount rows items nummessages messagesperfolder foldersize",
		"--set population.messages=1000",
	},
	{"folders foldercount labels foldersperuser", "--set population.folders=5"},
	{"population dataset size datasize scale scalefactor", "--set population.users=100 --set population.messages=1000"},
	{"body bodysize messagesize mailsize valuesize fieldlength payload payloadsize recordsize", "--set mail.body=4KB"},
	{"attachments attachmentratio", "--set mail.attachments.share=0.1"},
	{"recipients recipientcount", "--set mail.recipients=3"},
	{"consistency consistencylevel cl readconsistency writeconsistency quorum", "--set engines.cassandra.consistency=QUORUM"},
	{"serialconsistency", "--set engines.cassandra.serial_consistency=SERIAL"},
	{"replication replicationfactor rf replicas", "--set engines.cassandra.replication=3"},
	{"localdc dc datacenter", "--set engines.cassandra.local_dc=dc1"},
	{"tls ssl", "--set engines.cassandra.tls=true"},
	{"timeout requesttimeout readtimeout", "--set engines.cassandra.timeout=5s"},
	{"nodes", "--contact HOST:PORT,HOST:PORT (mailbench engine up starts nodes)"},
	{"username user password credentials login", "the variables MAILBENCH_CASSANDRA_USER and MAILBENCH_CASSANDRA_PASSWORD"},
	{"node hosts host servers server cluster contactpoints contactpoint endpoint endpoints address addresses seeds " +
		"url port connect", "--contact HOST:PORT,HOST:PORT"},
	{"slo sla objective threshold thresholds p99 maxlatency latency", "--set 'expect.p99=<50ms'"},
	{"maxthroughput saturate saturation search maxload", "--find-max"},
	{"repeat repeats repetitions runs rounds repeatcount times", "--trials 5"},
	{"schemas models variant variants", "--model james,datastax"},
	{"db database backend store driver engines", "--engine cassandra"},
	{"out outdir outputdir resultdir results report dir", "--output PATH"},
	{"mbox maildir eml mailfile input", "--mail FILE"},
	{"keep keepdata datadir persist", "--data DIR"},
	{"verbose details all debug", "--full"},
	{"silent", "--quiet"},
	{"audit check validate verification", "--verify"},
	{"fsync sync syncmode", "--durability power"},
	{"prometheus exporter", "--metrics :9100"},
	{"growth points", "--sweep population.messages=100,1000,10000"},
}

var attached = regexp.MustCompile(`^unknown shorthand flag: '.' in -([A-Za-z]{2}[A-Za-z_-]*)`)

// meant returns what to use instead of a flag that a command does not have, or "". A misspelt flag of the
// command is no guess.
func meant(cmd *cobra.Command, flag string, known []string) string {
	guess := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(flag))
	uses := make(map[string]string)
	for _, g := range guessed {
		for _, word := range strings.Fields(g.guesses) {
			if has(cmd, g.use) {
				uses[word] = g.use
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
