package pebble

import (
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/drivers/render"
	"github.com/mailbench/mailbench/schemas"
)

// Explain implements drivers.Explainer. It returns the keys for example arguments.
func (st *statement) Explain() ([]string, error) {
	p := st.Pattern()
	if p.Kind == schemas.Batch {
		return drivers.ExplainParts("one atomic batch of:", p, st.parts)
	}
	args := drivers.Example(p)
	var element *drivers.Value
	if st.Layout.In >= 0 {
		element = &args[st.Layout.In].Elems()[0]
	}
	var b plan.Range
	if err := b.Set(&st.Plan, st.path.cols, st.fixed(nil, args, element), args, p.Reverse); err != nil {
		return nil, st.Named(err)
	}
	line := st.verb() + fmt.Sprintf(" key %x", b.Lower)
	if p.Kind == schemas.Slice || p.Kind == schemas.Scan || p.Kind == schemas.Delete && p.Scope != schemas.ScopeRow {
		line = st.verb() + fmt.Sprintf(" keys %x ≤ key < %x", b.Lower, b.Upper)
	}
	if p.Reverse {
		line += ", from the last"
	}
	if element != nil {
		line += ", for each element"
	}
	lines := []string{line, "  that is " + drivers.InWords(p)}
	if st.changesIndex {
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
	case st.readsRow || st.changesIndex:
		return "lock the row, read and set"
	case st.putsWholeRow:
		return "set"
	}
	return "merge into"
}

var _ drivers.Tracer = (*Store)(nil)

// Traced implements drivers.Tracer. The work of calls is in the statistics of iterators, requests and rows are in the
// session's meter. A Get of Pebble has no statistics.
func (s *Store) Traced() (drivers.TracedSession, error) {
	se, err := s.Session()
	if err != nil {
		return nil, err
	}
	t, idle := se.(*session), drivers.Unreported
	idle.Requests, idle.Rows, idle.Hidden, idle.Blocks = 0, 0, 0, 0
	t.Trace(idle, true)
	return t, nil
}

// trace counts, in a traced session, what an iterator read that stopped at so many keys.
func (s *session) trace(stats pebble.IteratorStats, seen int) {
	s.Did(func(w *drivers.Work) {
		w.Blocks += int64(stats.InternalStats.BlockBytes)
		// In a reverse read Pebble also passes the key before the one that it returns.
		w.Hidden += max(0, int64(stats.InternalStats.PointCount)-int64(seen))
	})
}

// renderKeys writes the keys under which the rows of a schema are stored. Pebble has no
// statements that create tables: it is an ordered map of bytes, and the layout is the driver's.
func renderKeys(s *schemas.Schema, _ drivers.Options) (string, error) {
	own := stored(s)
	store, err := offline(own)
	if err != nil {
		return "", err
	}
	t := render.New("#")
	t.Head(s,
		fmt.Sprintf("Pebble has no tables and no statements that create them. These are the keys under which the embedded "+
			"engine keeps the schema %s if it is the first in its folder. A number of two bytes begins every key: its key space.",
			s.Name))
	for _, as := range own.Tables {
		if as.Header() {
			continue
		}
		t.Table(s.Table(as.Name))
		table, err := store.tables.Find(schemas.ScanOf(as))
		if err != nil {
			return "", err
		}
		table.render(t, as.Indexes)
		for _, x := range s.Table(as.Name).Indexes {
			if !keeps(x) {
				t.Comment(fmt.Sprintf("Index %s is left out: the engine keeps none over static columns, collections and counters.", x.Name))
			}
		}
	}
	return t.String(), nil
}

func (tb *table) render(t *render.Text, indexes []*schemas.Index) {
	line := func(what string, space uint16, cols keys.Columns, rest, value string) {
		var key []string
		for _, c := range cols {
			word := tb.column(c).Name + " " + c.Kind.String()
			if c.Desc {
				word += " desc"
			}
			key = append(key, word)
		}
		t.Statement(fmt.Sprintf("%5d  %-7s  %s%s → %s", space, what, strings.Join(key, ", "), rest, value))
	}
	family := func(what string, f family) {
		line(what, f.space, f.cols, "", f.names(false))
		if f.collections > 0 {
			line("cells", f.cells, f.cols, ", column, element", "an element of "+f.names(true))
		}
	}
	family("rows", tb.rows)
	if len(tb.statics.columns) > 0 {
		family("statics", tb.statics)
	}
	for _, x := range indexes {
		if p := tb.index(x.Name); p != nil {
			line("index", p.space, p.cols, "", "nothing ("+x.Name+")")
		}
	}
}

// names returns the names of the columns that are collections, or of the others.
func (f family) names(collections bool) string {
	var names []string
	for _, c := range f.columns {
		if c.Type.Collection() == collections {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
