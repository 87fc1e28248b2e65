package imports

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// statement adds the patterns of a statement. The error says why there are none.
func (im *importer) statement(st cql.Statement) error {
	if st.Kind != cql.Batch && !im.own(st.Table) {
		return fmt.Errorf("it is of keyspace %s", st.Table.Keyspace)
	}
	if st.Kind == cql.Truncate && im.tables[st.Table.Name] != nil {
		return nil
	}
	p, err := im.patternOf(st, readNotes(st.Comments, false))
	if err == nil {
		im.res.Read = append(im.res.Read, Statement{st, p})
	}
	return err
}

// patternOf adds the patterns of a statement, and returns that of the whole.
func (im *importer) patternOf(st cql.Statement, n notes) (*schemas.Pattern, error) {
	if st.Kind == cql.Batch {
		return im.batch(st, n)
	}
	patterns, err := im.patterns(st)
	if err != nil {
		return nil, err
	}
	placed(patterns, st.Pos)
	if slices.ContainsFunc(patterns, func(p *schemas.Pattern) bool { return im.shapes[p.Shape()] == nil }) {
		if err := im.refused([]*schemas.Table{patterns[0].Table}, patterns...); err != nil {
			return nil, err
		}
	}
	im.res.Statements++
	if len(patterns) == 1 {
		return im.add(patterns[0], n), nil
	}
	whole := &schemas.Pattern{Kind: schemas.Batch, Atomic: schemas.AtomicRow, Imported: at(st.Pos)}
	for _, p := range patterns {
		part := notes{}
		if n.name != "" {
			part.name = n.name + "_" + p.Kind.String()
			if p.Static {
				part.name = n.name + "_static"
			}
		}
		if p.Static || patterns[0].Static {
			whole.Atomic = schemas.AtomicPartition
		}
		whole.Parts = append(whole.Parts, schemas.Part{Pattern: im.add(unconditional(p, whole), part)})
	}
	return im.add(whole, n), nil
}

// patterns returns those of a statement that is no batch. They have no names yet.
func (im *importer) patterns(st cql.Statement) ([]*schemas.Pattern, error) {
	t := im.tables[st.Table.Name]
	if t == nil {
		return nil, fmt.Errorf("there is no table %s", st.Table.Name)
	}
	if st.Kind != cql.Select {
		all, err := im.writes(t, st)
		if err == nil {
			asides(all, t, st)
		}
		return all, err
	}
	p, err := im.read(t, st)
	if err == nil {
		asides([]*schemas.Pattern{p}, t, st)
	}
	return []*schemas.Pattern{p}, err
}

// asides notes what rules must know of a statement beside its call: the literals that name its
// partition, whether it is an UPDATE, and columns to which an INSERT gives null.
func asides(all []*schemas.Pattern, t *schemas.Table, st cql.Statement) {
	var fixed, null []string
	for _, c := range t.Partition {
		if text := valueOf(st, c.Name); text != "" && text != "?" && text[0] != ':' {
			fixed = append(fixed, c.Name+" = "+text)
		}
	}
	for i, name := range st.Columns {
		if i < len(st.Values) && strings.EqualFold(st.Values[i].Text, "null") {
			null = append(null, name)
		}
	}
	for _, p := range all {
		if len(fixed) == len(t.Partition) {
			other(p, "fixed", strings.Join(fixed, " and "))
		}
		if st.Kind == cql.Update && p.Kind == schemas.Put && !p.Static {
			other(p, "update", "true")
		}
		other(p, "null", strings.Join(null, ", "))
	}
}

// placed gives patterns the place of their statement, and names for a check.
func placed(patterns []*schemas.Pattern, pos lexer.Position) []*schemas.Pattern {
	for i, p := range patterns {
		p.Imported = at(pos)
		p.Name = fmt.Sprintf("p%d", i)
	}
	return patterns
}

// unconditional makes a put of a conditional one: a part of a batch has no condition, the batch
// carries it.
func unconditional(p, whole *schemas.Pattern) *schemas.Pattern {
	if p.Kind != schemas.PutIf {
		return p
	}
	text := "not exists"
	switch {
	case p.Present:
		text = "exists"
	case !p.Absent:
		text = ""
		for i, c := range p.If {
			if i > 0 {
				text += " and "
			}
			text += c.Name + " = ?"
		}
	}
	other(whole, "if", text)
	p.Kind, p.If, p.Absent, p.Present = schemas.Put, nil, false, false
	return p
}

// add adds a pattern, and returns the equal one that is there already, if there is one. Patterns that
// the sources name differently are different.
func (im *importer) add(p *schemas.Pattern, n notes) *schemas.Pattern {
	p.Name = ""
	shape := p.Shape()
	there := im.shapes[shape]
	if there == nil {
		there = im.page(p, n)
		im.shapes[shape] = there
	}
	if there != nil && (n.name == "" || n.name == there.Name || !im.named[there.Name]) {
		if n.name != "" && n.name != there.Name && !im.taken(n.name) {
			delete(im.named, there.Name)
			clear(im.numbers)
			there.Name = n.name
			im.named[n.name] = true
		}
		there.Doc = cmp.Or(there.Doc, n.doc)
		there.Other = slices.DeleteFunc(there.Other, func(s schemas.Setting) bool {
			return s.Aside() && !slices.Contains(p.Other, s)
		})
		for _, a := range n.accept {
			if !slices.ContainsFunc(there.Accept, func(b schemas.Acceptance) bool { return a.Rule == b.Rule }) {
				there.Accept = append(there.Accept, a)
			}
		}
		return there
	}
	p.Name = im.free(cmp.Or(n.name, nameOf(p)))
	if p.Kind == schemas.Batch {
		im.holds(p)
	}
	im.named[p.Name] = n.name != ""
	p.Doc, p.Accept = n.doc, n.accept
	im.shapes[shape] = p
	if p.Kind == schemas.Slice && (p.Limit > 0 || p.LimitArg) {
		first := firstPage(p)
		im.pages[first] = append(im.pages[first], p)
	}
	im.schema.Patterns = append(im.schema.Patterns, p)
	return p
}

