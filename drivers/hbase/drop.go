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

// Drop implements drivers.Admin. Tables without mailbench's mark are not
// touched: one whose name says that it is of this namespace is ErrForeign, once
// all others are gone.
func (s *Store) Drop(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("drop: %w", err)
	}
	defer s.leave()
	if s.readOnly {
		return fmt.Errorf("drop: %w", drivers.ErrReadOnly)
	}
	all, err := s.describe(ctx, drivers.Prefix)
	if err != nil {
		return fmt.Errorf("drop: %w", err)
	}
	var foreign error
	var g errgroup.Group
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d := all[name]
		if err := d.foreign(); err != nil {
			if s.namespace != "" && strings.HasPrefix(name, drivers.Prefix+s.namespace+"_") {
				foreign = errors.Join(foreign, err)
			}
			continue
		}
		if d.Attributes[attrNamespace] != s.namespace || !strings.HasPrefix(name,
			prefixOf(s.namespace, d.Attributes[attrSchema])) {
			continue
		}
		g.Go(func() error {
			if err := crash.Guard(func() error { return s.dropTable(ctx, name) }); err != nil {
				return fmt.Errorf("drop table %s: %w", name, err)
			}
			return nil
		})
	}
	err = g.Wait()
	s.mu.Lock()
	s.tables.Clear()
	clear(s.layouts)
	s.mu.Unlock()
	return errors.Join(err, foreign)
}

// dropTable disables and deletes one table. That it is disabled or gone already,
// as an interrupted or another client's drop leaves it, is no error.
func (s *Store) dropTable(ctx context.Context, name string) error {
	err := s.disable(ctx, name)
	if isClass(err, "TableNotFoundException") {
		return nil
	}
	if err != nil && !isClass(err, "TableNotEnabledException") {
		return err
	}
	var deleted pb.DeleteTableResponse
	err = s.askMaster(ctx, "DeleteTable", &pb.DeleteTableRequest{TableName: tableName(name)}, &deleted)
	if err == nil {
		err = s.procedure(ctx, deleted.GetProcId())
	}
	if isClass(err, "TableNotFoundException") {
		return nil
	}
	return err
}

func (s *Store) disable(ctx context.Context, name string) error {
	var disabled pb.DisableTableResponse
	err := s.askMaster(ctx, "DisableTable", &pb.DisableTableRequest{TableName: tableName(name)}, &disabled)
	if err == nil {
		err = s.procedure(ctx, disabled.GetProcId())
	}
	return err
}

// isClass reports whether an error is an exception of a class, whatever its package.
func isClass(err error, class string) bool {
	var j *javaError
	return errors.As(err, &j) && strings.HasSuffix(j.class, "."+class)
}

// Namespaces implements drivers.Admin.
func (s *Store) Namespaces(ctx context.Context) ([]string, error) {
	if err := s.enter(); err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	defer s.leave()
	all, err := s.describe(ctx, drivers.Prefix)
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	var names []string
	for _, d := range all {
		if d.foreign() == nil {
			names = append(names, d.Attributes[attrNamespace])
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
