// Package keyspace makes the run of a schema that is not for mail, and with --prove shows what lint predicts.
//
//   - The operations of the run are the schema's access patterns, by name (workloads.Patterns). The mailbox is a
//     models.Runner: it fills in the arguments of a pattern before the clock starts, and runs it.
//   - The load's message n is row n of every table: a delivery writes it with patterns that this package adds.
//   - A value is a function of seed, column and row number (values.go), so an argument names rows that exist.
//   - Runner, report, sweeps and thresholds know no keyspaces: to them a pattern is an operation like any other.
//   - The tables have the schema's types, those that only CQL has as the nearest one, so that each engine has them.
//   - The workload follows from the schema, unless there is a file. That of --prove shows findings of lint (prove.go).
package keyspace

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
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

	shapes map[*schemas.Table]shape
	most   uint64  // rows of the largest table, as the schema says
	probes []probe // findings of lint that a run could show
}

// Rows and partitions that tables have if the schema does not say.
const (
	DefaultRows       = 10_000
	DefaultPartitions = 100
)

// whole is the name of the pattern that reads a whole partition of a table.
func whole(table string) string { return "partition_" + strings.ReplaceAll(table, ".", "_") }

// Of makes a schema, which the caller no longer uses, the keyspace of a run.
func Of(s *schemas.Schema, engines []drivers.Engine) (*Keyspace, error) {
	report, err := lint.Check(s, lint.Options{AllowUnread: true, Facts: drivers.FactsOf(engines, s)})
	if err != nil {
		return nil, err
	}
	k := &Keyspace{Schema: s, shapes: map[*schemas.Table]shape{}}
	for _, t := range s.Tables {
		if k.shapes[t] = shapeOf(t); !t.Header() {
			k.most = max(k.most, cmp.Or(k.shapes[t].rows, DefaultRows))
		}
	}
	k.Rows = int(min(k.most, 1_000_000)) // a forecast may be for more than a test can load
	k.portable()
	if k.Patterns = slices.Clone(s.Patterns); len(k.Patterns) == 0 {
		t := s.Tables[0]
		return nil, fmt.Errorf("%s: schema %s has no access pattern that can run; add patterns: {read: {get: %s}}, or import the "+
			"statements with schema import --queries FILE", t.Pos.In(s.File), s.Name, t.Name)
	}
	add := func(p schemas.Pattern) {
		if s.Pattern(p.Name) == nil {
			s.Patterns = append(s.Patterns, &p)
		}
	}
	// Each table gets patterns that load its rows and static columns, and read a whole partition. No declared pattern has
	// a colon in its name.
	for _, t := range s.Tables {
		if t.Header() {
			continue
		}
		kind := schemas.Put
		if slices.ContainsFunc(t.Columns, func(c *schemas.Column) bool { return c.Type.Kind == schemas.Counter }) {
			kind = schemas.Add
		}
		add(schemas.Pattern{Name: "load:" + t.Name, Kind: kind, Table: t, By: t.Key(), Columns: t.Columns})
		if len(t.Static) > 0 {
			add(schemas.Pattern{
				Name: "load-static:" + t.Name, Kind: schemas.Put, Table: t, By: t.Partition, Columns: t.Static, Static: true,
			})
		}
		if len(t.Clustering) > 0 {
			add(schemas.Pattern{Name: whole(t.Name), Kind: schemas.Slice, Table: t, By: t.Partition, Columns: t.All()})
		}
	}
	k.note("%s rows; tables without rows in the schema have as many, %d partitions where rows share one (--set "+
		"population.rows=N changes the number, rows: [{each: NAME, count: N, …}] of a table its share)",
		words.Thousands(k.Rows), DefaultPartitions)
	k.probes = k.probesOf(report)
	return k, nil
}

