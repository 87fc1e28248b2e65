package mail

import (
	"regexp"
	"strings"
)

// withoutComments replaces each comment (RFC 5322) by a blank. One that does not end is no comment.
func withoutComments(s string) string {
	var b strings.Builder
	quoted, depth, kept := false, 0, 0 // kept: what is before is in b, or in a comment
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && (quoted || depth > 0):
			i++
		case c == '"' && depth == 0:
			quoted = !quoted
		case c == '(' && !quoted:
			if depth++; depth == 1 {
				b.WriteString(s[kept:i])
				kept = i
			}
		case c == ')' && depth > 0:
			if depth--; depth == 0 {
				b.WriteByte(' ')
				kept = i + 1
			}
		}
	}
	b.WriteString(s[kept:])
	return b.String()
}

// structured is the value of a field such as Content-Type: a word, and parameters.
type structured struct {
	word     string // in lower case
	params   map[string]string
	repeated bool // a parameter has two values
}

const token = "[!#$%&'*+\\-.^_`{|}~0-9A-Za-z]+"

var (
	// wordForm is the word, which may be a media type.
	wordForm = regexp.MustCompile(`^(` + token + `)(?:\s*(/)\s*(` + token + `))?\s*`)
	// escapes are those of a quoted value. A backslash before others is a literal: Windows writes folders of files.
	escapes = strings.NewReplacer(`\"`, `"`, `\\`, `\`)
)

// maxStructured is how many bytes of a value are read.
const maxStructured = 8 << 10

// parseStructured reads a value without comments as its writer meant it: what no RFC allows, and mail has, is read,
// too, such as values without quotation marks and encoded words.
func parseStructured(value string) structured {
	v, s := structured{params: map[string]string{}}, strings.TrimSpace(value)
	if strings.HasPrefix(s, "=?") {
		if d, err := encodedWords.DecodeHeader(s); err == nil {
			s = d
		}
	}
	s = strings.TrimLeft(s, "\" \t")
	// Before = is the name of a parameter, and no word before it.
	if m := wordForm.FindStringSubmatch(s); m != nil && !strings.HasPrefix(s[len(m[0]):], "=") {
		v.word, s = strings.ToLower(m[1]+m[2]+m[3]), s[len(m[0]):]
	}
	for parameter := range strings.SplitSeq(strings.TrimLeft(s, " \t\r\n;:,\""), ";") {
		name, text, _ := strings.Cut(parameter, "=")
		name, text = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(text)
		text = escapes.Replace(strings.TrimSuffix(strings.TrimPrefix(text, `"`), `"`))
		if old, twice := v.params[name]; !twice {
			v.params[name] = text
		} else if !strings.EqualFold(old, text) {
			v.repeated = true
		}
	}
	return v
}
