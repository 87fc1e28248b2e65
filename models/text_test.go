package models

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/mailbench/mailbench/models/mail"
)

// checkText encodes b after other bytes and gets it back in both ways.
func checkText(t interface {
	Helper()
	Fatalf(string, ...any)
}, b []byte,
) {
	t.Helper()
	const before = "before"
	text, err := EncodeText([]byte(before), mail.BytesContent(b))
	if err != nil {
		t.Fatalf("encode %q: %v", b, err)
	}
	if !bytes.HasPrefix(text, []byte(before)) {
		t.Fatalf("encode %q: what was there before is %q now", b, text[:len(before)])
	}
	if text = text[len(before):]; !utf8.Valid(text) {
		t.Fatalf("encode %q: %q is no text", b, text)
	}
	got, err := DecodeText([]byte(before), text)
	if err != nil || string(got) != before+string(b) {
		t.Fatalf("decode %q: %q, %v, want %q", text, got, err, b)
	}
	if n, err := TextLen(mail.BytesContent(b)); err != nil || n != int64(len(text)) {
		t.Fatalf("length of %q: %d, %v, want %d", b, n, err, len(text))
	}
	var w bytes.Buffer
	if n, err := WriteText(&w, text); err != nil || n != int64(len(b)) || !bytes.Equal(w.Bytes(), b) {
		t.Fatalf("write %q: %d bytes %q, %v, want %q", text, n, w.Bytes(), err, b)
	}
}

var texts = [][]byte{
	nil, []byte("plain"), []byte("Grüße, 世界"),
	{0},
	{0xff},
	[]byte("\xc3"), []byte("\xed\xa0\x80"),
	[]byte(textMarker), []byte(textMarker + "YQ=="), []byte(textMarker + "not base64 at all"),
	[]byte(textMarker + textMarker), []byte(textMarker[:5]), []byte(" " + textMarker),
	bytes.Repeat([]byte{0xfe}, 767), bytes.Repeat([]byte{0xfe}, 768), bytes.Repeat([]byte{0xfe}, 769),
	bytes.Repeat([]byte("0123456789\xff"), 10_000),
	[]byte(strings.Repeat("世", 40_000)), []byte("x" + strings.Repeat("世", 40_000)), []byte("xy" + strings.Repeat("世", 40_000)),
	[]byte(strings.Repeat("世", 40_000) + "\xe4\xb8"), []byte(strings.Repeat("x", 32<<10-1) + "\xe4"),
	[]byte(strings.Repeat("x", 32<<10-1) + "\xe4x"), []byte(strings.Repeat("x", 32<<10) + textMarker),
}

func TestText(t *testing.T) {
	for _, b := range texts {
		checkText(t, b)
	}
	for _, plain := range []string{"", "plain", "Grüße", "=?base64"} {
		if text, _ := EncodeText(nil, mail.BytesContent(plain)); string(text) != plain {
			t.Errorf("%q is text and is kept as %q", plain, text)
		}
	}
	if _, err := DecodeText(nil, []byte(textMarker+"?")); err == nil {
		t.Error("what is no base64 behind the marker was decoded")
	}
}

func TestTextRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "bytes")
		if rapid.Bool().Draw(t, "marked") {
			b = append([]byte(textMarker), b...)
		}
		checkText(t, b)
	})
}

func FuzzText(f *testing.F) {
	for _, b := range texts {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		checkText(t, b)
		DecodeText(nil, b) // whatever is stored, it does not panic
	})
}

// shrinking is content that ends early when it is read again.
type shrinking struct {
	mail.Content
	reads int
}

func (s *shrinking) ReadAt(p []byte, off int64) (int, error) {
	if s.reads++; s.reads > 1 {
		return 0, io.EOF
	}
	return s.Content.ReadAt(p, off)
}

func TestEncodeTextThatEndsEarly(t *testing.T) {
	_, err := EncodeText(nil, &shrinking{Content: mail.BytesContent([]byte{0xff, 0xfe})})
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
}
