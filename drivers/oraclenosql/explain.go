package oraclenosql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

var (
	_ drivers.Explainer = (*statement)(nil)
	_ drivers.Planner   = (*statement)(nil)
)

// Explain implements drivers.Explainer.
func (st *statement) Explain() ([]string, error) {
	switch p := st.Pattern(); st.action {
	case doBatch:
		return st.explainBatch()
	case doGet:
		return append(st.explainList(), fmt.Sprintf("Get %s {%s}", st.table.full, st.keyNames())+st.each()), nil
	case doPut:
		return []string{st.explainPut("Put")}, nil
	case doPutAbsent:
		return []string{st.explainPut("Put IfAbsent")}, nil
	case doDelete:
		text := fmt.Sprintf("Delete %s {%s}", st.table.full, st.keyNames())
		if st.Pattern().Present {
			text += ", if it is there"
		}
		return []string{text}, nil
	case doDeleteAll:
		lines := []string{fmt.Sprintf("MultiDelete %s {%s}, until it is done", st.table.full, st.keyNames())}
		if st.also != nil {
			lines = append(lines, fmt.Sprintf("Delete %s {%s}", st.also.full, st.keyNames()))
		}
		return lines, nil
	case doUpdate:
		lines := []string{st.queries[0].text + ";"}
		if p.Kind != schemas.Remove {
			lines = append(lines, st.explainPut("Put IfAbsent")+"  -- if there was no row to update")
		}
		return lines, nil
	}
	return st.explainQueries(), nil
}

func (st *statement) explainQueries() []string {
	lines := st.explainList()
	for with, q := range st.queries {
		if q == nil {
			continue
		}
		line := q.text + ";" + st.each()
		if q.note != "" {
			line += "  -- " + q.note
		}
		if words := st.given(with); words != "" {
			line += "  -- " + words
		}
		lines = append(lines, line)
	}
	return lines
}

// given says for which calls one of several queries is sent.
func (st *statement) given(with int) string {
	p := st.Pattern()
	var words []string
	if st.action == doUpdateIf {
		for i, c := range p.If {
			if with>>i&1 != 0 {
				words = append(words, c.Name)
			}
		}
		if len(words) > 0 {
			return "if null is expected of " + strings.Join(words, ", ")
		}
		return ""
	}
	for i, word := range []string{"from", "to", "after"} {
		if with>>i&1 != 0 {
			words = append(words, word)
		}
	}
	if len(words) > 0 {
		return "with " + strings.Join(words, ", ")
	}
	return ""
}

// explainList explains how the rows of several keys are read.
func (st *statement) explainList() []string {
	if st.inList == nil {
		return nil
	}
	return []string{
		fmt.Sprintf("%s;  -- for %d of %s at a time", st.inList.text, mostListed, st.Pattern().In.Name),
		st.partition.text + ";  -- the first time below " + names(st.table.shardKey()),
	}
}

// each says that a request is sent for each element of a list.
func (st *statement) each() string {
	p := st.Pattern()
	switch {
	case p.In == nil:
		return ""
	case st.inList != nil:
		return "  -- for a single " + p.In.Name
	case p.Parallel > 1:
		return fmt.Sprintf("  -- for each %s, %d at a time", p.In.Name, p.Parallel)
	}
	return "  -- for each " + p.In.Name
}

func (st *statement) keyNames() string { return fieldNames(st.key) }

func fieldNames(fs []field) string {
	var ids []string
	for _, f := range fs {
		ids = append(ids, f.name)
	}
	return strings.Join(ids, ", ")
}

func (st *statement) explainPut(verb string) string {
	if st.table.putsJSON() {
		verb += " of JSON"
	}
	return fmt.Sprintf("%s %s {%s}", verb, st.table.full, fieldNames(slices.Concat(st.key, st.write)))
}

func (st *statement) explainBatch() ([]string, error) {
	lines := []string{"each part by itself:"}
	if p := st.Pattern(); p.Atomic != schemas.AtomicNone {
		lines[0] = "one WriteMultiple, of rows of one shard key:"
		if st.reads {
			lines[0] = "the rows are read, then one WriteMultiple, of rows of one shard key, if none has changed meanwhile:"
		}
	}
	parts, err := drivers.ExplainParts(st.Pattern(), st.parts)
	for _, part := range parts {
		lines = append(lines, part...)
	}
	return lines, err
}
