package mail

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime/quotedprintable"
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
			t.Errorf("part %d (%s, encoding %d) holds %d bytes, its range of the raw message %d others", i, p.Name, p.Encoding, len(got), len(want))
		}
	}
}

// undone undoes an encoding by other means than the package.
func undone(t *testing.T, b []byte, e Encoding) []byte {
	t.Helper()
	var err error
	switch e {
	case Base64:
		b = bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("\r"), nil), []byte("\n"), nil)
		b, err = base64.StdEncoding.AppendDecode(nil, b)
	case QuotedPrintable:
		b, err = io.ReadAll(quotedprintable.NewReader(bytes.NewReader(b)))
	}
	if err != nil {
		t.Errorf("decoding a range: %v", err)
	}
	return b
}
