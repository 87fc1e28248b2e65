package mail

import (
	"io"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// withoutComments replaces each comment (RFC 5322) by a blank. One that does not end is no comment.
func withoutComments(s string) string {
	if !strings.Contains(s, "(") {
		return s
	}
	b := make([]byte, 0, len(s))
	quoted, depth, began := false, 0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && (quoted || depth > 0):
			if depth == 0 {
				b = append(b, s[i:min(i+2, len(s))]...)
			}
			i++
			continue
		case c == '"' && depth == 0:
			quoted = !quoted
		case c == '(' && !quoted:
			if depth++; depth == 1 {
				began = i
				b = append(b, ' ')
			}
		case c == ')' && depth > 0:
			depth--
			continue
		}
		if depth == 0 {
			b = append(b, s[i])
		}
	}
	if depth > 0 {
		b = append(b[:len(b)-1], s[began:]...)
	}
	return string(b)
}

// structured is the value of a field such as Content-Type: a word, and parameters.
type structured struct {
	word     string // in lower case
	params   map[string]string
	repaired bool // it has errors
	repeated bool // a parameter has two values
}

const tokens = "!#$%&'*+-.^_`{|}~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// token divides s after its first characters of a token.
func token(s string) (t, rest string) {
	rest = strings.TrimLeft(s, tokens)
	return s[:len(s)-len(rest)], rest
}

func blanks(s string) string { return strings.TrimLeft(s, " \t\r\n") }

// parseStructured reads a value as its writer meant it: what no RFC allows, and mail has, is read,
// too, such as values without quotation marks, missing semicolons and encoded words.
func parseStructured(value string) structured {
	v := structured{params: map[string]string{}}
	s := strings.TrimSpace(withoutComments(value))
	if strings.HasPrefix(s, "=?") {
		if d, err := encodedWords.DecodeHeader(s); err == nil {
			s, v.repaired = d, true
		}
	}
	if t := strings.TrimLeft(s, "\" \t"); t != s {
		s, v.repaired = t, true
	}
	kind, rest := token(s)
	if main, sub := blanks(rest), ""; kind != "" && strings.HasPrefix(main, "/") {
		if sub, main = token(blanks(main[1:])); sub != "" {
			kind, rest = kind+"/"+sub, main
		}
	}
	if strings.HasPrefix(blanks(rest), "=") {
		kind, rest = "", s // a parameter, and no word before it
	}
	v.word = strings.ToLower(kind)
	if end := blanks(rest); v.word == "" || end != "" && end[0] != ';' {
		v.repaired = true
	}
	rest = strings.TrimLeft(rest, " \t\r\n;:,\"")
	extended := map[string]bool{}
	for len(rest) > 0 && len(v.params) < maxParams {
		var name, text string
		name, rest = token(rest)
		name = strings.ToLower(name)
		after := blanks(rest)
		if name == "" || !strings.HasPrefix(after, "=") {
			v.repaired = true
			_, rest, _ = strings.Cut(rest, ";")
			rest = strings.TrimLeft(rest, " \t\r\n;")
			continue
		}
		var bad bool
		text, rest, bad = parameter(blanks(after[1:]))
		v.repaired = v.repaired || bad
		rest = strings.TrimLeft(rest, " \t\r\n;")
		if old, twice := v.params[name]; !twice {
			v.params[name] = text
			if base, _, ok := strings.Cut(name, "*"); ok {
				extended[base] = true
			}
		} else if !strings.EqualFold(old, text) {
			v.repeated = true
		}
	}
	for name := range extended {
		if text, ok := v.extended(name); ok {
			v.params[name] = text
		}
	}
	return v
}

// maxParams bounds the parameters of a field, which has up to maxField bytes.
const maxParams = 1000

// parameter reads a value up to its semicolon. Without quotation marks it may have any characters;
// a blank with a name and = after it ends it, too, as a semicolon is missing there.
func parameter(s string) (value, rest string, repaired bool) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexByte(s, ';')
		if end < 0 {
			end = len(s)
		}
		value, rest = s[:end], s[end:]
		for i, c := range value {
			if c != ' ' && c != '\t' {
				continue
			}
			if name, after := token(blanks(value[i:])); name != "" && strings.HasPrefix(after, "=") {
				value, rest = s[:i], s[i:]
				break
			}
		}
		value = strings.TrimRight(value, " \t\r\n")
		_, odd := token(value)
		return value, rest, odd != "" || value == "" || rest != "" && rest[0] != ';'
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			rest = blanks(s[i+1:])
			return b.String(), rest, rest != "" && rest[0] != ';'
		case c == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			// A backslash before anything else is a literal: Windows writes folders of files.
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), "", true
}

// extended joins the pieces of a parameter, and decodes them (RFC 2231).
func (v *structured) extended(name string) (string, bool) {
	if text, ok := v.params[name+"*"]; ok {
		charset, encoded, ok := cutCharset(text)
		if !ok {
			v.repaired = true
		}
		return v.percent(encoded, charset), true
	}
	var raw strings.Builder
	charset, n := "", 0
	for ; ; n++ {
		key := name + "*" + strconv.Itoa(n)
		text, ok := v.params[key]
		if !ok {
			if text, ok = v.params[key+"*"]; !ok {
				break
			}
			if n == 0 {
				charset, text, _ = cutCharset(text)
			}
			text = v.percent(text, "")
		}
		raw.WriteString(text)
	}
	return decoded2231(raw.String(), charset), n > 0
}

// cutCharset divides charset'language'text.
func cutCharset(s string) (charset, text string, ok bool) {
	charset, rest, ok := strings.Cut(s, "'")
	if !ok {
		return "", s, false
	}
	_, text, ok = strings.Cut(rest, "'")
	if !ok {
		return "", s, false
	}
	return charset, text, true
}

func (v *structured) percent(s, charset string) string {
	text, err := url.PathUnescape(s)
	if err != nil {
		v.repaired = true
		return s
	}
	return decoded2231(text, charset)
}

// decoded2231 is text of a charset in UTF-8, or as it is if the charset is not known.
func decoded2231(s, charset string) string {
	if charset == "" || utf8.ValidString(s) && strings.EqualFold(charset, "utf-8") {
		return s
	}
	r, err := encodedWords.CharsetReader(charset, strings.NewReader(s))
	if err != nil {
		return s
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return s
	}
	return string(b)
}
