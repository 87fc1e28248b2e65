package cmd

import (
	"slices"
	"testing"

	"github.com/kballard/go-shellquote"
)

func TestWordsOfCommands(t *testing.T) {
	for line, want := range map[string][]string{
		"":                                 nil,
		" bin/mailbench \t run  ":          {"bin/mailbench", "run"},
		`run --set 'a={b: 1, c: "$x"}' ''`: {"run", "--set", `a={b: 1, c: "$x"}`, ""},
		`"a \"b\" \n" c\ d'e'f $HOME *`:    {`a "b" \n`, "c def", "$HOME", "*"},
	} {
		if got, err := shellquote.Split(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", line, got, err, want)
		}
	}
	for _, line := range []string{"a 'b", `a "b\"`, `a\`} {
		if got, err := shellquote.Split(line); err == nil {
			t.Errorf("%s: %q, want an error", line, got)
		}
	}
}
