package cmd

import (
	"errors"
	"strings"
)

// shellWords splits a command line into words as a shell does, with 'quotes', "quotes" and \.
// It has nothing else of a shell: no variables, patterns or pipes.
func shellWords(line string) ([]string, error) {
	var all []string
	var word strings.Builder
	var quote rune // open quote, or 0
	begun, escaped := false, false
	for _, r := range line {
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' {
				word.WriteRune('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, begun = true, true
		case quote != 0:
			if r != quote {
				word.WriteRune(r)
			} else {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote, begun = r, true
		case strings.ContainsRune(" \t\n", r):
			if begun {
				all = append(all, word.String())
				word.Reset()
				begun = false
			}
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote is not closed, or nothing follows a \\")
	}
	if begun {
		all = append(all, word.String())
	}
	return all, nil
}
