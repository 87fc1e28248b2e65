package cmd

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// failOn is what makes a run or a merge end with a status that is not 0: the value of --fail-on.
// Wrong or lost data, an interruption, and results that cannot be saved always do.
type failOn []string

// failures are the names that --fail-on takes. By default all but invalid count: an invalid phase is
// marked and not ranked, so the others can still be used. Unusable: no measured phase is valid, or a
// model dropped at least half of its operations.
var (
	failures     = failOn{"missed", "unclear", "failed", "overloaded", "empty", "unusable", "invalid"}
	failsDefault = failures[:6]
)

func bindFailOn(flags *pflag.FlagSet, f *failOn) {
	*f = failsDefault
	flags.Var(f, "fail-on", "exit with 3, or 1 if a cell failed, for these: `LIST` of "+strings.Join(failures, ", ")+
		"; or all, or none")
}

// has reports whether the run must fail for that.
func (f failOn) has(name string) bool { return slices.Contains(f, name) }

// String implements pflag.Value.
func (f *failOn) String() string {
	if len(*f) == 0 {
		return "none"
	}
	return strings.Join(*f, ",")
}

// Type implements pflag.Value.
func (f *failOn) Type() string { return "LIST" }

// expected says which values the flag takes.
func (f *failOn) expected() string {
	return "a list of " + strings.Join(failures, ", ") + "; or all, or none"
}

// Set implements pflag.Value.
func (f *failOn) Set(text string) error {
	switch text {
	case "none":
		*f = nil
		return nil
	case "all":
		*f = failures
		return nil
	}
	var all failOn
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if !failures.has(name) {
			return errors.New("unknown name") // flagError says what is expected
		}
		all = append(all, name)
	}
	*f = all
	return nil
}
