package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

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
	words := make([]string, len(known))
	for i, k := range known {
		words[i] = fmt.Sprint(k)
	}
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
