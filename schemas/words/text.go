package words

import (
	"fmt"
	"strings"
	"unicode"
)

// Plural writes a number with its noun: 1 run, 2 runs, 0 processes, 3 queries.
func Plural[N ~int | ~int64](n N, noun string) string {
	if n != 1 {
		noun = plural(noun)
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// plural knows the rules that nouns of mailbench follow, and no exceptions from them.
func plural(noun string) string {
	for _, end := range []string{"s", "x", "ch", "sh"} {
		if strings.HasSuffix(noun, end) {
			return noun + "es"
		}
	}
	stem, ok := strings.CutSuffix(noun, "y")
	if ok && !strings.ContainsAny(stem[len(stem)-1:], "aeiou") {
		return stem + "ies"
	}
	return noun + "s"
}

// OneLine makes a text one line without deceptive characters.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case Deceptive(r):
			return -1
		}
		return r
	}, s)
}

var markdown = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "@", "&#64;")

// Markdown makes a text one line, and escapes what has a meaning in Markdown.
func Markdown(s string) string { return markdown.Replace(OneLine(s)) }

// Deceptive reports whether a terminal or browser would act on the character, or show others
// in another order. These are control and format characters, and bytes that are not UTF-8.
// They come from mail, and get into texts of errors and names of files.
func Deceptive(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf) || r == unicode.ReplacementChar
}
