package cmd

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/results"
)

// Bounds of the flags of run. With more than mostWorkers a client measures its own
// scheduler. A cache of less than leastCache has no room for a block of some tables.
const (
	mostWorkers = 10_000
	mostTrials  = workloads.MaxTrials
	mostMaxWait = time.Hour
	leastCache  = strict.MB
	mostCache   = 1000 * strict.GB
	defaultMail = 10 * strict.GB
	mostMail    = 1_000_000 * strict.GB
)

// accepted is the value of a flag that accepts some values only.
type accepted struct {
	get      func() string // help texts show it as the default, unless it is "": then they say what the default is
	set      func(text string) error
	expected string   // the values that it accepts; "": the error of set says it
	words    []string // the same, if they are words: for completion
	what     string   // a word in the error for an unknown one, "format"; "": the error has what is expected
}

// Set implements pflag.Value. flagError replaces its error.
func (a *accepted) Set(text string) error { return a.set(text) }

// String implements pflag.Value.
func (a *accepted) String() string { return a.get() }

// Type implements pflag.Value.
func (a *accepted) Type() string {
	if a.what == "" {
		return ""
	}
	return "string" // help quotes the default
}

// within is the value of a flag with a range.
func within[T cmp.Ordered](value *T, least, most T, what string, parse func(string) (T, error)) *accepted {
	a := parsed(value, func(s string) (T, error) {
		v, err := parse(s)
		if err == nil && !(v >= least && v <= most) { // true for NaN, too
			err = errors.New("out of range")
		}
		return v, err
	})
	a.what, a.expected = "", fmt.Sprintf("%s from %s to %s", what, text(least), text(most))
	return a
}

// parsed is the value of a flag whose parser says what is wrong with a text.
func parsed[T comparable](value *T, parse func(string) (T, error)) *accepted {
	return &accepted{
		what: "text",
		get: func() string {
			var zero T
			if *value == zero {
				return ""
			}
			return text(*value)
		},
		set: func(s string) error {
			v, err := parse(s)
			if err == nil {
				*value = v
			}
			return err
		},
	}
}

// text is a value as a user would type it: 1h, not 1h0m0s.
func text(v any) string {
	s := fmt.Sprint(v)
	if _, ok := v.(time.Duration); ok {
		s = strings.Replace(s, "m0s", "m", 1)
		s = strings.Replace(s, "h0m", "h", 1)
	}
	return s
}

// oneOf is the value of a flag that is one of some words.
func oneOf[T comparable](value *T, known []T, what string) *accepted {
	words := mapped(known, func(k T) string { return fmt.Sprint(k) })
	return &accepted{
		expected: alternatives(words), words: words, what: what,
		get: func() string { return fmt.Sprint(*value) },
		set: func(s string) error {
			at := slices.Index(words, s)
			if at < 0 {
				return errors.New("unknown")
			}
			*value = known[at]
			return nil
		},
	}
}

// alternatives writes words as "a, b or c".
func alternatives(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func whole(value *int, least, most int) pflag.Value {
	return within(value, least, most, "a whole number", strconv.Atoi)
}

func number(value *float64, least, most float64) pflag.Value {
	parse := func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }
	return within(value, least, most, "a number", parse)
}

func wholeUint64(value *uint64) *accepted {
	parse := func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) }
	return within(value, 0, math.MaxUint64, "a whole number", parse)
}

func duration(value *time.Duration, least, most time.Duration) pflag.Value {
	return within(value, least, most, "a duration such as 500ms,", time.ParseDuration)
}

func size(value *strict.Size, least, most strict.Size) pflag.Value {
	return within(value, least, most, "a size such as 256MB,", strict.ParseSize)
}

// bindList binds a flag that names several things, separated by commas, and can be repeated. No other
// character has a meaning in it, and it is not empty. The list is value if the flag is not given.
func bindList(flags *pflag.FlagSet, to *[]string, name, short, usage string, value ...string) {
	*to = value
	flags.FuncP(name, short, usage, func(s string) error {
		if s == "" {
			return errors.New("empty")
		}
		if !flags.Changed(name) {
			*to = nil
		}
		*to = append(*to, strings.Split(s, ",")...)
		return nil
	})
	if len(value) > 0 {
		flags.Lookup(name).DefValue = "[" + strings.Join(value, ",") + "]"
	}
}

// flagsTogether are flags that do nothing without others, or together with them.
//
//go:embed help/flags-together.txt
var flagsTogether string

