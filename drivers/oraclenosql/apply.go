package oraclenosql

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// place is the namespace of a schema as it is (plan.Place).
type place struct {
	plan.Found
	*layoutOf
	there *liveNamespace
	store *Store
}

// find reads the namespace of a schema, which need not be mailbench's. Tables without a mark get the one that Apply
// would have written.
func (s *Store) find(ctx context.Context, sch *schemas.Schema) (plan.Place, error) {
	l, err := newLayout(sch, s.Namespace, cmp.Or(s.Keyspace, namespaceOf(s.Namespace, sch.Name)))
	if err != nil {
		return nil, err
	}
	n, err := s.readNamespace(ctx, l.namespace)
	if err != nil {
		return nil, err
	}
	return s.placeOf(l, n)
}

// placeOf returns the place of a layout; n is nil if there is no such namespace.
func (s *Store) placeOf(l *layoutOf, n *liveNamespace) (_ *place, err error) {
	p := &place{Found: plan.Found{Name: "namespace " + l.namespace, Absent: n == nil}, layoutOf: l, there: n, store: s}
	if p.Want, err = l.stored(); err != nil {
		return nil, err
	}
	if n == nil {
		p.there = &liveNamespace{name: l.namespace}
	}
	for _, path := range slices.Sorted(maps.Keys(p.there.tables)) {
		p.Own(path, p.there.tables[path].mark.Mark, p.there.tables[path].marked, l.run, l.schema.Name)
	}
	for _, t := range l.all {
		if live := p.there.tables[t.path]; live != nil && !live.marked {
			live.mark, live.marked = t.mark("", l.schema.Name), true
		}
	}
	p.Have = p.there.schema(l.schema.Name)
	return p, nil
}

// Create implements plan.Place. All statements say IF NOT EXISTS.
func (p *place) Create(changes []schemas.Difference) (all []string, run func(context.Context) error, err error) {
	if p.Absent {
		all = append(all, "CREATE NAMESPACE IF NOT EXISTS "+p.namespace)
	}
	all = append(all, drivers.Statements(changes, p.statements)...)
	return all, func(ctx context.Context) error {
		for _, statement := range all {
			if err := p.store.run(ctx, statement); err != nil {
				line, _, _ := strings.Cut(statement, "\n")
				line, _, _ = strings.Cut(line, " COMMENT ")
				return fmt.Errorf("%w, at: %s", err, line)
			}
		}
		return nil
	}, nil
}

// Use implements plan.Place. Reads use only those of the schema's indexes that exist.
func (p *place) Use() {
	for _, t := range p.all {
		if live := p.there.tables[t.path]; live != nil {
			t.absent = slices.DeleteFunc(t.kept(), func(x *schemas.Index) bool {
				return slices.ContainsFunc(live.Indexes, func(l liveIndex) bool {
					return strings.EqualFold(l.Name, identifier(x.Name))
				})
			})
		}
	}
	p.store.applied.Add(p.schema, p.tables)
}

// NotThere implements plan.Place.
func (p *place) NotThere(context.Context) error {
	return &drivers.AbsentError{What: "namespace", Name: p.namespace, Where: "with tables"}
}

// Compare implements plan.Place.
func (p *place) Compare(ctx context.Context) (*drivers.Comparison, error) {
	if p.Absent {
		return nil, p.NotThere(ctx)
	}
	return &drivers.Comparison{
		Where:  p.Name,
		Drifts: sqlShell.Drifts(p.schema, schemas.Diff(p.Want, p.Have), p.statements),
		Unseen: []string{"Oracle does not report the descending columns of keys: the tables' comments have them."},
	}, nil
}

// Time limits of a change of the schema, and the time between two checks of it.
const (
	ddlAtMost = time.Minute
	pollEvery = 50 * time.Millisecond
)

// run runs one statement that changes the schema, and waits until it is done.
func (s *Store) run(ctx context.Context, statement string) error {
	_, err := onDDL(ctx, s, func(c *nosqldb.Client, left time.Duration) (_ struct{}, err error) {
		most := ddlAtMost
		if at, ok := ctx.Deadline(); ok {
			most = max(min(most, time.Until(at)), 2*pollEvery)
		}
		if strings.Contains(statement[:min(len(statement), 20)], "NAMESPACE") {
			_, err = c.DoSystemRequestAndWait(statement, most, pollEvery)
		} else {
			request := &nosqldb.TableRequest{Statement: statement, Timeout: left}
			_, err = c.DoTableRequestAndWait(request, most, pollEvery)
		}
		return struct{}{}, err
	})
	return readError(ctx, err)
}

// onDDL makes a call over the client of statements that change the schema, one at a time.
func onDDL[R any](
	ctx context.Context, s *Store, do func(c *nosqldb.Client, left time.Duration) (R, error),
) (R, error) {
	s.admin.Lock()
	defer s.admin.Unlock()
	return send(s.ddl, ctx, true, func(left time.Duration) (R, error) { return do(s.ddl.client, left) })
}

// owners returns the owner of each namespace that has mailbench's prefix.
func (s *Store) owners(ctx context.Context) (plan.Owners, error) {
	names, err := onDDL(ctx, s, func(c *nosqldb.Client, _ time.Duration) ([]string, error) { return c.ListNamespaces() })
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", readError(ctx, err))
	}
	all := make(plan.Owners)
	for _, name := range names {
		if !strings.HasPrefix(name, drivers.Prefix) {
			continue
		}
		n, err := s.readNamespace(ctx, name)
		if err != nil {
			return nil, err
		}
		o := all.Of(name)
		if n == nil {
			continue // it has no tables
		}
		for _, path := range slices.Sorted(maps.Keys(n.tables)) {
			o.Add(path, n.tables[path].mark.Namespace, n.tables[path].marked)
		}
	}
	return all, nil
}

// remove drops a namespace. The server drops one without tables only if it is still empty.
func (s *Store) remove(ctx context.Context, name string, o *plan.Owner) error {
	s.applied.Clear()
	statement := "DROP NAMESPACE IF EXISTS " + name
	if o.Tables > 0 {
		statement += " CASCADE"
	}
	return s.run(ctx, statement)
}
