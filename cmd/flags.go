package cmd

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads"
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

func wholeUint64(value *uint64) pflag.Value {
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
// character has a meaning in it. The list is value if the flag is not given.
func bindList(flags *pflag.FlagSet, to *[]string, name, short, usage string, value ...string) {
	*to = value
	flags.FuncP(name, short, usage, func(s string) error {
		if !flags.Changed(name) {
			*to = []string{}
		}
		if s != "" {
			*to = append(*to, strings.Split(s, ",")...)
		}
		return nil
	})
	if len(value) > 0 {
		flags.Lookup(name).DefValue = "[" + strings.Join(value, ",") + "]"
	}
}

// belong refuses flags that were given without the flag that they belong to. On says whether that is in effect.
func belong(flags *pflag.FlagSet, to string, on bool, names ...string) error {
	for _, name := range names {
		if flags.Changed(name) && !on {
			return usagef("--%s belongs to --%s: add that, or leave it out", name, to)
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
			return unknown(a.what, value.GetValue(), a.words)
		case ok:
			expected = a.expected
		}
		return fmt.Errorf("--%s %q: expected %s%s", flag.Name, value.GetValue(), cmp.Or(expected, "true or false"), see)
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
	{"Flags of the load", []string{"seed", "concurrency", "max-wait", "cache", "max-mail-size", "no-overhead"}},
	{"Flags of searches and sweeps", []string{"find-max", "from-rate", "max-rate", "step-time", "precision", "sweep"}},
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