// idle refuses flags that would do nothing, by the lines of flagsTogether.
func idle(cmd *cobra.Command) error {
	for line := range strings.Lines(flagsTogether) {
		rule, ok := strings.CutPrefix(cmd.Root().Name()+" "+line, cmd.CommandPath()+": ")
		if !ok {
			continue
		}
		names, others, needs := strings.Cut(rule, " needs ")
		if !needs {
			names, others, _ = strings.Cut(rule, " not ")
		}
		all := strings.Fields(others)
		given := slices.IndexFunc(all, cmd.Flags().Changed)
		for _, name := range strings.Fields(names) {
			switch set := cmd.Flags().Changed(name); {
			case set && needs && given < 0:
				return usagef("--%s belongs to --%s: add that, or leave it out", name, strings.Join(all, " or --"))
			case set && !needs && given >= 0:
				return usagef("--%s does nothing with --%s: leave one of them out", name, all[given])
			}
		}
	}
	return nil
}

// flagError says which values a flag takes, or which flag was probably meant.
func flagError(cmd *cobra.Command, err error) error {
	see := fmt.Sprintf("; see %q", cmd.CommandPath()+" --help")
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		flag := value.GetFlag()
		expected := map[string]string{"stringToString": "NAME=VALUE", "int": "a whole number"}[flag.Value.Type()]
		switch a, ok := flag.Value.(*accepted); {
		case ok && a.expected == "":
			return fmt.Errorf("--%s: %w", flag.Name, value.Unwrap())
		case ok && a.what != "":
			return fmt.Errorf("--%s: %w", flag.Name, strict.Unknown(a.what, value.GetValue(), a.words...))
		case ok:
			expected = a.expected
		}
		name, _ := pflag.UnquoteUsage(flag) // "" of one that is on or off
		return fmt.Errorf("--%s %q: expected %s%s", flag.Name, value.GetValue(), cmp.Or(expected, name, "true or false"), see)
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
	return strict.Unknown("flag", typed, known...)
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
	{"Flags of the load", []string{"seed", "concurrency", "max-wait", "cache", "max-mail-size"}},
	{"Flags of searches and sweeps", []string{"find-max", "from-rate", "max-rate", "step-time", "precision", "sweep"}},
	{"Flags of data that is kept", []string{"data", "verify", "from"}},
	{"Flags of clusters and several machines", []string{"contact", "segment", "start", "segment-timeout"}},
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

// meant returns what to use in run instead of a flag of other tools, or "". A misspelt flag of the command is no
// guess.
func meant(cmd *cobra.Command, flag string, known []string) string {
	switch {
	case cmd.Name() == "explain" && flag == "queries": // which it had
		return "schema lint --cql FILE --queries FILE"
	case cmd.Name() == "fit" && flag == "trace": // which it had
		return "a phase with replay: {trace: FILE}"
	case cmd.Name() != "run":
		return ""
	}
	uses, long := make(map[string]string), []string(nil)
	for line := range strings.Lines(flagsOfOthers) {
		words, use, _ := strings.Cut(strings.TrimSpace(line), " -> ")
		for _, word := range strings.Fields(words) {
			if uses[word] = use; use != "" && len(word) > 3 {
				long = append(long, word)
			}
		}
	}
	guess := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(flag))
	if uses[guess] == "" && strict.Nearest("--"+flag, known) == "" {
		guess = strict.Nearest(guess, long)
	}
	return uses[guess]
}

// workloadFlags change single values of a workload, and where its engine is.
type workloadFlags struct {
	set, contact []string
	seed         []string // the override for --seed, if it was given: 0 is a seed, too
	engineIn     string   // the workload that says where the engine is and how it is reached; "": the default one

	// text and textName are the workload of a repeated run and its file name. They are empty if
	// the command line names the workload.
	text     []byte
	textName string
}

// The texts of --set and --contact. In commands that only reach an engine, --set is for its settings.
const (
	setOfWorkload = "change one value of the workload: `KEY=VALUE`, such as population.users=10"
	setOfEngine   = "change one setting of the engine: `engines.NAME.KEY=VALUE`, such as engines.cassandra.consistency=ONE"
	contactUsage  = "addresses `HOST[:PORT]`,… of the engine on the network (default: this machine)"
)

// bindSeed binds --seed.
func (f *workloadFlags) bindSeed(flags *pflag.FlagSet) {
	var seed uint64
	value := wholeUint64(&seed)
	read := value.set
	value.set = func(s string) error {
		err := read(s)
		f.seed = []string{fmt.Sprintf("seed=%d", seed)}
		return err
	}
	flags.Var(value, "seed", "seed `N` of all random numbers (default: the workload's)")
}

// bindEngine binds the flags of a command that only reaches an engine.
func (f *workloadFlags) bindEngine(flags *pflag.FlagSet) {
	flags.StringVar(&f.engineIn, "workload", results.DefaultWorkload,
		"`WORKLOAD` or file with the address and settings of the engine")
	f.bindSet(flags)
	bindList(flags, &f.contact, "contact", "", contactUsage)
}

// bindSet binds --set of a command that only reaches an engine.
func (f *workloadFlags) bindSet(flags *pflag.FlagSet) {
	flags.FuncP("set", "", setOfEngine, func(text string) error {
		if f.set = append(f.set, text); !strings.HasPrefix(text, "engines.") {
			return errors.New("no setting of an engine")
		}
		return nil
	})
}

