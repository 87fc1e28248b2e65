package imports

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// statement adds the patterns of a statement. The error says why there are none.
func (im *importer) statement(st cql.Statement) error {
	if st.Kind == cql.Truncate && im.own(st.Table) && im.tables[st.Table.Name] != nil {
		return nil
	}
	p, err := im.patternOf(st, im.readNotes(st.Pos, st.Comments, false))
	if err == nil {
		im.res.Read = append(im.res.Read, Statement{st, p})
	}
	return err
}

// patternOf adds the patterns of a statement, and returns that of the whole. One that is several patterns is a
// batch of them.
func (im *importer) patternOf(st cql.Statement, n notes) (*schemas.Pattern, error) {
	statements := st.Parts
	if st.Kind != cql.Batch {
		statements = []cql.Statement{st}
	}
	whole := &schemas.Pattern{Kind: schemas.Batch, Imported: at(st.Pos)}
	var parts []*schemas.Pattern
	known := true
	for _, part := range statements {
		patterns, err := im.patterns(part)
		if err != nil && st.Kind == cql.Batch {
			return nil, fmt.Errorf("line %d: %w", part.Pos.Line, err)
		} else if err != nil {
			return nil, err
		}
		for _, p := range patterns {
			if st.Kind == cql.Batch || len(patterns) > 1 {
				unconditional(p, whole)
			}
			known = known && im.shapes[p.Shape()] != nil
			p.Imported, p.Name = at(part.Pos), fmt.Sprintf("p%d", len(parts))
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return nil, errors.New("it has no parts")
	}
	if !known {
		if err := im.refused(nil, parts...); err != nil {
			return nil, err
		}
	}
	im.res.Statements++
	if st.Kind != cql.Batch && len(parts) == 1 {
		return im.add(parts[0], n), nil
	}
	for _, p := range parts {
		im.part(whole, p, st, n)
	}
	if st.Kind == cql.Batch {
		im.batch(whole, parts, st, n)
	}
	return im.add(whole, n), nil
}

// part adds a pattern to a batch. A part of one statement has the name of the statement, and its kind.
func (im *importer) part(whole, p *schemas.Pattern, st cql.Statement, n notes) {
	own := notes{}
	if st.Kind != cql.Batch && n.name != "" {
		if own.name = n.name + "_" + p.Kind.String(); p.Static {
			own.name = n.name + "_static"
		}
	}
	if whole.Atomic = max(whole.Atomic, schemas.AtomicRow); p.Static {
		whole.Atomic = schemas.AtomicPartition
	}
	added := im.add(p, own)
	if at := slices.IndexFunc(whole.Parts, func(part schemas.Part) bool { return part.Pattern == added }); at >= 0 {
		whole.Parts[at].Each = "row"
		return
	}
	whole.Parts = append(whole.Parts, schemas.Part{Pattern: added})
}

// patterns returns those of a statement that is no batch. They have no names yet.
func (im *importer) patterns(st cql.Statement) ([]*schemas.Pattern, error) {
	t := im.tables[st.Table.Name]
	switch {
	case !im.own(st.Table):
		return nil, fmt.Errorf("it is of keyspace %s", st.Table.Keyspace)
	case t == nil:
		return nil, fmt.Errorf("there is no table %s", st.Table.Name)
	}
	if why := refused(t, st); why != "" {
		return nil, errors.New(why)
	}
	var all []*schemas.Pattern
	if st.Kind == cql.Select {
		all = append(all, read(t, st))
	} else {
		all = writes(t, st)
	}
	asides(all, t, st)
	return all, nil
}

// asides notes what rules must know of a statement in addition to its call: the literals that name its
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

// unconditional makes a put of a conditional one: a part of a batch has no condition, the batch
// carries it.
func unconditional(p, whole *schemas.Pattern) {
	if p.Kind != schemas.PutIf {
		return
	}
	text := strings.Join(schemas.Names(p.If), " = ? and ") + " = ?"
	switch {
	case p.Present:
		text = "exists"
	case p.Absent:
		text = "not exists"
	}
	other(whole, "if", text)
	p.Kind, p.If, p.Absent, p.Present = schemas.Put, nil, false, false
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
	patterns := []*schemas.Pattern{whole}
	for _, part := range whole.Parts {
		patterns = append(patterns, part.Pattern)
	}
	if err := im.refused(nil, patterns...); err != nil {
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

// batch sets what a BATCH says of its parts.
func (im *importer) batch(whole *schemas.Pattern, parts []*schemas.Pattern, st cql.Statement, n notes) {
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
	if len(parts) == 2 && len(whole.Parts) == 1 && !n.many {
		other(whole, "rows", "2") // these two, and no list
	}
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
