package schemas

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// lines moves the columns and indexes of an imported table to their lines in the file of at, mostly that of the table.
func (p *parser) lines(t *Table, f section) {
	if t.Imported != nil {
		for _, c := range slices.Concat(t.OwnKey(), t.Static, t.Columns) {
			c.Pos = *t.Imported
		}
		for _, x := range t.Indexes {
			x.Pos = *t.Imported
		}
	}
	if !p.Check(!f.has("lines") || t.Imported != nil, f.key("lines"),
		"lines of %s needs at, the file that they are of", f.where) {
		return
	}
	for _, s := range f.entries("lines") {
		pos := Pos{Line: p.Count(s.Value, s.Name+" in lines of "+f.where), Column: 1, File: t.Imported.File}
		if x := t.Index(s.Name); x != nil && t.Column(s.Name) == nil {
			x.Pos = pos
		} else if c := pick(p, s.Key, "column", s.Name, "in lines of "+f.where, t.All()); c != nil {
			c.Pos = pos
		}
	}
}

// unreadAt is the name of a setting of a schema that is a statement which could not be read.
var unreadAt = regexp.MustCompile(`^(.+):(\d+)(?: \(\d+\))?$`)

// AddUnread notes a statement that could not be imported, with its place. The reason is the first line of
// the text.
func (s *Schema) AddUnread(pos Pos, reason, text string) {
	name := fmt.Sprintf("%s:%d", pos.File, pos.Line)
	n := 1
	for _, o := range s.Other {
		if o.Name == name || strings.HasPrefix(o.Name, name+" (") {
			n++
		}
	}
	if n > 1 {
		name = fmt.Sprintf("%s (%d)", name, n)
	}
	s.Other = append(s.Other, Setting{Name: name, Text: reason + "\n" + strings.Join(strings.Fields(text), " ")})
}

// Unread returns the place of a statement that could not be imported; ok is false for any other setting.
func (s Setting) Unread() (pos Pos, ok bool) {
	m := unreadAt.FindStringSubmatch(s.Name)
	if m == nil {
		return pos, false
	}
	line, err := strconv.Atoi(m[2])
	return Pos{File: m[1], Line: line, Column: 1}, err == nil
}

// Aside reports whether a clause of an imported pattern only says more of its statement: "fixed" are the
// literals that name its partition, "update" says that it is an UPDATE, "seed" that it is an INSERT of literals in a
// file of tables, and "allow filtering: false" that it does not have the clause that its filter needs. The call is the
// same without.
func (s Setting) Aside() bool {
	return s.Name == "fixed" || s.Name == "update" || s.Name == "seed" || s == Setting{"allow filtering", "false"}
}

// Seed reports whether a pattern is no access of an application: it writes one row, which is in a file of tables.
func (p *Pattern) Seed() bool { return Carried(p.Other, "seed") != "" }

// formatLines are the lines of columns and indexes that are not that of their imported table, or nil.
func formatLines(t *Table) *yaml.Node {
	var lines []any
	add := func(name string, pos Pos) {
		if t.Imported != nil && pos.File == t.Imported.File && pos.Line != t.Imported.Line {
			lines = append(lines, name, pos.Line)
		}
	}
	for _, c := range slices.Concat(t.OwnKey(), t.Static, t.Columns) {
		add(c.Name, c.Pos)
	}
	for _, x := range t.Indexes {
		if t.Column(x.Name) == nil {
			add(x.Name, x.Pos)
		}
	}
	return flow(lines...)
}

// CassandraOnly names the first thing in a schema that no engine but Cassandra has, or "".
func (s *Schema) CassandraOnly() string {
	for _, t := range s.Tables {
		for _, c := range t.All() {
			if c.Type.cassandraOnly() {
				return "column " + c.Name + " of table " + t.Name + " is " + c.Type.String() + " of CQL"
			}
		}
	}
	for _, p := range s.Patterns {
		if why := p.CassandraOnly(); why != "" {
			return "pattern " + p.Name + " " + why
		}
	}
	return ""
}

func (t Type) cassandraOnly() bool {
	return t.Foreign != "" || t.Key != nil && t.Key.cassandraOnly() || t.Elem != nil && t.Elem.cassandraOnly()
}

// CassandraOnly says why no engine but Cassandra could run a pattern, whatever the types, or "".
func (p *Pattern) CassandraOnly() string {
	clause := slices.IndexFunc(p.Other, func(s Setting) bool { return !s.Aside() })
	switch {
	case p.Imported == nil:
		return ""
	case clause >= 0:
		return "has clauses of CQL: " + p.Other[clause].Name + " " + p.Other[clause].Text
	case p.Present:
		return "writes only if the row is there"
	case p.Kind == Slice && p.In != nil && p.In.Role == Partition:
		return "reads several partitions"
	case p.Static && !p.Kind.Reads() && p.Kind != Put:
		return "adds to static columns, or removes from them"
	}
	for _, c := range p.Filter {
		if c.Role != Plain || c.Type.Collection() {
			return "filters by " + c.Name + ", " + describe(c)
		}
	}
	for _, c := range p.Columns {
		if (p.Kind == Append || p.Kind == Remove) && c.Type.Kind != List {
			return "changes elements of " + c.Name + ", " + describe(c)
		}
	}
	return ""
}
