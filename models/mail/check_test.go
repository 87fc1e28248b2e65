package mail

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// check holds a message to the rules of Message.
func check(t *testing.T, m *Message) {
	t.Helper()
	raw, err := AppendContent(nil, m.Raw)
	if err != nil {
		t.Fatalf("raw: %v", err)
	}
	texts := map[string]string{"subject": m.Subject, "message id": m.MessageID}
	for _, a := range append(append(append([]Address{m.From}, m.To...), m.Cc...), m.Bcc...) {
		texts["name "+a.Name], texts["address "+a.Address] = a.Name, a.Address
	}
	for what, s := range texts {
		if !utf8.ValidString(s) || strings.Contains(s, "\x00") {
			t.Errorf("%s is %q", what, s)
		}
	}
	if !Bounded(m.Date).Equal(m.Date) {
		t.Errorf("the date is %v", m.Date)
	}
	names := map[string]bool{}
	end := int64(0)
	parts := append([]Part{m.Body}, m.Attachments...)
	for i := range parts {
		p := &parts[i]
		if i > 0 {
			if p.Name == "" || !utf8.ValidString(p.Name) || names[p.Name] {
				t.Errorf("name %q of attachment %d is empty, no text, or taken", p.Name, i)
			}
			names[p.Name] = true
		}
		if p.Offset < 0 || p.Length < 0 || p.Offset+p.Length > int64(len(raw)) {
			t.Fatalf("part %d is [%d, +%d) of %d bytes", i, p.Offset, p.Length, len(raw))
		}
		if i > 1 && p.Offset < end {
			t.Errorf("attachment %d begins at %d, within the one before", i, p.Offset)
		}
		if i > 0 {
			end = p.Offset + p.Length
		}
		got, err := AppendContent(nil, p.Content)
		if err != nil {
			t.Fatalf("part %d: %v", i, err)
		}
		if want := undone(t, raw[p.Offset:p.Offset+p.Length], p.Encoding); !bytes.Equal(got, want) {
			t.Errorf("part %d (%s, encoding %d) holds %d bytes, its range of the raw message %d others", i, p.Name, p.Encoding,
				len(got), len(want))
		}
	}
}

// undone undoes an encoding by other means than the package.
func undone(t *testing.T, b []byte, e Encoding) []byte {
	t.Helper()
	switch e {
	case Base64:
		decoded, err := undoBase64(b)
		if err != nil {
			t.Errorf("decoding a range: %v", err)
		}
		return decoded
	case QuotedPrintable:
		return undoQuotedPrintable(b)
	}
	return b
}

// undoBase64 decodes each stretch of letters between padding by itself. After padding, a byte that
// is no base64 ends it.
func undoBase64(b []byte) (out []byte, err error) {
	var stretch []byte
	padded := false
	flush := func() {
		if padded && len(stretch)%4 == 1 {
			stretch = stretch[:len(stretch)-1]
		}
		decoded, failed := base64.RawStdEncoding.DecodeString(string(stretch))
		if failed != nil && err == nil {
			err = failed
		}
		out, stretch = append(out, decoded...), nil
	}
	for _, c := range b {
		switch {
		case c == '=':
			flush()
			padded = true
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '+', c == '/':
			stretch = append(stretch, c)
		case padded && !bytes.ContainsRune([]byte(" \t\r\n"), rune(c)):
			stretch = stretch[:len(stretch)/4*4]
			flush()
			return out, err
		}
	}
	flush()
	return out, err
}

// quoted matches what is not its own encoding: a code, a soft line break, and
// white space at the end of a line (its last group is the line break, which stays).
var quoted = regexp.MustCompile(`=([0-9A-Fa-f]{2})|=[ \t\r]*(?:\n|$)|[ \t\r]*?(\r?\n|$)`)

func undoQuotedPrintable(b []byte) []byte {
	var out []byte
	at := 0
	for _, m := range quoted.FindAllSubmatchIndex(b, -1) {
		out = append(out, b[at:m[0]]...)
		at = m[1]
		switch {
		case m[2] >= 0:
			code, _ := strconv.ParseUint(string(b[m[2]:m[3]]), 16, 8)
			out = append(out, byte(code))
		case m[4] >= 0:
			out = append(out, b[m[4]:m[5]]...)
		}
	}
	return append(out, b[at:]...)
}
