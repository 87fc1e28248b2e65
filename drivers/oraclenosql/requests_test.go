package oraclenosql

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

func asked(t testing.TB) *schemas.Schema {
	t.Helper()
	src, err := os.ReadFile("testdata/requests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := schemas.Parse("requests.yaml", src)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRequests pins the requests of every kind of pattern, with example arguments: what a
// server gets where rows are there, and where there are none.
func TestRequests(t *testing.T) {
	s := asked(t)
	p := newProxy(t)
	st := p.store(t, s, nil)
	se, err := st.Session()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, pattern := range s.Patterns {
		stmt, err := st.Prepare(t.Context(), pattern)
		if err != nil {
			t.Fatal(err)
		}
		p.take()
		if err := runExample(t, se, stmt); err != nil {
			t.Fatalf("%s: %v", pattern.Name, err)
		}
		if stmt.(*statement).inList != nil {
			if err := read(t, se, stmt, severalKeys(pattern)); err != nil {
				t.Fatalf("%s: %v", pattern.Name, err)
			}
		}
		emulated := ""
		if stmt.Emulates() != nil {
			emulated = ", emulated"
		}
		fmt.Fprintf(&text, "%s (%s%s)\n", pattern.Name, pattern.Kind, emulated)
		for _, line := range p.take() {
			fmt.Fprintf(&text, "  %s\n", line)
		}
	}
	const golden = "testdata/requests.txt"
	if *update {
		err = os.WriteFile(golden, []byte(text.String()), 0o644)
	}
	want, rerr := os.ReadFile(golden)
	if err := errors.Join(err, rerr); err != nil {
		t.Fatal(err)
	}
	if string(want) != text.String() {
		t.Errorf("requests differ from %s; -update writes it anew:\n%s", golden, text.String())
	}
}

// runExample runs a statement with example arguments.
func runExample(t testing.TB, se drivers.Session, stmt drivers.Statement) error {
	t.Helper()
	p := stmt.Pattern()
	switch {
	case p.Kind == schemas.Batch:
		var calls []drivers.Call
		for i, part := range p.Parts {
			calls = append(calls, drivers.Call{Part: i, Args: drivers.Example(part.Pattern)})
		}
		return se.Batch(t.Context(), stmt, calls)
	case p.Kind.Reads():
		if len(p.After) == 0 {
			return read(t, se, stmt, drivers.Example(p))
		}
		if err := read(t, se, stmt, drivers.Example(p)); err != nil { // the first page
			return err
		}
		args, at := drivers.Example(p), p.ArgLayout().After
		for i, c := range p.After {
			args[at+i] = drivers.Example(&schemas.Pattern{Kind: schemas.Get, By: []*schemas.Column{c}})[0]
		}
		return read(t, se, stmt, args)
	}
	_, err := se.Write(t.Context(), stmt, drivers.Example(p))
	return err
}

// severalKeys returns example arguments with two keys in the list, one of them twice.
func severalKeys(p *schemas.Pattern) []drivers.Value {
	args, at := drivers.Example(p), p.ArgLayout().In
	one := args[at].Elems()[0]
	other := drivers.Int(2)
	if one.Kind() == schemas.TimeUUID {
		other = drivers.TimeUUID([16]byte{5: 9, 6: 0x10, 8: 0x80})
	}
	args[at] = drivers.ListOf([]drivers.Value{one, other, one})
	return args
}

func read(t testing.TB, se drivers.Session, stmt drivers.Statement, args []drivers.Value) error {
	t.Helper()
	return se.Read(t.Context(), stmt, args, func([]drivers.Value) error { return nil })
}