// holds makes a batch one of separate parts if the language does not have it as it is.
func (im *importer) holds(whole *schemas.Pattern) {
	var tables []*schemas.Table
	var patterns []*schemas.Pattern
	for _, part := range whole.Parts {
		patterns = append(patterns, part.Pattern)
		if !slices.Contains(tables, part.Pattern.Table) {
			tables = append(tables, part.Pattern.Table)
		}
	}
	if err := im.refused(tables, append(patterns, whole)...); err != nil {
		other(whole, "atomic", whole.Atomic.String()+": "+err.Error())
		whole.Atomic = schemas.AtomicNone
	}
}

// page finds the pattern of which p is the first page, or the next one: it has after and all else is
// equal. It is then the pattern of both.
func (im *importer) page(p *schemas.Pattern, n notes) *schemas.Pattern {
	if p.Kind != schemas.Slice {
		return nil
	}
	for _, q := range im.pages[firstPage(p)] {
		apart := n.name != "" && n.name != q.Name && im.named[q.Name]
		if apart || len(p.After) > 0 && len(q.After) > 0 && !slices.Equal(p.After, q.After) {
			continue
		}
		if len(q.After) == 0 {
			q.After = p.After
		}
		im.shapes[q.Shape()] = q
		return q
	}
	return nil
}

// firstPage is the shape of the first page of a slice.
func firstPage(p *schemas.Pattern) string {
	first := *p
	first.After = nil
	return first.Shape()
}

// batch adds a batch with its parts.
func (im *importer) batch(st cql.Statement, n notes) (*schemas.Pattern, error) {
	whole := &schemas.Pattern{Kind: schemas.Batch, Imported: at(st.Pos)}
	var parts []*schemas.Pattern
	var tables []*schemas.Table
	for _, part := range st.Parts {
		if !im.own(part.Table) {
			return nil, fmt.Errorf("a part is of keyspace %s", part.Table.Keyspace)
		}
		patterns, err := im.patterns(part)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", part.Pos.Line, err)
		}
		for _, p := range placed(patterns, part.Pos) {
			parts = append(parts, unconditional(p, whole))
			if !slices.Contains(tables, p.Table) {
				tables = append(tables, p.Table)
			}
		}
	}
	if len(parts) == 0 {
		return nil, errors.New("it has no parts")
	}
	for i, p := range parts {
		p.Name = fmt.Sprintf("p%d", i)
	}
	if err := im.refused(tables, parts...); err != nil {
		return nil, err
	}
	whole.Atomic = atomicity(st, parts)
	if st.Batch == "unlogged" && whole.Atomic == schemas.AtomicNone {
		hint(parts[0].Table, "batches", "unlogged")
	}
	if st.Batch == "counter" {
		other(whole, "batch", "counter")
	}
	for _, u := range st.Using {
		other(whole, u.Name, u.Value.Text)
	}
	im.res.Statements++
	for _, p := range parts {
		added := im.add(p, notes{})
		at := slices.IndexFunc(whole.Parts, func(part schemas.Part) bool { return part.Pattern == added })
		if at < 0 {
			whole.Parts = append(whole.Parts, schemas.Part{Pattern: added})
		} else {
			whole.Parts[at].Each = "row"
		}
	}
	if len(parts) == 2 && len(whole.Parts) == 1 && !n.many {
		other(whole, "rows", "2") // these two, and no list
	}
	return im.add(whole, n), nil
}

// atomicity is that of a batch: its parts are in one partition if they are in one table, or tables
// nested in it, and name the same values for its key.
func atomicity(st cql.Statement, parts []*schemas.Pattern) schemas.Atomicity {
	if slices.ContainsFunc(parts, func(p *schemas.Pattern) bool { return p.Table.Root() != parts[0].Table.Root() }) ||
		!sameKey(st.Parts, parts[0].Table) {
		if st.Batch == "logged" {
			return schemas.AtomicAll
		}
		return schemas.AtomicNone
	}
	return schemas.AtomicPartition
}

// sameKey reports whether statements give equal texts for the partition key of a table. Two
// question marks can be different values.
func sameKey(parts []cql.Statement, t *schemas.Table) bool {
	for _, c := range t.Partition {
		var first string
		for i, part := range parts {
			text := valueOf(part, c.Name)
			if text == "" || text == "?" && len(parts) > 1 || i > 0 && text != first {
				return false
			}
			first = text
		}
	}
	return true
}

// valueOf returns the value that a write gives a column of the key, as the text has it.
func valueOf(st cql.Statement, column string) string {
	if i := slices.Index(st.Columns, column); i >= 0 {
		return st.Values[i].Text
	}
	for _, r := range st.Where {
		if r.Op == "=" && len(r.Columns) == 1 && r.Columns[0] == column && !r.Within {
			return r.Terms[0].Text
		}
	}
	return ""
}
