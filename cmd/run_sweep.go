package cmd

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas/strict"
)

// sweepPath and sweepValue match what --sweep may have before and after its equals sign.
var sweepPath, sweepValue = regexp.MustCompile(`^[A-Za-z0-9_.@-]+$`), regexp.MustCompile(`^[A-Za-zµ0-9_./+-]+$`)

// sweepOverride is the override for --sweep. Without a text there is none.
func sweepOverride(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	path, list, _ := strings.Cut(text, "=")
	values := strings.Split(list, ",")
	for i, v := range values {
		values[i] = strings.TrimSpace(v)
		if !sweepPath.MatchString(path) || !sweepValue.MatchString(values[i]) {
			return nil, usagef("--sweep %q: expected KEY=VALUE,VALUE,…, such as population.messages=100,1000,10000", text)
		}
	}
	return []string{"sweep={" + path + ": [" + strings.Join(values, ", ") + "]}"}, nil
}

// blameSweep changes the place of faults in the override for --sweep to the place in what the
// user typed.
func blameSweep(err error, text string) error {
	var faults strict.Errors
	override, _ := sweepOverride(text)
	if len(override) == 0 || !errors.As(err, &faults) {
		return err
	}
	path, _, _ := strings.Cut(text, "=")
	for _, f := range faults {
		if f.File != "--set "+strconv.Quote(override[0]) {
			continue
		}
		f.File, f.Pos.Column = "--sweep "+strconv.Quote(text), typedAt(text, override[0], f.Pos.Column)
		f.Msg = strings.TrimPrefix(strings.ReplaceAll(f.Msg, "sweep."+path, path), "sweep: ")
	}
	return err
}

// typedAt is the column of --sweep that a column of its override came from. Both have the same
// words in the same order.
func typedAt(text, override string, column int) int {
	words := regexp.MustCompile(`[^\s=,{}:\[\]]+`)
	from, to := words.FindAllStringIndex(override, -1)[1:], words.FindAllStringIndex(text, -1) // not the word sweep
	at := 1
	for i := range min(len(from), len(to)) {
		if start := from[i][0] + 1; start <= column {
			at = to[i][0] + 1 + min(column-start, to[i][1]-to[i][0]-1)
		}
	}
	return at
}
