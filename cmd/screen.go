package cmd

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// screen is where every command prints. Subjects, names of folders and files, and an engine's
// texts about its tables come from strangers. A character in them that a terminal would act on,
// or that shows others in another order, is written as an escape, such as \u202e. In JSON the
// escape means the same character.
type screen struct {
	mu   sync.Mutex
	out  io.Writer
	rest []byte // the beginning of a character that the next Write completes
	err  error  // the last one of Write, which cobra's help drops
}

// Write implements io.Writer.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(s.rest, b...)
	whole := len(text) - begun(text)
	s.rest = append([]byte(nil), text[whole:]...)
	if _, s.err = io.WriteString(s.out, printable(string(text[:whole]))); s.err != nil {
		return 0, s.err
	}
	return len(b), nil
}

// begun is how many bytes at the end of text are the beginning of a character, or of a line's
// end (\r before \n).
func begun(text []byte) int {
	for n := 1; n <= min(len(text), utf8.UTFMax-1); n++ {
		if at := text[len(text)-n:]; utf8.RuneStart(at[0]) {
			if !utf8.FullRune(at) || n == 1 && at[0] == '\r' {
				return n
			}
			return 0
		}
	}
	return 0
}

// printable writes characters that a terminal must not get as escapes. Line feeds and tabs stay.
func printable(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if !strings.ContainsFunc(text, harmful) {
		return strings.ToValidUTF8(text, string(utf8.RuneError))
	}
	var b strings.Builder
	for _, r := range text {
		switch high, low := utf16.EncodeRune(r); {
		case !harmful(r):
			b.WriteRune(r)
		case high != utf8.RuneError:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// harmful reports whether a character is a control or format character (some of these change the
// direction of text), or a line or paragraph separator.
func harmful(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// redraw overwrites the line that the cursor is in.
func redraw(w io.Writer, line string) {
	if s, ok := w.(*screen); ok {
		w = s.out
	}
	fmt.Fprint(w, "\r\x1b[K", printable(line))
}

// style matches a terminal's sequence that begins or ends a colour or weight.
var style = regexp.MustCompile("\x1b\\[[0-9]{1,2}m")

// styled writes a text with the styles that it has. The caller makes sure that none of them comes
// from strangers.
func styled(w io.Writer, text string) error {
	if s, ok := w.(*screen); ok {
		w = s.out
	}
	var b strings.Builder
	for text != "" {
		at := style.FindStringIndex(text)
		if at == nil {
			at = []int{len(text), len(text)}
		}
		b.WriteString(printable(text[:at[0]]) + text[at[0]:at[1]])
		text = text[at[1]:]
	}
	_, err := io.WriteString(w, b.String())
	return err
}
