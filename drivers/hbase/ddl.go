package hbase

import (
	"context"
	"fmt"
	"slices"

	"github.com/tsuna/gohbase/pb"
	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/schemas"
)

// admin creates, compares and drops the tables of schemas.
type admin struct {
	catalog
	readOnly bool
}

// apply creates the schema's tables that are missing, or with readOnly only compares them.
// Several clients may apply a schema at the same time: each table is created by one of them,
// and all of them compare the result.
func (a *admin) apply(ctx context.Context, sch *schemas.Schema) (*layout, error) {
	l, err := newLayout(a.prefix(sch.Name), sch)
	switch {
	case err != nil:
	case a.readOnly:
		err = a.attach(ctx, l)
	default:
		err = a.create(ctx, l)
	}
	return l, err
}

// attach compares the tables of a store that is open for reading only.
func (a *admin) attach(ctx context.Context, l *layout) error {
	there, err := a.find(ctx, l)
	if err == nil && len(there.tables)+len(there.others) == 0 {
		err = a.absent(ctx, l.schema.Name)
	}
	if err != nil {
		return err
	}
	if err := drivers.Readable(l.stored(), there.schema); err != nil {
		return err
	}
	// Rows of another layout cannot be read, though their columns are the same.
	return drivers.Conflict(slices.DeleteFunc(schemas.Diff(l.stored(), there.schema), func(d schemas.Difference) bool {
		return d.Kind != schemas.DifferentSetting || !slices.Contains(layoutSettings, d.Part)
	}))
}

// create creates the missing HBase tables and compares all of them.
func (a *admin) create(ctx context.Context, l *layout) error {
	missing, err := a.missing(ctx, l)
	if err != nil || len(missing) == 0 {
		return err
	}
	var g errgroup.Group
	for _, r := range missing {
		g.Go(func() error {
			return crash.Guard(func() error {
				err := a.createTable(ctx, l, r, r.splits(a.preSplit, a.users))
				if isClass(err, "TableExistsException") {
					return a.await(ctx, r.name) // another client creates it
				}
				return err
			})
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if missing, err = a.missing(ctx, l); err == nil && len(missing) > 0 {
		err = fmt.Errorf("somebody else dropped table %s while it was being created", missing[0].name)
	}
	return err
}

// missing returns the HBase tables that do not exist. It returns an error if an
// existing one differs in any way, or lacks a family.
func (a *admin) missing(ctx context.Context, l *layout) ([]*root, error) {
	there, err := a.inspect(ctx, l.schema.Name)
	if err != nil {
		return nil, err
	}
	tables, err := drivers.Missing(l.stored(), there)
	if err != nil {
		return nil, err
	}
	var roots []*root
	for _, m := range tables {
		t := l.schema.Table(m.Table).Root()
		if slices.ContainsFunc(there.Tables, func(o *schemas.Table) bool { return o.Root().Name == t.Name }) {
			return nil, drivers.Conflict([]schemas.Difference{m})
		}
		r := l.roots[slices.IndexFunc(l.roots, func(r *root) bool { return r.schema == t })]
		if !slices.Contains(roots, r) {
			roots = append(roots, r)
		}
	}
	return roots, nil
}

// await waits until HBase knows a table.
func (a *admin) await(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()
	for {
		there, err := a.describe(ctx, name)
		if _, ok := there[name]; ok || err != nil {
			return err
		}
		if err := sleep(ctx, pollInterval); err != nil {
			return fmt.Errorf("table %s, which another client creates: %w", name, err)
		}
	}
}

// createTable creates one table. Its second and later regions begin at splits.
func (a *admin) createTable(ctx context.Context, l *layout, r *root, splits [][]byte) error {
	var answer pb.CreateTableResponse
	request := &pb.CreateTableRequest{TableSchema: l.descriptor(r, a.namespace).message(), SplitKeys: splits}
	err := a.askMaster(ctx, "CreateTable", request, &answer)
	if err == nil {
		err = a.procedure(ctx, answer.GetProcId())
	}
	if err != nil {
		return fmt.Errorf("create table %s: %w", r.name, err)
	}
	return nil
}
