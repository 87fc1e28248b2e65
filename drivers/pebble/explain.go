package pebble

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// compiler compiles the patterns of a schema as if it were the first in its data folder.
func compiler(s *schemas.Schema, _ drivers.Options) (drivers.Compiler, error) {
	if err := drivers.Portable(s); err != nil {
		return nil, err
	}
	store := &Store{guarded: make(map[uint16]*atomic.Bool)}
	laid, space := make(map[*schemas.Table]*table), uint16(1)
	for _, as := range stored(s).Tables {
		t := s.Table(as.Name)
		tb, err := newTable(t, as, space)
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", s.Name, err)
		}
		tb.guarded = store.guard(tb)
		laid[t] = tb
		space += uint16(spacesOf(as))
	}
	store.tables.Add(s, laid)
	return func(p *schemas.Pattern) (drivers.Statement, error) {
		st, err := store.compile(p)
		if err != nil {
			return nil, fmt.Errorf("pattern %s: %w", p.Name, err)
		}
		return st, nil
	}, nil
}

// Explain implements drivers.Explainer. It returns the keys for example arguments.
func (st *statement) Explain() ([]string, error) {
	p := st.Pattern()
	if p.Kind == schemas.Batch {
		head := "each part by itself:"
		if p.Atomic != schemas.AtomicNone {
			head = "one atomic batch of:"
		}
		parts, err := drivers.ExplainParts(p, st.parts)
		return slices.Concat(append([][]string{{head}}, parts...)...), err
	}
	args := drivers.Example(p)
	var element *drivers.Value
	if st.Layout.In >= 0 {
		element = &args[st.Layout.In].Elems()[0]
	}
	var b bounds
	if err := b.set(st, args, element); err != nil {
		return nil, st.Named(err)
	}
	line := st.verb() + fmt.Sprintf(" key %x", b.lower)
	if p.Kind == schemas.Slice || p.Kind == schemas.Scan || p.Kind == schemas.Delete && p.Scope != schemas.ScopeRow {
		line = st.verb() + fmt.Sprintf(" keys %x ≤ key < %x", b.lower, b.upper)
	}
	if p.Reverse {
		line += ", from the last"
	}
	if element != nil {
		line += ", for each element"
	}
	lines := []string{line, "  that is " + drivers.InWords(p)}
	if st.tracks {
		lines = append(lines, "  the row is read first, and its entries in indexes over plain columns change with it")
	}
	if len(st.filters) > 0 {
		lines = append(lines, "  rows are compared after reading")
	}
	return lines, nil
}

func (st *statement) verb() string {
	switch p := st.Pattern(); {
	case p.Kind == schemas.Get:
		return "seek"
	case p.Kind.Reads():
		return "iterate"
	case p.Present && p.Kind == schemas.Delete:
		return "lock the row, and if it is there delete"
	case p.Kind == schemas.Delete:
		return "delete"
	case st.locks || st.tracks:
		return "lock the row, read and set"
	case st.replaces:
		return "set"
	}
	return "merge into"
}
