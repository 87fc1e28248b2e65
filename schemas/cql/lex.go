package cql

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind int

const (
	word   kind = iota // a name or keyword that is not quoted
	quoted             // "a name", with its case kept
	text               // 'a string' or $$a string$$
	number
	sign // one character of punctuation, or <=, >=, !=
	bad  // what no token begins with, or a quote that nothing closes

	comment // -- or //, to the end of the line
)

// A token is one word of CQL. Words are in lower case, as CQL compares them;
// strings and quoted names are without their quotes.
type token struct {
	kind kind
	text string
	line int
	at   int // where it begins in the source, in bytes
	end  int
}

func (t token) is(s string) bool { return (t.kind == word || t.kind == sign) && t.text == s }

// lex divides source into tokens and leaves out spaces and comments. notes are the
// comments that have a line of their own, by that line.
func lex(source string) (tokens []token, notes map[int]string) {
	notes = make(map[int]string)
	for at, line := 0, 1; at < len(source); {
		t := next(source[at:])
		t.line, t.at = line, at
		line += strings.Count(source[at:at+t.end], "\n")
		at += t.end
		t.end = at
		switch {
		case t.kind == comment && (len(tokens) == 0 || tokens[len(tokens)-1].line < t.line):
			notes[t.line] = strings.TrimSpace(strings.TrimLeft(t.text, "-/"))
		case t.kind != comment && (t.text != "" || t.kind == text || t.kind == bad):
			tokens = append(tokens, t)
		}
	}
	return tokens, notes
}

// next returns the first token of s; its end is its length. A space or a
// comment is a word without text.
func next(s string) token {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case unicode.IsSpace(r) || r == '\ufeff':
		return token{end: size}
	case strings.HasPrefix(s, "--"), strings.HasPrefix(s, "//"):
		line, _, _ := strings.Cut(s, "\n")
		return token{kind: comment, text: line, end: len(line)}
	case strings.HasPrefix(s, "/*"):
		return closed(s, "*/", word, func(string) string { return "" })
	case strings.HasPrefix(s, "$$"):
		return closed(s, "$$", text, func(in string) string { return in })
	case r == '\'':
		return quote(s, '\'', text)
	case r == '"':
		return quote(s, '"', quoted)
	case uuidForm.MatchString(s):
		return token{kind: number, text: s[:uuidLength], end: uuidLength}
	case r >= '0' && r <= '9':
		end := span(s, func(c byte) bool { return inWord(c) || c == '.' || c == '-' })
		return token{kind: number, text: s[:end], end: end}
	case r < utf8.RuneSelf && inWord(byte(r)):
		end := span(s, inWord)
		return token{kind: word, text: strings.ToLower(s[:end]), end: end}
	case strings.HasPrefix(s, "<="), strings.HasPrefix(s, ">="), strings.HasPrefix(s, "!="):
		return token{kind: sign, text: s[:2], end: 2}
	case strings.ContainsRune("(){}[]<>,;.:=?*+-/%", r):
		return token{kind: sign, text: s[:1], end: 1}
	}
	return token{kind: bad, text: s[:size], end: size}
}

// uuidForm finds a UUID at the beginning. Without it a UUID that begins with a letter would be a name.
var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b`)

const uuidLength = 36

func inWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func span(s string, in func(byte) bool) int {
	for i := range len(s) {
		if !in(s[i]) {
			return i
		}
	}
	return len(s)
}

// closed is a token between two marks of two characters.
func closed(s, end string, k kind, inner func(string) string) token {
	i := strings.Index(s[2:], end)
	if i < 0 {
		return token{kind: bad, text: s, end: len(s)}
	}
	return token{kind: k, text: inner(s[2 : 2+i]), end: i + 4}
}

// quote reads what stands between two quotes, where two quotes mean one.
func quote(s string, q byte, k kind) token {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] == q {
			if i+1 == len(s) || s[i+1] != q {
				return token{kind: k, text: b.String(), end: i + 1}
			}
			i++
		}
		b.WriteByte(s[i])
	}
	return token{kind: bad, text: s, end: len(s)}
}
