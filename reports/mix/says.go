package mix

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
)

// leads reports whether no row has less: it is the best, or differs from it by less than a tenth.
func leads(v *trials.Value) bool { return v.Best || v.Same }

// asks are the counted figures by which all rows can be compared.
func (m *Mix) asks() []*Line {
	var all []*Line
	for i := range m.Lines {
		l := &m.Lines[i]
		if l.Ranked && l.Figure.Counted() && !slices.ContainsFunc(l.Values, func(v trials.Value) bool { return !v.Known }) {
			all = append(all, l)
		}
	}
	return all
}

// tells reports whether a row is behind the best by more than chance.
func (l *Line) tells() bool {
	return slices.ContainsFunc(l.Values, func(v trials.Value) bool { return v.Known && !leads(&v) && !v.Unsure })
}

// Leaders are the rows that ask least of the engine: in each counted figure no row has less, as far as
// that can be told, and in one a row has more. There may be none.
func (m *Mix) Leaders() []int {
	asks := m.asks()
	if !slices.ContainsFunc(asks, (*Line).tells) {
		return nil
	}
	var all []int
	for i := range m.Rows {
		if !slices.ContainsFunc(asks, func(l *Line) bool { return !leads(&l.Values[i]) && !l.Values[i].Unsure }) {
			all = append(all, i)
		}
	}
	return all
}

// Says are sentences about the mix that follow from its figures.
func (m *Mix) Says() []string {
	if len(m.Rows) < 2 {
		return []string{"There is one model, and nothing to compare it with."}
	}
	said := []string{m.saysAsks()}
	for _, s := range []string{m.saysTimes(), m.saysStored()} {
		if s != "" {
			said = append(said, s)
		}
	}
	return said
}

func (m *Mix) saysAsks() string {
	asks, leaders := m.asks(), m.Leaders()
	switch {
	case len(asks) == 0:
		return "Nothing that the models ask of the engine can be compared."
	case !slices.ContainsFunc(asks, (*Line).tells):
		if slices.ContainsFunc(asks, func(l *Line) bool {
			return slices.ContainsFunc(l.Values, func(v trials.Value) bool { return v.Unsure })
		}) {
			return "Which model asks least of the engine cannot be told: the differences are within chance."
		}
		return "These models ask alike of the engine: they differ by less than a tenth."
	case len(leaders) == 0:
		var parts []string
		for _, l := range asks {
			if l.tells() {
				parts = append(parts, "fewest "+l.Figure.Name()+": "+m.lead(l))
			}
		}
		return "No model asks least of the engine in all: " + strings.Join(parts, "; ") + "."
	case len(leaders) > 1:
		return joined(m.names(leaders), "and") + " ask least of the engine; between them nothing differs that can be told."
	}
	var parts, unsure []string
	who := leaders[0]
	for _, l := range asks {
		v := &l.Values[who]
		switch {
		case v.Unsure || slices.ContainsFunc(l.Values, func(v trials.Value) bool { return v.Unsure }):
			unsure = append(unsure, l.Figure.Name())
		case l.tells():
			parts = append(parts, l.Figure.Name()+m.beside(l))
		}
	}
	s := m.Rows[who].Name + " asks least of the engine"
	if len(parts) > 0 {
		s += ": " + strings.Join(parts, "; ")
	}
	if len(unsure) > 0 {
		s += "; of " + strings.Join(unsure, ", ") + " it cannot be told"
	}
	return s + "."
}

// lead names the rows that no row is better than, and how they compare with the next.
func (m *Mix) lead(l *Line) string {
	var first, open []int
	for i := range l.Values {
		switch v := &l.Values[i]; {
		case !v.Known:
		case leads(v):
			first = append(first, i)
		case v.Unsure:
			open = append(open, i)
		}
	}
	if len(open) > 0 {
		return joined(append(m.names(first), m.names(open)...), "or")
	}
	return joined(m.names(first), "and") + m.beside(l)
}

// beside says how the rows that no row is better than compare with the next.
func (m *Mix) beside(l *Line) string {
	next, best := -1, 0.0
	for i := range l.Values {
		switch v := &l.Values[i]; {
		case !v.Known:
		case leads(v):
			best = max(best, v.Median)
		case next < 0 || v.Median < l.Values[next].Median:
			next = i
		}
	}
	if next < 0 {
		return ""
	}
	return fmt.Sprintf(" (%s × the next, %s)", share(best/l.Values[next].Median), m.Rows[next].Name)
}

// share writes a part of 1 with two digits that count.
func share(v float64) string {
	if v < 0.01 {
		return "<0.01"
	}
	if v < 0.1 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 2, 64), "0")
}

func (m *Mix) names(rows []int) (names []string) {
	for _, i := range rows {
		names = append(names, m.Rows[i].Name)
	}
	return names
}

// joined writes a list with a word before its last part.
func joined(parts []string, word string) string {
	if n := len(parts) - 1; n > 0 {
		return strings.Join(parts[:n], ", ") + " " + word + " " + parts[n]
	}
	return strings.Join(parts, "")
}

// saysApart says which rows have which durability.
func (m *Mix) saysApart() string {
	var order []string
	who := map[string][]string{}
	for _, r := range m.Rows {
		if who[r.Durability] == nil {
			order = append(order, r.Durability)
		}
		who[r.Durability] = append(who[r.Durability], r.Name)
	}
	for i, d := range order {
		order[i] = d + " (" + strings.Join(who[d], ", ") + ")"
	}
	return "Times are ranked within a durability only: " + joined(order, "and") + "."
}

// saysTimes says which row is fastest. Times of rows that differ in durability are not ranked together.
func (m *Mix) saysTimes() string {
	if m.Apart() {
		return m.saysApart()
	}
	var parts []string
	for _, f := range []results.Figure{results.P50, results.P99} {
		if l := m.Line(f); l != nil && l.Ranked && l.tells() {
			parts = append(parts, m.lead(l)+" at "+string(f))
		}
	}
	if len(parts) > 0 {
		return "Fastest: " + strings.Join(parts, ", ") + "."
	}
	switch l := m.Line(results.P50); {
	case l != nil && l.Ranked:
		return "Which model is fastest cannot be told."
	case !slices.ContainsFunc(m.Rows, func(r Row) bool { return r.OK }):
		return "No times are compared: no verdict is ok."
	}
	return "No times are compared: too few are the engine's alone."
}

func (m *Mix) saysStored() string {
	l := m.Line(results.Stored)
	if l == nil || !l.Ranked || !l.tells() {
		return ""
	}
	s := "Least stored: " + m.lead(l)
	for i := range l.Values {
		if l.Values[i].Best && m.Rows[i].Mail > 0 {
			s += fmt.Sprintf(", %s a message, %s × its size as mail", l.Figure.Text(l.Values[i].Median), share(m.Rows[i].Mail))
		}
	}
	return s + "."
}
