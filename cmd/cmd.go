// Package cmd is the command line of mailbench. Each command binds flags, calls packages
// and prints. A program with models of its own is one line:
//
//	func main() { cmd.Main(mymodel.Model()) }
package cmd

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/drivers/launch"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/reports/glossary"
	"github.com/mailbench/mailbench/reports/screen"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/run"
)

// Main runs the command line of this process and ends the process with its exit
// status. It has the given models and mailbench's own; a given one replaces that of the same name.
func Main(more ...models.Model) {
	drive.Tune()
	os.Exit(execute(bundled(more...), os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs one command line and returns its exit status.
func execute(known registry, args []string, stdout, stderr io.Writer) int {
	ctx, stop := untilSignal(context.Background())
	defer stop()
	out, errs := screen.New(stdout), screen.New(stderr)
	root := newRoot(known)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	var cmd *cobra.Command
	err := crash.Guard(func() (err error) {
		cmd, err = root.ExecuteContextC(ctx)
		return err
	})
	if err == nil {
		err = screen.Err(out)
	} else if exitStatus(err) == exitUsage && strict.Nearest(cmd.Flags().Arg(0), commandsOf(cmd)) != "" {
		err = unknownCommand(cmd, cmd.Flags().Args())
	}
	if errors.Is(err, context.Canceled) {
		err = statusError{exitInterrupted, errors.New("interrupted before anything was measured")}
	}
	if err != nil && !screen.Gone(err) {
		fmt.Fprintf(errs, "mailbench: %v\n", err)
	}
	var panicked *crash.Error
	if errors.As(err, &panicked) {
		fmt.Fprintf(errs, "\n%s", panicked.Stack)
	}
	return exitStatus(err)
}

// untilSignal returns a context that the first Ctrl-C, SIGTERM or SIGHUP ends. A run then ends
// and saves what was measured. A second Ctrl-C or SIGTERM ends the process at once. A second
// SIGHUP does not, because a terminal that is closed may send two.
func untilSignal(parent context.Context) (ctx context.Context, stop context.CancelFunc) {
	// With SIGPIPE taken, a write to a pipe without a reader is an error and does not end
	// the process. Child processes inherit an ignored signal, but not one that is taken.
	signals, taken := []os.Signal{os.Interrupt, syscall.SIGTERM}, []os.Signal{syscall.SIGPIPE}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signals, taken = append(signals, syscall.SIGHUP), append(taken, syscall.SIGHUP)
	}
	signal.Notify(make(chan os.Signal, 1), taken...)
	ctx, stop = signal.NotifyContext(parent, signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// Exit statuses of every command.
const (
	exitOK          = 0
	exitFailed      = 1 // it could not be done: engine unreachable, I/O
	exitUsage       = 2 // wrong usage or input
	exitBroken      = 3 // done, but not good: a run invalid, overloaded or empty, a schema with errors, a regression
	exitData        = 4 // data wrong or lost
	exitInterrupted = 130
)

// statusError is an error with its exit status.
type statusError struct {
	status int
	error
}

func (e statusError) Unwrap() error { return e.error }

// usage marks an error, if there is one, as one of wrong usage or input.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return statusError{exitUsage, err}
}

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// missing gives an error the exit status of wrong input, if a file is missing, is a folder, or
// should be a folder.
func missing(err error) error {
	if errors.Is(err, drivers.ErrCorrupt) {
		return err // a store has lost files of its own
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, plainfile.ErrNotPlain) {
		return usage(err)
	}
	return err
}

// input gives an error about files that the user named the exit status of wrong input, unless a file that is there
// cannot be read.
func input(err error) error {
	if err = missing(err); err == nil || errors.As(err, new(*fs.PathError)) || errors.Is(err, context.Canceled) {
		return err
	}
	return usage(err)
}

// exitStatus is the exit status for a command's error.
func exitStatus(err error) int {
	var status statusError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &status):
		return status.status
	case errors.Is(err, drivers.ErrCorrupt):
		return exitData
	case errors.As(err, new(strict.Errors)), errors.As(err, new(*mail.FormatError)),
		errors.Is(err, drivers.ErrOption), errors.As(err, new(launch.UsageError)),
		errors.Is(err, workloads.ErrPopulation):
		return exitUsage
	default:
		return exitFailed
	}
}

func newRoot(known registry) *cobra.Command {
	root := &cobra.Command{
		Use:           "mailbench",
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
	root.AddCommand( // topics of help; lists of terms are below what their text has of them
		&cobra.Command{Use: "workload", Long: workloads.Reference()},
		&cobra.Command{Use: "operations", Long: terms(glossary.Operations())},
		&cobra.Command{Use: "output", Long: terms(glossary.Columns())},
		&cobra.Command{Use: "ranking"},
	)
	groupFlags(run, runGroups)
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	finish(root, known.completions())
	return root
}

// command is a command that runs something. Its help is one of texts.
func command(use string, args cobra.PositionalArgs, do func(cmd *cobra.Command, args []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Args: args, RunE: do}
}

// texts are the help texts of commands: first the short one, then the long one, and the examples. Those of
// "schema diff" are in help/mailbench-schema-diff.help.txt.
//
//go:embed help/*.help.txt
var texts embed.FS

// finish gives a command, and all below it, its help texts, and completion of flags: of those that are one of some
// words, and by their names of others. The command refuses arguments that it has no use for, with the exit status of
// wrong usage.
func finish(cmd *cobra.Command, completions map[string]cobra.CompletionFunc) {
	for _, c := range cmd.Commands() {
		finish(c, completions)
	}
	if text, err := texts.ReadFile("help/" + strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".help.txt"); err == nil {
		short, rest, _ := strings.Cut(string(text), "\n")
		long, example, _ := strings.Cut(rest, "Examples:\n")
		cmd.Short, cmd.Long = short, strings.TrimSpace(long+"\n"+cmd.Long)
		cmd.Example = strings.TrimRight(example, "\n")
	}
	cmd.Flags().SortFlags = false // help has them in the order of the code
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if a, ok := f.Value.(*accepted); ok && a.words != nil {
			register(cmd, f.Name, cobra.FixedCompletions(a.words, cobra.ShellCompDirectiveNoFileComp))
		} else if complete := completions[f.Name]; complete != nil {
			register(cmd, f.Name, complete)
		}
	})
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
			err := cmp.Or(noneEmpty(cmd, args), idle(cmd), check(cmd, args))
			if err == nil || errors.As(err, new(statusError)) {
				return err
			}
			return usagef("too many arguments: %q; see %q", strings.Join(args, " "), cmd.CommandPath()+" --help")
		}
	}
}

