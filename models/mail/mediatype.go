package mail

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
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
	repaired bool // an extended parameter has errors
	repeated bool // a parameter has two values
}

const token = "[!#$%&'*+\\-.^_`{|}~0-9A-Za-z]+"

var (
	// wordForm is the word, which may be a media type.
	wordForm = regexp.MustCompile(`^(` + token + `)(?:\s*(/)\s*(` + token + `))?\s*`)
	// parameterForm is the beginning of a parameter: a name, and its value if that has quotation marks, of which the
	// second may be missing.
	parameterForm = regexp.MustCompile(`(?s)(?:^|[;\s])\s*(` + token + `)\s*=\s*(?:"((?:\\["\\]|[^"])*)"?)?`)
	// escapes are those of a quoted value. A backslash before others is a literal: Windows writes folders of files.
	escapes = strings.NewReplacer(`\"`, `"`, `\\`, `\`)
)

// maxStructured is how many bytes of a value are read.
const maxStructured = 8 << 10

// parseStructured reads a value without comments as its writer meant it: what no RFC allows, and mail has, is read,
// too, such as values without quotation marks, missing semicolons and encoded words.
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
	v.parameters(strings.TrimLeft(s, " \t\r\n;:,\""))
	return v
}

// parameters reads the parameters in s. A value without quotation marks ends at a semicolon, or where another
// parameter begins.
func (v *structured) parameters(s string) {
	found := append(parameterForm.FindAllStringSubmatchIndex(s, -1), []int{len(s)})
	inPieces := map[string]bool{}
	for i, m := range found[:len(found)-1] {
		text, _, _ := strings.Cut(s[m[1]:found[i+1][0]], ";")
		if text = strings.TrimSpace(text); m[4] >= 0 {
			text = escapes.Replace(s[m[4]:m[5]])
		}
		name := strings.ToLower(s[m[2]:m[3]])
		base, piece, ok := strings.Cut(name, "*")
		if ok && piece == "" {
			name += "0*" // the only piece
		}
		if old, twice := v.params[name]; !twice {
			v.params[name] = text
			inPieces[base] = inPieces[base] || ok
		} else if !strings.EqualFold(old, text) {
			v.repeated = true
		}
	}
	for name, is := range inPieces {
		if text, ok := v.extended(name); is && ok {
			v.params[name] = text
		}
	}
}

// extended joins the pieces of a parameter, and decodes them (RFC 2231).
func (v *structured) extended(name string) (text string, ok bool) {
	charset := ""
	for n := 0; ; n++ {
		key := name + "*" + strconv.Itoa(n)
		piece, plain := v.params[key]
		if !plain {
			if piece, ok = v.params[key+"*"]; !ok {
				break
			}
			if parts := strings.SplitN(piece, "'", 3); n == 0 && len(parts) == 3 {
				charset, piece = parts[0], parts[2]
			} else if n == 0 {
				v.repaired = true
			}
			if decoded, err := url.PathUnescape(piece); err == nil {
				piece = decoded
			} else {
				v.repaired = true
			}
		}
		text += piece
	}
	if e, err := htmlindex.Get(charset); err == nil { // else it stays as it is
		if decoded, err := e.NewDecoder().String(text); err == nil {
			text = decoded
		}
	}
	return text, text != ""
}