// workload reads the workload with all overrides, and checks its names against those that are known. It is a file if
// the name looks like one, else a bundled workload. The overrides in more are applied after those of --set and --seed.
func (f *workloadFlags) workload(known workloads.Known, name string, more ...string) (*workloads.Workload, error) {
	file, text, err := f.textName, f.text, error(nil)
	switch {
	case text != nil:
	case isFile(name):
		file = name
		text, err = readText("workload", name, noWorkload)
	default:
		file, text, err = workloads.Text(name)
		err = usage(err)
	}
	if err != nil {
		return nil, err
	}
	w, err := known.Parse(file, text, slices.Concat(f.set, f.seed, more))
	return w, usage(err)
}

// noWorkload is what to do if there is no file that is named as a workload.
const noWorkload = "name a workload file, a schema file, or a workload that \"mailbench workloads\" lists"

// readText reads a file that the user names. The hint says what to do if there is none.
func readText(what, file, hint string) ([]byte, error) {
	text, err := plainfile.Read(file, mostText)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; %s", err, hint)
	}
	if err != nil {
		return nil, missing(fmt.Errorf("read %s: %w", what, err))
	}
	return text, nil
}

// reach returns the workload that says where an engine is and how it is reached.
func (f *workloadFlags) reach(known registry, e drivers.Engine) (*workloads.Workload, error) {
	more, err := contactOverride([]drivers.Engine{e}, f.contact)
	if err != nil {
		return nil, err
	}
	return f.workload(known.engineWords(), cmp.Or(f.engineIn, results.DefaultWorkload), more...)
}

// engineWords are the names that workloads may have of engines and their settings.
func (r registry) engineWords() workloads.Known {
	known := workloads.Known{Engines: map[string]workloads.EngineWords{}}
	names := func(all []drivers.Setting) []string {
		return mapped(all, func(s drivers.Setting) string { return s.Name })
	}
	for _, e := range r.engines {
		words := workloads.EngineWords{
			Settings: names(e.Settings), Environment: names(e.Environment), Check: e.CheckSetting,
		}
		if e.Remote {
			words.Settings = append([]string{"contact"}, words.Settings...)
		}
		known.Engines[e.Name] = words
	}
	return known
}

// words are the names that workloads may have of engines and of models. Schemas that were read from files count as
// models, in place of those of the same name.
func (r registry) words(read ...*schemas.Schema) workloads.Known {
	known := r.engineWords()
	known.Models = map[string][]*schemas.Parameter{}
	var all []*schemas.Schema
	for _, m := range r.models {
		if s, err := m.Schema(); err == nil { // the run of the model reports an error
			all = append(all, s)
		}
	}
	for _, s := range append(all, read...) {
		known.Models[s.Name] = s.Parameters
	}
	return known
}

// contactOverride is the override for --contact. It sets the addresses of the only remote engine
// of the run. Without the flag there is none.
func contactOverride(engines []drivers.Engine, addresses []string) ([]string, error) {
	if len(addresses) == 0 {
		return nil, nil
	}
	quoted := make([]string, len(addresses))
	for i, a := range addresses {
		if err := workloads.CheckContact(a); err != nil {
			return nil, usagef("--contact: %w", err)
		}
		quoted[i] = strconv.Quote(a)
	}
	remote := namesOf(slices.DeleteFunc(slices.Clone(engines), func(e drivers.Engine) bool { return !e.Remote }))
	given := strings.Join(addresses, ",")
	switch len(remote) {
	case 0:
		return nil, usagef("--contact %s: none of the engines named is reached over the network; name one with --engine",
			given)
	case 1:
		return []string{"engines." + remote[0] + ".contact=[" + strings.Join(quoted, ", ") + "]"}, nil
	}
	return nil, usagef("--contact %s: the engine is ambiguous (%s); set the address of each with --set engines.NAME.contact=HOST",
		given, strings.Join(remote, ", "))
}

// mailHint is how long mail may be read until a line says so.
const mailHint = 5 * time.Second

// openMail opens a mail file. It fails if the messages have more than most bytes. It notes what is odd in the mail, and
// after the hint that it still reads it.
func openMail(
	ctx context.Context, notes io.Writer, path string, most strict.Size, hint time.Duration,
) (messages.Source, error) {
	note := func(text string) { fmt.Fprintf(notes, "mailbench: %s: %s\n", path, text) }
	slow := time.AfterFunc(hint, func() { note("reads it; large or packed mail takes minutes") })
	file, err := mail.Open(ctx, path, "", int64(most))
	if slow.Stop(); err != nil {
		return nil, missing(err)
	}
	info := file.Info()
	for _, line := range info.Notes.Lines() {
		note(line)
	}
	return messages.File{File: file}, nil
}

// mostText is how many bytes a workload or schema file may have.
const mostText = 32 << 20
