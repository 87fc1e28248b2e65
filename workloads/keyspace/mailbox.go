package keyspace

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads"
)

// bound is the keyspace on a store.
type bound struct {
	*Keyspace
	tables     map[string]*table
	statements []drivers.Statement // of the operations; nil: the engine cannot run it
	count      uint64              // rows of the largest table after the load
	loaded     atomic.Uint64
	versions   atomic.Uint64 // of values that updates write
}

// bind connects the keyspace to the statements of a store, for a workload whose largest table has so many rows.
func (k *Keyspace) bind(p *drivers.Prepared, w *workloads.Workload, rows int) (models.Bound, error) {
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
		statement, err := p.Get(o.Name)
		if err != nil && !errors.Is(err, drivers.ErrUnsupported) {
			return nil, err
		}
		b.statements = append(b.statements, statement)
	}
	return b, nil
}

// inserts reports whether a pattern writes new rows: a put of the most columns that any put of its table has, or one
// if the row is absent. Others change rows.
func (k *Keyspace) inserts(p *schemas.Pattern) bool {
	if p.Kind != schemas.Put && p.Kind != schemas.PutIf || p.Static {
		return false
	}
	return p.Absent || !slices.ContainsFunc(k.Patterns, func(o *schemas.Pattern) bool {
		return o.Kind == schemas.Put && !o.Static && o.Table.Name == p.Table.Name && len(o.Columns) > len(p.Columns)
	}) && len(p.If) == 0 && !p.Present
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
	rows int // that the read under way has found
	row  func([]drivers.Value) error
}

var _ models.Runner = (*mailbox)(nil)

// Runs implements models.Runner.
func (b *bound) Runs(pattern int) bool { return b.statements[pattern] != nil }

// Prepare implements models.Runner.
func (m *mailbox) Prepare(i int, pick func(int) int, limit, items int) bool {
	m.at, m.call = m.statements[i], m.call[:0]
	p := m.at.Pattern() // the fallback, if it runs
	parts := p.Parts
	if p.Kind != schemas.Batch {
		parts = []schemas.Part{{Pattern: p}}
	}
	for n, part := range parts {
		times := 1
		if part.Each != "" {
			times = items
		}
		for range times {
			args, ok := m.arguments(part.Pattern, pick, limit, items)
			if !ok {
				return false
			}
			m.call = append(m.call, drivers.Call{Part: n, Args: args})
		}
	}
	return true
}

