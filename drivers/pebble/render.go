package pebble

import (
	"fmt"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/render"
	"github.com/mailbench/mailbench/schemas"
)

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
		fmt.Sprintf("Pebble has no tables and no statements that make them. These are the keys under which the embedded "+
			"engine keeps the schema %s if it is the first in its folder. A number of two bytes begins every key: its key space.",
			s.Name))
	for _, as := range own.Tables {
		if as.Header() {
			continue
		}
		t.Table(s.Table(as.Name))
		_, table, err := store.tables.Find(schemas.ScanOf(as))
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
	line := func(what string, space uint16, cols []keyColumn, rest, value string) {
		var key []string
		for _, c := range cols {
			word := tb.column(c).Name + " " + c.kind.String()
			if c.desc {
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
		if p := tb.byIndex[x]; p != nil {
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
