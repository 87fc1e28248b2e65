package hbase

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tsuna/gohbase/pb"
	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
)

// drop drops the tables of the store's namespace. It does not touch tables without mailbench's
// mark: one whose name says that it is of this namespace is ErrForeign, once all others are
// gone.
func (a *admin) drop(ctx context.Context) error {
	if a.readOnly {
		return drivers.ErrReadOnly
	}
	all, err := a.describe(ctx, drivers.Prefix)
	if err != nil {
		return err
	}
	var foreign error
	var g errgroup.Group
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d := all[name]
		if err := d.foreign(); err != nil {
			if a.namespace != "" && strings.HasPrefix(name, drivers.Prefix+a.namespace+"_") {
				foreign = errors.Join(foreign, err)
			}
			continue
		}
		if d.Attributes[attrNamespace] != a.namespace || !strings.HasPrefix(name,
			prefixOf(a.namespace, d.Attributes[attrSchema])) {
			continue
		}
		g.Go(func() error {
			if err := crash.Guard(func() error { return a.dropTable(ctx, name) }); err != nil {
				return fmt.Errorf("drop table %s: %w", name, err)
			}
			return nil
		})
	}
	return errors.Join(g.Wait(), foreign)
}

// dropTable disables and deletes one table. That it is disabled or gone already,
// as an interrupted or another client's drop leaves it, is no error.
func (a *admin) dropTable(ctx context.Context, name string) error {
	err := a.disable(ctx, name)
	if isClass(err, "TableNotFoundException") {
		return nil
	}
	if err != nil && !isClass(err, "TableNotEnabledException") {
		return err
	}
	var deleted pb.DeleteTableResponse
	err = a.askMaster(ctx, "DeleteTable", &pb.DeleteTableRequest{TableName: tableName(name)}, &deleted)
	if err == nil {
		err = a.procedure(ctx, deleted.GetProcId())
	}
	if isClass(err, "TableNotFoundException") {
		return nil
	}
	return err
}

func (a *admin) disable(ctx context.Context, name string) error {
	var disabled pb.DisableTableResponse
	err := a.askMaster(ctx, "DisableTable", &pb.DisableTableRequest{TableName: tableName(name)}, &disabled)
	if err == nil {
		err = a.procedure(ctx, disabled.GetProcId())
	}
	return err
}