// portable takes what only CQL has out of the schema, and what is of no use to a run.
func (k *Keyspace) portable() {
	s := k.Schema
	s.Other, s.Types, s.Workflow, s.Additions = nil, nil, nil, nil
	types := map[string]bool{}
	for _, t := range s.Tables {
		for _, c := range t.All() {
			if is := near(c.Type); is.String() != c.Type.String() {
				types[fmt.Sprintf("%s as %s", c.Type, is)] = true
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
		t.Other, t.Accept, t.Imported, t.Counts = nil, nil, nil, nil
	}
	if len(types) > 0 {
		k.note("types of CQL are stored as the nearest type: %s", strings.Join(slices.Sorted(maps.Keys(types)), ", "))
	}
	left := map[*schemas.Pattern]bool{}
	for _, p := range s.Patterns {
		p.Other = slices.DeleteFunc(p.Other, func(o schemas.Setting) bool { return o.Name == "ttl" })
		why := p.CassandraOnly()
		gone := slices.IndexFunc(p.Parts, func(part schemas.Part) bool { return left[part.Pattern] })
		switch {
		case why != "":
		case p.Seed():
			why = "inserts a fixed row, and its file has tables (statements of --queries are measured)"
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

// Operations are the workload's section patterns, for --set: the operations and, to prove findings, the reads of whole
// partitions.
func (k *Keyspace) Operations(prove bool) string {
	var names []string
	for _, p := range k.Schema.Patterns {
		if slices.Contains(k.Patterns, p) || prove && p.Name == whole(p.Table.Name) {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names) // their numbers are those of operations
	return "patterns=" + flow(names)
}

// flow writes mappings and lists in one line of YAML, of which JSON is a part.
func flow(v any) string {
	text, _ := json.Marshal(v) // of numbers and texts only
	return string(text)
}

//go:embed own.yaml
var ownText string

// Workload is the workload of a schema that has none: 80% reads and 20% writes, each evenly. Scans, which only audits
// need, are left out, and patterns that run as a part or fallback of others.
func (k *Keyspace) Workload() string {
	within := func(p *schemas.Pattern) bool {
		return slices.ContainsFunc(k.Patterns, func(o *schemas.Pattern) bool {
			return o.Fallback == p || slices.ContainsFunc(o.Parts, func(part schemas.Part) bool { return part.Pattern == p })
		})
	}
	mix := map[string]float64{}
	for reads, share := range map[bool]float64{true: 80, false: 20} {
		all := slices.DeleteFunc(slices.Clone(k.Patterns), func(p *schemas.Pattern) bool {
			return within(p) || p.Kind == schemas.Scan || p.Kind.Reads() != reads
		})
		for _, p := range all {
			mix[p.Name] = math.Round(100*share/float64(len(all))) / 100
		}
	}
	return strings.NewReplacer("NAME", k.Schema.Name, "ROWS", fmt.Sprint(k.Rows), "MIX", flow(mix)).Replace(ownText)
}

// Check returns an error if a workload, which is in a file, has patterns or values of columns that the schema does not
// have. A workload for mail has none of both. Without a schema, k is nil.
func (k *Keyspace) Check(w *workloads.Workload, file string) error {
	if k == nil && len(w.Patterns)+len(w.Values) > 0 {
		return fmt.Errorf("workload %s is for the access patterns of a schema; name its file with --schema FILE", w.Name)
	}
	for _, p := range w.Patterns {
		if k.Schema.Pattern(p) == nil {
			unknown := strict.Unknown("pattern", p, schemas.Names(k.Patterns)...)
			return fmt.Errorf("%s: schema %s: %w", file, k.Schema.File, unknown)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Values)) {
		at := strings.LastIndexByte(name, '.')
		where, t := w.Values[name].Pos.In(file), k.Schema.Table(name[:at])
		if t == nil {
			return fmt.Errorf("%s: values: %w", where, strict.Unknown("table", name[:at], schemas.Names(k.Schema.Tables)...))
		}
		switch c := t.Column(name[at+1:]); {
		case c == nil:
			known := schemas.Names(t.All())
			return fmt.Errorf("%s: values of table %s: %w", where, t.Name, strict.Unknown("column", name[at+1:], known...))
		case w.Values[name].Size != nil && !schemas.Sized(c):
			return fmt.Errorf("%s: values.%s has a size, and values of type %s have one size; leave it out, or set distinct",
				where, name, c.Type)
		}
	}
	return nil
}

// bound is the keyspace on a store.
type bound struct {
	*Keyspace
	tables     map[string]*table
	statements []drivers.Statement // of the operations; nil: the engine cannot run it
	count      uint64              // rows of the largest table after the load
	loaded     atomic.Uint64
	versions   atomic.Uint64 // of the values that an update writes: a new one for each call
}

// For returns the model for a workload whose largest table has so many rows after the load. Its schema has the rows
// that a forecast needs.
func (k *Keyspace) For(w *workloads.Workload, rows int) models.Model {
	schema := func() (*schemas.Schema, error) {
		for _, t := range k.tables(w, rows) {
			of := t.partitions
			if t.period > 0 {
				of *= max(1, uint64(t.at(t.count).Sub(epoch)/t.period))
			}
			r := &schemas.Rows{Each: "row", Times: 1, Growth: &schemas.Growth{Count: int(t.count), Of: int(of)}}
			for _, c := range t.columns {
				if c.Role == schemas.Static || !schemas.Sized(c.Column) {
					continue
				}
				n := c.Size.Mean()
				size := schemas.ColumnSize{Column: c.Column, Bytes: schemas.Sum{{Times: n}}}
				if c.Type.Collection() {
					size.Cells, size.Bytes = size.Bytes, schemas.Sum{{Times: n * elementSize}}
				}
				r.Sizes = append(r.Sizes, size)
			}
			t.Rows = []*schemas.Rows{r}
		}
		return k.Schema, nil
	}
	bind := func(_ context.Context, p *drivers.Prepared, _ models.Options) (models.Bound, error) {
		b := &bound{Keyspace: k, tables: k.tables(w, rows), count: uint64(rows)}
		for _, o := range k.Schema.Patterns {
			if _, name, loads := strings.Cut(o.Name, ":"); loads {
				statement, err := p.Get(o.Name)
				if err != nil {
					return nil, fmt.Errorf("load rows: %w", err)
				}
				b.tables[name].loads = append(b.tables[name].loads, statement)
			}
		}
		for _, o := range w.Patterns {
			statement, err := p.Get(o)
			if err != nil && !errors.Is(err, drivers.ErrUnsupported) {
				return nil, err
			}
			b.statements = append(b.statements, statement)
		}
		return b, nil
	}
	return models.Model{Name: k.Schema.Name, Doc: "the access patterns of " + k.Schema.File, Schema: schema, Bind: bind}
}

// Mailbox implements models.Bound.
func (b *bound) Mailbox(s drivers.Session) models.Mailbox {
	m := &mailbox{bound: b, s: s}
	m.row = func([]drivers.Value) error { m.rows++; return nil }
	return m
}

// mailbox runs patterns on one session.
type mailbox struct {
	models.Mailbox // none: a workload of patterns has no mail operations
	*bound
	s    drivers.Session
	at   drivers.Statement // prepared, with its calls: one, or those of the parts of a batch
	call []drivers.Call
	row  func([]drivers.Value) error // counts rows; made once, because a new one for each read would allocate
	rows int
}

// Prepare implements models.Runner.
func (m *mailbox) Prepare(i int, pick func(int) int, limit, items int) bool {
	m.at, m.call = m.statements[i], m.call[:0]
	p := m.at.Pattern() // the fallback, if it runs
	parts := p.Parts
	if p.Kind != schemas.Batch {
		parts = []schemas.Part{{Pattern: p}}
	}
	for at, part := range parts {
		for n := 0; n == 0 || part.Each != "" && n < items; n++ {
			args, ok := m.arguments(part.Pattern, pick, limit, items)
			if !ok {
				return false
			}
			m.call = append(m.call, drivers.Call{Part: at, Args: args})
		}
	}
	return true
}

// arguments are those of a pattern about one row. A put of the most columns that any put of its table has writes a new
// one, and so does a put if the row is absent. A delete takes the row that reads find first, the oldest or the newest
// that was loaded; one of more rows takes them from one partition, so that the others stay.
func (m *mailbox) arguments(p *schemas.Pattern, pick func(int) int, limit, items int) ([]drivers.Value, bool) {
	t := m.tables[p.Table.Name]
	first, cut, next, loaded := t.first.Load(), t.cut.Load(), t.next.Load(), t.loaded.Load()
	wider := func(o *schemas.Pattern) bool {
		return o.Kind == schemas.Put && !o.Static && o.Table.Name == p.Table.Name && len(o.Columns) > len(p.Columns)
	}
	if !p.Static && (p.Absent || p.Kind == schemas.Put && !slices.ContainsFunc(m.Patterns, wider)) {
		return t.args(p, t.next.Add(1)-1, 0, limit, items), true
	}
	if next <= first+cut {
		return nil, false
	}
	row := next - 1 - uint64(pick(int(next-first-cut)))
	if row < loaded {
		row -= cut
	}
	if by := t.of(t.Partition[0]); by.Access.Theta > 0 { // one near it, of a partition that is used more
		among := cmp.Or(t.partitions, next)
		if row = row - row%among + by.choose(row, min(among, next)); row >= next {
			row -= among
		}
	}
	switch one := p.Scope == schemas.ScopeRow || t.partitions == 0; {
	case p.Kind != schemas.Delete:
	case !one:
		row -= row % t.partitions
	case t.newest && first+cut < loaded:
		row = loaded - t.cut.Add(1)
	default:
		row = t.first.Add(1) - 1
	}
	version := uint64(0)
	if !p.Kind.Reads() {
		version = m.versions.Add(1)
	}
	return t.args(p, row, version, limit, items), true
}

// Run implements models.Runner.
func (m *mailbox) Run(ctx context.Context) (err error) {
	switch kind := m.at.Pattern().Kind; {
	case kind == schemas.Batch:
		if err = m.s.Batch(ctx, m.at, m.call); errors.Is(err, drivers.ErrNotApplied) {
			err = nil
		}
	case kind.Reads():
		m.rows = 0
		if err = m.s.Read(ctx, m.at, m.call[0].Args, m.row); err == nil && m.rows == 0 {
			err = models.ErrNotFound
		}
	default:
		_, err = m.s.Write(ctx, m.at, m.call[0].Args)
	}
	return err
}

// Deliver implements models.Mailbox: the next rows of each table, and with the first row of a partition its static
// columns.
func (m *mailbox) Deliver(ctx context.Context, _ *mail.Message, _ []*models.Folder, handles []models.Handle) error {
	n := m.loaded.Add(1) - 1
	for _, of := range m.Schema.Tables {
		t := m.tables[of.Name]
		for k := n * t.count / m.count; k < (n+1)*t.count/m.count; k++ {
			for _, st := range t.loads {
				p, last := st.Pattern(), k-min(k, t.stride())
				differs := func(c *schemas.Column) bool { return !t.of(c).value(k, 0).Equal(t.of(c).value(last, 0)) }
				if p.Static && last < k && !slices.ContainsFunc(p.By, differs) {
					continue
				}
				if _, err := m.s.Write(ctx, st, t.args(p, k, 0, 0, 0)); err != nil {
					return fmt.Errorf("row %d of table %s: %w", k, t.Name, err)
				}
			}
			t.next.Add(1)
			t.loaded.Add(1)
		}
	}
	binary.BigEndian.PutUint64(handles[0][:], n+1)
	return nil
}

// CreateUser implements models.Mailbox: there is one user, whose inbox is the keyspace.
func (m *mailbox) CreateUser(_ context.Context, address string, folders []string) (*models.Account, error) {
	a := &models.Account{Address: address}
	a.Folders = []*models.Folder{{Name: folders[0], Account: a}}
	return a, nil
}
