package document

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// A long lead is wrapped as its text is.
func TestLongLead(t *testing.T) {
	var b strings.Builder
	s := Section{ID: "verdict"}
	s.Say(Plain, strings.Repeat("long ", 15)+"lead", "elasticinbox, james.")
	s.Note(Plain, strings.Repeat("long ", 15)+"lead", "elasticinbox, james.")
	if err := (Terminal{Width: 40}).Write(&b, &Document{Sections: []Section{s}}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if len(line) > 41 {
			t.Errorf("longer than 40: %q", line)
		}
	}
	if strings.Count(b.String(), "lead: elasticinbox,") != 2 {
		t.Errorf("got %q", b.String())
	}
}

// A text that a spreadsheet would run gets an apostrophe; numbers are as they are.
func TestCSV(t *testing.T) {
	table := &Table{Columns: []Column{{Left: true}, {Title: "a"}, {Title: "@b"}, {Title: "c", Unit: "ms"}, {Title: "d"}}}
	table.Add("", "=1+2", "-1", "-", Styled("+x\n", Best), "-0.05 (-0.10 to 0.01)")
	var b strings.Builder
	if err := WriteCSV(&b, &Document{Sections: []Section{{Title: "t", Table: table}}}); err != nil {
		t.Fatal(err)
	}
	const want = "table,group,row,column,unit,value,mark\nt,,'=1+2,a,,-1,\nt,,'=1+2,'@b,,-,\nt,,'=1+2,c,ms,'+x ,best\n" +
		"t,,'=1+2,d,,-0.05 (-0.10 to 0.01),\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// A screen that leaves out rows has room for the lines that name them, also if they are long.
func TestLongNamesLeftOut(t *testing.T) {
	table := &Table{Columns: []Column{{Left: true}}, Least: 3}
	for i := range 45 {
		table.Add("", fmt.Sprintf("an operation with a rather long name, the number %d", i))
	}
	var text bytes.Buffer
	if err := (Terminal{Width: 80}).Write(&text, &Document{Title: "many", Sections: []Section{{ID: "a", Table: table}}}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "\n"); n > longest || !strings.Contains(text.String(), "more with --full") {
		t.Errorf("%d lines:\n%s", n, text.String())
	}
}
