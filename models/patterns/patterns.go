// Package patterns makes a model of any schema, so that a run measures a keyspace that is not for mail.
//
//   - The operations of the run are the schema's access patterns, by name (workloads.Patterns). The mailbox is a
//     models.Runner: it fills in the arguments of a pattern before the clock starts, and runs it.
//   - The load's message n is row n of every table: a delivery writes it with patterns that this package adds.
//   - A value is a function of seed, column and row number (values.go), so an argument names rows that exist.
//   - Runner, report, sweeps and thresholds know no keyspaces: to them a pattern is an operation like any other.
//   - The tables have the schema's types, those that only CQL has as the nearest one, so that each engine has them.
package patterns

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
)

// Keyspace is a schema that can be run.
type Keyspace struct {
	// Schema has the tables and patterns of the run, and the patterns that load rows.
	Schema *schemas.Schema
	// Patterns are the operations, in the order of the file.
	Patterns []*schemas.Pattern
	// Notes say what the run leaves out or stores in another way.
	Notes []string
	// Rows is how many rows the largest table has at the start: as the schema says, or DefaultRows for a table of which
	// it does not say how many.
	Rows int

	declared *schemas.Schema // as the file has it
	most     int             // rows of its largest table
}

// Rows and partitions that tables have if the schema does not say.
const (
	DefaultRows       = 10_000
	DefaultPartitions = 100
	mostRows          = 1_000_000 // a forecast may be for more than a test can load
)

// Beginnings of the names of patterns that load rows and static columns. No declared pattern has such a name.
const (
	load       = "load:"
	loadStatic = "load-static:"
)

// Whole is the name of the pattern that reads a whole partition of a table.
func Whole(table string) string { return "partition_" + strings.ReplaceAll(table, ".", "_") }

// Of returns the keyspace of a schema.
func Of(s *schemas.Schema) (*Keyspace, error) {
	own, err := schemas.ParseStored(s.File, s.Source)
	if err != nil {
		return nil, err
	}
	if len(s.Tables) == 0 {
		return nil, fmt.Errorf("%s has no table; expected tables: {orders: {partition: [customer uuid]}}", s.File)
	}
	k := &Keyspace{Schema: own, declared: s}
	for _, t := range s.Tables {
		if !t.Header() {
			k.most = max(k.most, cmp.Or(countOf(t), DefaultRows))
		}
	}
	k.Rows = min(k.most, mostRows)
	k.plain(own)
	k.Patterns = slices.Clone(own.Patterns)
	if len(k.Patterns) == 0 {
		t := s.Tables[0]
		add := "{get: " + t.Name + "}"
		if len(t.Clustering) > 0 {
			add = fmt.Sprintf("{slice: %s, by: [%s], limit: arg}", t.Name, strings.Join(schemas.Names(t.Partition), ", "))
		}
		return nil, fmt.Errorf("%s: schema %s has no access pattern that can run; add patterns: {read: %s}, or import the "+
			"statements with schema import --queries FILE", t.Pos.In(s.File), s.Name, add)
	}
	for _, t := range own.Tables {
		if !t.Header() {
			t.Rows = k.table(t, k.most).rows()
			k.add(t)
		}
	}
	return k, nil
}

// countOf is how many rows a table has at the start, or 0: the schema does not say.
func countOf(t *schemas.Table) (n int) {
	for _, r := range growing(t) {
		n += r.Growth.Count * max(1, r.Times)
	}
	return n
}

// Model returns the model of the keyspace.
func (k *Keyspace) Model() models.Model {
	return models.Model{
		Name: k.Schema.Name, Doc: "the access patterns of " + k.Schema.File, Bind: k.bind,
		Schema: func() (*schemas.Schema, error) { return k.Schema, nil },
	}
}