// noneEmpty refuses an empty text as an argument or as the value of a flag: a script with a variable that is not set
// means something else than a command line without it.
func noneEmpty(cmd *cobra.Command, args []string) (err error) {
	if at := slices.Index(args, ""); at >= 0 {
		return usagef("argument %d is empty; see %q", at+1, cmd.CommandPath()+" --help")
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		all, several := f.Value.(pflag.SliceValue)
		if f.Value.Type() == "string" && f.Value.String() == "" || several && slices.Contains(all.GetSlice(), "") {
			name, _ := pflag.UnquoteUsage(f)
			err = cmp.Or(err, usagef("--%s \"\": expected %s; see %q", f.Name, name, cmd.CommandPath()+" --help"))
		}
	})
	return err
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
	"mailbench engines": "mailbench engine list, or engine show NAME", "mailbench schema list": "mailbench models",
}

func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if use := elsewhere[cmd.CommandPath()+" "+args[0]]; use != "" {
		return usagef("unknown command %q; use %q", args[0], use)
	}
	known := commandsOf(cmd)
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
	return usage(strict.Unknown("command", args[0], known...))
}

// commandsOf names the commands below a command.
func commandsOf(cmd *cobra.Command) (known []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	return known
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
	c := command("version", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return show(cmd, run.Environment("."), func(w io.Writer, _ int) { fmt.Fprintln(w, versionLine()) })
	})
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

func register(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the program named a flag that does not exist
	}
}

// completeDirs completes the names of folders.
var completeDirs = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)

// completions are the completions of flags that name the same in each command.
func (r registry) completions() map[string]cobra.CompletionFunc {
	return map[string]cobra.CompletionFunc{
		"model":     completeList(append(r.modelNames(), "all")),
		"engine":    completeList(append(r.engineNames(), "all")),
		"workload":  completeList(workloads.BundledNames()),
		"fail-on":   completeList(append(slices.Clone(judge.FailOn), "all", "none")),
		"metric":    completeList(compare.Names),
		"threshold": completeList(compare.Names),
		"data":      completeDirs, "from": completeDirs, "dir": completeDirs, "checkout": completeDirs,
		"results": completeDirs,
	}
}

// completeRun completes the workload of run and its keys.
func completeRun(cmd *cobra.Command, known registry) {
	// The argument may also be the name of a file.
	cmd.ValidArgsFunction = cobra.FixedCompletions(workloads.BundledNames(), cobra.ShellCompDirectiveDefault)
	register(cmd, "set", func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		name, f := results.DefaultWorkload, runFlags{quiet: true}
		if len(args) > 0 {
			name = args[0]
		}
		_, _ = f.ofSchema(cmd, known, args, nil) // the patterns of a schema are the keys of a mix
		var found []string
		if w, _ := f.workload(workloads.Known{}, name); w != nil {
			found = known.words().Complete(w, typed)
		}
		return found, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
}
