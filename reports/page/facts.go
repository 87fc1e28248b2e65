package page

import (
	"maps"
	"slices"
	"strings"
)

// fact is a label and its text.
type fact struct{ Label, Text string }

// repeat is the command that repeats the run whose results are in a folder of that name.
func repeat(name string) string {
	if name == "" {
		name = "DIR"
	}
	return "mailbench run --from " + shellWord(name)
}

// shellWord quotes a word for a shell if it needs that.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,@%+", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// commandLine writes the words of a command as they can be given to a shell.
func commandLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shellWord(w)
	}
	return strings.Join(quoted, " ")
}

func sortedFacts(settings map[string]string) []fact {
	var fs []fact
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		fs = append(fs, fact{k, settings[k]})
	}
	return fs
}