// plain takes what only CQL has out of a schema, and what is of no use to a run.
func (k *Keyspace) plain(s *schemas.Schema) {
	s.Other, s.Types, s.Workflow, s.Additions = nil, nil, nil, nil
	var types []string
	for _, t := range s.Tables {
		for _, c := range slices.Concat(t.Key(), t.Static, t.Columns) {
			if is := near(c.Type); is.String() != c.Type.String() {
				types = append(types, fmt.Sprintf("%s as %s", c.Type, is))
				c.Type = is
			}
		}
		t.Indexes = slices.DeleteFunc(t.Indexes, func(x *schemas.Index) bool {
			odd := slices.ContainsFunc(x.Columns, func(c schemas.IndexColumn) bool {
				return c.Column.Role == schemas.Static || c.Column.Type.Collection()
			})
			if odd {
				k.note("index %s of %s is left out: it is over a collection or a static column", x.Name, t.Name)
			}
			return odd
		})
		t.Other, t.Accept, t.Imported, t.Refers, t.Counts, t.Rows = nil, nil, nil, nil, nil, nil
	}
	if len(types) > 0 {
		slices.Sort(types)
		k.note("types of CQL are stored as the nearest type: %s", strings.Join(slices.Compact(types), ", "))
	}
	left := map[*schemas.Pattern]bool{}
	for _, p := range s.Patterns {
		p.Other = slices.DeleteFunc(p.Other, func(o schemas.Setting) bool { return o.Name == "ttl" })
		why := p.CassandraOnly()
		gone := slices.IndexFunc(p.Parts, func(part schemas.Part) bool { return left[part.Pattern] })
		switch {
		case why != "":
		case p.Index != nil && !slices.Contains(p.Table.Indexes, p.Index):
			why = "reads through an index that is left out"
		case gone >= 0:
			why = "has " + p.Parts[gone].Pattern.Name
		}
		if left[p] = why != ""; left[p] {
			k.note("pattern %s is not measured: it %s", p.Name, why)
		}
		p.Other, p.Accept, p.Imported = nil, nil, nil
		if left[p.Fallback] {
			p.Fallback = nil
		}
	}
	s.Patterns = slices.DeleteFunc(s.Patterns, func(p *schemas.Pattern) bool { return left[p] })
}

func (k *Keyspace) note(format string, args ...any) {
	k.Notes = append(k.Notes, fmt.Sprintf(format, args...))
}

// near is the type nearest to one that only CQL has.
func near(t schemas.Type) schemas.Type {
	switch {
	case t.Foreign == "float" || t.Foreign == "double":
		return schemas.Type{Kind: schemas.Bigint}
	case t.Foreign != "":
		return schemas.Type{Kind: cmp.Or(t.Kind, schemas.Blob)}
	}
	for _, of := range []**schemas.Type{&t.Key, &t.Elem} {
		if *of != nil {
			is := near(**of)
			*of = &is
		}
	}
	return t
}

// add adds the patterns that load the rows of a table, and read a whole partition.
func (k *Keyspace) add(t *schemas.Table) {
	add := func(name string, p schemas.Pattern) {
		p.Name, p.Table = name, t
		if k.Schema.Pattern(name) == nil {
			k.Schema.Patterns = append(k.Schema.Patterns, &p)
		}
	}
	kind := schemas.Put
	if slices.ContainsFunc(t.Columns, func(c *schemas.Column) bool { return c.Type.Kind == schemas.Counter }) {
		kind = schemas.Add
	}
	add(load+t.Name, schemas.Pattern{Kind: kind, By: t.Key(), Columns: t.Columns})
	if len(t.Static) > 0 {
		add(loadStatic+t.Name, schemas.Pattern{Kind: schemas.Put, By: t.Partition, Columns: t.Static, Static: true})
	}
	if len(t.Clustering) > 0 {
		whole := slices.Concat(t.Partition, t.Clustering, t.Static, t.Columns)
		add(Whole(t.Name), schemas.Pattern{Kind: schemas.Slice, By: t.Partition, Columns: whole})
	}
}
