package screen

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// hostile is a text that a subject, a name or a comment may contain.
const hostile = "a\x1b]0;title\x07\x1b[31m\x00\r\x7f\u009b31m \u202egnp.exe\u2066 \u200b\u2028\U000e0041 é 日本 👍\tb\r\n"

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"lines\r\nand\ttabs\n":     "lines\nand\ttabs\n",
		"é 日本 👍":                   "é 日本 👍",
		"\x1b[31mred":              `\u001b[31mred`,
		"\r\x00\x7f\u009b":         `\u000d\u0000\u007f\u009b`,
		"a\u202egnp.exe\u2066":     `a\u202egnp.exe\u2066`,
		"\u2028\u200b\U000e0041":   `\u2028\u200b\udb40\udc41`,
		"not UTF-8: \x9b1m":        "not UTF-8: \uFFFD1m",
		"not UTF-8: \x9b and \x1b": "not UTF-8: \uFFFD and \\u001b",
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

// A text reaches the screen the same in one piece and in many, also if a character is cut.
func TestScreenInPieces(t *testing.T) {
	var whole, pieces bytes.Buffer
	if n, err := New(&whole).Write([]byte(hostile)); n != len(hostile) || err != nil {
		t.Errorf("%d of %d bytes, %v", n, len(hostile), err)
	}
	s := New(&pieces)
	// Not io.Copy, which would use a ReadFrom of s that it must not have either.
	if _, err := io.CopyBuffer(struct{ io.Writer }{s}, iotest.OneByteReader(strings.NewReader(hostile)), make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if whole.String() != pieces.String() || whole.String() != Printable(hostile) || strings.ContainsFunc(whole.String(), harmful) {
		t.Errorf("whole %q, in pieces %q", whole.String(), pieces.String())
	}
	if _, err := New(failing{}).Write([]byte("a")); err != io.ErrClosedPipe {
		t.Errorf("err = %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// FuzzScreen: nothing harmful comes through, and JSON means the same as before.
func FuzzScreen(f *testing.F) {
	f.Add(hostile)
	f.Add("\xe2\x80")
	f.Fuzz(func(t *testing.T, text string) {
		shown := Printable(text)
		if strings.ContainsFunc(shown, harmful) || !utf8.ValidString(shown) {
			t.Errorf("%q is shown as %q", text, shown)
		}
		b, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var before, after string
		if err := errors.Join(json.Unmarshal(b, &before), json.Unmarshal([]byte(Printable(string(b))), &after)); err != nil || before != after {
			t.Errorf("%q became %q in JSON, %v", before, after, err)
		}
	})
}