// arguments are those of a pattern about one row. A delete takes the row that its table's order has first, the oldest
// or the newest that was loaded, so that what reads find first is deleted; one of more rows takes them from one
// partition, so that the others stay.
func (m *mailbox) arguments(p *schemas.Pattern, pick func(int) int, limit, items int) ([]drivers.Value, bool) {
	t := m.tables[p.Table.Name]
	first, cut, next, loaded := t.first.Load(), t.cut.Load(), t.next.Load(), t.loaded.Load()
	if m.inserts(p) {
		return t.args(p, t.next.Add(1)-1, 0, limit, items), true
	}
	if next <= first+cut {
		return nil, false
	}
	row := next - 1 - uint64(pick(int(next-first-cut)))
	if row < loaded {
		row -= cut
	}
	if by := t.of(t.Partition[0]); by.Access.Theta > 0 {
		row = by.among(row, next)
	}
	switch one := p.Scope == schemas.ScopeRow || t.partitions == 0; {
	case p.Kind != schemas.Delete:
	case !one:
		row -= row % t.partitions
	case len(t.Clustering) > 0 && t.Clustering[0].Desc && first+cut < loaded:
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

// among is row k or, as its values of the partition key are not used evenly, one near it of another partition.
func (c *column) among(k, next uint64) uint64 {
	p := cmp.Or(c.of.partitions, next)
	if k = k - k%p + c.choose(k, min(p, next)); k >= next {
		k -= p
	}
	return k
}

// deepPages is of how many pages one begins in the middle of its partition. The others are first pages.
const deepPages = 5

// args are the arguments of a pattern about row k.
func (t *table) args(p *schemas.Pattern, k, version uint64, limit, items int) (args []drivers.Value) {
	add := func(k, version uint64, cs ...*schemas.Column) {
		for _, c := range cs {
			args = append(args, t.of(c).value(k, version))
		}
	}
	add(k, 0, p.By...)
	if p.In != nil {
		args = append(args, drivers.ListOf(t.list(p.In, k, len(p.By) > 0, items)))
	}
	if p.Element != nil {
		args = append(args, element(*p.Element.Type.Key, t.of(p.Element).seed, 0))
	}
	add(k, 0, p.Filter...)
	for end, b := range []*schemas.Bound{p.From, p.To} { // the row limit rows before it in its partition, and row k
		if b != nil {
			add(t.of(b.Column).sorted(k-min(k/t.stride(), uint64(limit))*t.stride(), k)[end], 0, b.Column)
		}
	}
	if k >= t.first.Load()+t.stride() && len(p.After) > 0 && hash(k, 0, 0)%deepPages == 0 {
		begins := 0
		if p.After[0].Desc != p.Reverse {
			begins = 1
		}
		add(t.of(p.After[0]).sorted(k-t.stride(), k)[begins], 0, p.After...) // at least the other of the two follows
	} else {
		args = append(args, make([]drivers.Value, len(p.After))...) // null: the first page
	}
	if p.LimitArg {
		args = append(args, drivers.Bigint(int64(limit)))
	}
	for _, c := range p.Columns {
		one := t.of(c)
		switch p.Kind {
		case schemas.Append: // a new element, so the collection grows
			args = append(args, drivers.ListOf([]drivers.Value{element(*c.Type.Elem, one.seed, hash(0, 0, version))}))
		case schemas.Remove:
			args = append(args, drivers.ListOf([]drivers.Value{element(*c.Type.Elem, one.seed, one.number(k, 0))}))
		case schemas.Add:
			args = append(args, drivers.Number(c.Type.Kind, 1))
		case schemas.Put, schemas.PutIf:
			add(k, version, c)
		}
	}
	add(k, 0, p.If...)
	return args
}

// of is the rule for a column, which may be that of another parse of the schema.
func (t *table) of(c *schemas.Column) *column {
	return t.columns[slices.IndexFunc(t.columns, func(o *column) bool { return o.Name == c.Name })]
}

// list are the values of a column in so many rows, from row k backwards: of other partitions, or of the same.
func (t *table) list(c *schemas.Column, k uint64, same bool, n int) (all []drivers.Value) {
	step := uint64(1)
	if same {
		step = t.stride()
	}
	for range n {
		if v := t.of(c).value(k, 0); !slices.ContainsFunc(all, v.Equal) {
			all = append(all, v)
		}
		if k < t.first.Load()+step {
			break
		}
		k -= step
	}
	return all
}

// stride is from a row to the next one of its partition.
func (t *table) stride() uint64 { return max(1, t.partitions) }

// sorted are two rows, of which a is older, in the order of a column.
func (c *column) sorted(a, b uint64) [2]uint64 {
	if c.Type.Kind != schemas.TimeUUID && c.value(a, 0).Compare(c.value(b, 0)) > 0 {
		return [2]uint64{b, a}
	}
	return [2]uint64{a, b}
}

// Run implements models.Runner.
func (m *mailbox) Run(ctx context.Context) error {
	switch kind := m.at.Pattern().Kind; {
	case kind == schemas.Batch:
		if err := m.s.Batch(ctx, m.at, m.call); !errors.Is(err, drivers.ErrNotApplied) {
			return err
		}
		return nil
	case !kind.Reads():
		_, err := m.s.Write(ctx, m.at, m.call[0].Args)
		return err
	}
	m.rows = 0
	if err := m.s.Read(ctx, m.at, m.call[0].Args, m.row); err != nil || m.rows > 0 {
		return err
	}
	return models.ErrNotFound
}

// Deliver implements models.Mailbox: the next row of each table.
func (m *mailbox) Deliver(ctx context.Context, _ *mail.Message, _ []*models.Folder, handles []models.Handle) error {
	n := m.loaded.Add(1) - 1
	for _, of := range m.Schema.Tables {
		t := m.tables[of.Name]
		for k := n * t.count / m.count; k < (n+1)*t.count/m.count; k++ {
			if err := m.load(ctx, t, k); err != nil {
				return fmt.Errorf("row %d of table %s: %w", k, t.Name, err)
			}
			t.next.Add(1)
			t.loaded.Add(1)
		}
	}
	binary.BigEndian.PutUint64(handles[0][:], n+1)
	return nil
}

// load writes row k of a table, and with the first row of a partition its static columns.
func (m *mailbox) load(ctx context.Context, t *table, k uint64) error {
	for _, st := range t.loads {
		if st.Pattern().Static && t.partitions > 0 && k >= t.partitions {
			continue
		}
		if _, err := m.s.Write(ctx, st, t.args(st.Pattern(), k, 0, 0, 0)); err != nil {
			return err
		}
	}
	return nil
}

// CreateUser implements models.Mailbox: there is one user, whose inbox is the keyspace.
func (m *mailbox) CreateUser(_ context.Context, address string, folders []string) (*models.Account, error) {
	a := &models.Account{Address: address}
	for _, name := range folders {
		a.Folders = append(a.Folders, &models.Folder{Name: name, Account: a})
	}
	return a, nil
}
