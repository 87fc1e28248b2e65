package words

import (
	"slices"
	"strings"
	"testing"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Duration(0), "0ns"},
		{Duration(999.4), "999ns"},
		{Duration(999.6), "1.00µs"},
		{Duration(12_345), "12.3µs"},
		{Duration(999_499), "999µs"},
		{Duration(999_600), "1.00ms"},
		{Duration(123.4e6), "123ms"},
		{Duration(93.4e9), "93.4s"},
		{Size(0), "0B"},
		{Size(0.5), "0.50B"},
		{Size(999), "999B"},
		{Size(1000), "1.00KB"},
		{Size(24_072), "24.1KB"},
		{Size(25.3e9), "25.3GB"},
		{Size(5e12), "5.00TB"},
		{Size(2.5e15), "2.50PB"},
		{Amount(3), "3"},
		{Amount(2.04), "2.04"},
		{Amount(12_300), "12.3k"},
		{Amount(4.5e6), "4.50M"},
		{Thousands(999), "999"},
		{Thousands(1000), "1,000"},
		{Thousands(int64(1_234_567)), "1,234,567"},
		{Plural(1, "user"), "1 user"},
		{Plural(int64(0), "user"), "0 users"},
		{Plural(2, "process"), "2 processes"},
		{Plural(2, "query"), "2 queries"},
		{Plural(2, "delay"), "2 delays"},
		{Plural(2, "batch"), "2 batches"},
		{Clock(59.9), "00:59"},
		{Clock(3723), "1:02:03"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got := OneLine("a\x00b\r\nc\td\xff\u200be"); got != "ab c de" {
		t.Errorf("OneLine = %q", got)
	}
}

// Every line but that of a word which is too long has at most the given width.
func TestWrap(t *testing.T) {
	const text = " größere Teile\nstehen in unaussprechlichen Zeilen "
	for _, c := range []struct {
		lead          string
		indent, width int
		want          []string
	}{
		{"", 0, 0, []string{"größere Teile stehen in unaussprechlichen Zeilen"}},
		{"Do: ", 2, 17, []string{"Do: größere Teile", "  stehen in", "  unaussprechlichen", "  Zeilen"}},
		{"Do: ", 2, 16, []string{"Do: größere", "  Teile stehen", "  in", "  unaussprechlichen", "  Zeilen"}},
	} {
		if got := Wrap(c.lead, text, c.indent, c.width); !slices.Equal(got, c.want) {
			t.Errorf("in %d columns: %q, want %q", c.width, got, c.want)
		}
	}
	if got := Wrap("head  ", "", 4, 20); !slices.Equal(got, []string{"head"}) {
		t.Errorf("no text: %q", got)
	}
}

// A table that is too wide has its last column in several lines, and nothing is lost.
func TestTable(t *testing.T) {
	rows := [][]string{
		{"MODEL", "WHAT IT IS"},
		{"james", "a row a message, newest first; größere Teile apart"},
		{"long", strings.Repeat("x", 30)},
	}
	long := strings.Repeat("x", 30)
	whole := `MODEL  WHAT IT IS
james  a row a message, newest first; größere Teile apart
long   ` + long + "\n"
	for width, want := range map[int]string{
		0: whole, 100: whole,
		32: `MODEL  WHAT IT IS
james  a row a message, newest
       first; größere Teile
       apart
long   ` + long + "\n",
		26: `MODEL
    WHAT IT IS
james
    a row a message,
    newest first; größere
    Teile apart
long
    ` + long + "\n",
	} {
		if got := Table(rows, 2, width); got != want {
			t.Errorf("in %d columns:\n%swant\n%s", width, got, want)
		}
	}
	numbers := Table([][]string{{"TABLE", "EACH", "ROWS"}, {"größte (warned of)"}, {"mail", "user", "12"}, {"box", "", "4,000"}}, 2, 10)
	if want := "TABLE  EACH   ROWS\ngrößte (warned of)\nmail   user     12\nbox          4,000\n"; numbers != want {
		t.Errorf("numbers:\n%swant\n%s", numbers, want)
	}
}
