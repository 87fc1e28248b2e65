package hbase

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tsuna/gohbase/pb"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/schemas"
)

const (
	hbaseNamespace = "default"
	// maxRegions bounds pre_split.
	maxRegions = 1000
	// pollInterval is the time between two polls of the master.
	pollInterval = 20 * time.Millisecond
	// tableTimeout bounds the creation or removal of one table.
	tableTimeout = 2 * time.Minute
)

// Apply implements drivers.Store. Several clients may apply a schema at the same
// time: each table is created by one of them, and all of them compare the result.
func (s *Store) Apply(ctx context.Context, sch *schemas.Schema) error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("apply schema %s: %w", sch.Name, err)
	}
	defer s.leave()
	l, err := newLayout(s.prefix(sch.Name), sch)
	switch {
	case err != nil:
	case s.readOnly:
		err = s.attach(ctx, l)
	default:
		err = s.create(ctx, l)
	}
	if err != nil {
		return fmt.Errorf("apply schema %s: %w", sch.Name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables.Add(sch, l.tables)
	s.layouts[sch.Name] = l
	return nil
}

// attach is Apply of a store that is open for reading only: it compares the tables.
func (s *Store) attach(ctx context.Context, l *layout) error {
	there, err := s.find(ctx, l)
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
func (s *Store) create(ctx context.Context, l *layout) error {
	missing, err := s.missing(ctx, l)
	if err != nil || len(missing) == 0 {
		return err
	}
	var g errgroup.Group
	for _, r := range missing {
		g.Go(func() error {
			return crash.Guard(func() error {
				err := s.createTable(ctx, l, r, splitKeys(r.schema.Partition[0].Type.Kind, s.settings.regions))
				if isClass(err, "TableExistsException") {
					return s.await(ctx, r.name) // another client creates it
				}
				return err
			})
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if missing, err = s.missing(ctx, l); err == nil && len(missing) > 0 {
		err = fmt.Errorf("somebody else dropped table %s while it was being created", missing[0].name)
	}
	return err
}

// missing returns the HBase tables that do not exist. It returns an error if an
// existing one differs in any way, or lacks a family.
func (s *Store) missing(ctx context.Context, l *layout) ([]*root, error) {
	there, err := s.inspect(ctx, l.schema.Name)
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
func (s *Store) await(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()
	for {
		there, err := s.describe(ctx, name)
		if _, ok := there[name]; ok || err != nil {
			return err
		}
		if err := sleep(ctx, pollInterval); err != nil {
			return fmt.Errorf("table %s, which another client creates: %w", name, err)
		}
	}
}

// createTable creates one table. Its second and later regions begin at splits.
func (s *Store) createTable(ctx context.Context, l *layout, r *root, splits [][]byte) error {
	var answer pb.CreateTableResponse
	request := &pb.CreateTableRequest{TableSchema: l.descriptor(r, s.namespace).message(), SplitKeys: splits}
	err := s.askMaster(ctx, "CreateTable", request, &answer)
	if err == nil {
		err = s.procedure(ctx, answer.GetProcId())
	}
	if err != nil {
		return fmt.Errorf("create table %s: %w", r.name, err)
	}
	return nil
}

// message returns the descriptor as a message to HBase's master.
func (d TableDescription) message() *pb.TableSchema {
	t := &pb.TableSchema{TableName: tableName(d.Name)}
	for name, value := range d.Attributes {
		t.Attributes = append(t.Attributes, pair(name, value))
	}
	for name, settings := range d.Families {
		f := &pb.ColumnFamilySchema{Name: []byte(name)}
		for setting, value := range settings {
			f.Attributes = append(f.Attributes, pair(setting, value))
		}
		t.ColumnFamilies = append(t.ColumnFamilies, f)
	}
	return t
}

// splitKeys returns the row keys at which the regions of a new table begin, without
// the first region. It returns none for numbers and times, whose range is unknown.
func splitKeys(kind schemas.Kind, regions int) [][]byte {
	first, last := 0, 1<<16
	switch kind {
	case schemas.Text: // keys are assumed to begin with a letter or digit
		first, last = '0'<<8, ('z'+1)<<8
	case schemas.Blob, schemas.UUID:
	default:
		return nil
	}
	var keys [][]byte
	for i := 1; i < regions; i++ {
		at := first + (last-first)*i/regions
		keys = append(keys, []byte{byte(at >> 8), byte(at)})
	}
	return keys
}

func (s *Store) askMaster(ctx context.Context, method string, request, answer proto.Message) error {
	sl := newSlot(s.master, s.timeout)
	defer sl.close()
	c := sl.request(method, nil, nil)
	c.request, c.response = request, answer
	err := sl.send(ctx)
	if c.conn != nil {
		s.masterConn.Store(&c.conn)
	}
	return err
}

// procedure waits until the master has completed a procedure.
func (s *Store) procedure(ctx context.Context, id uint64) error {
	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()
	for {
		var p pb.GetProcedureResultResponse
		if err := s.askMaster(ctx, "getProcedureResult", &pb.GetProcedureResultRequest{ProcId: &id}, &p); err != nil {
			return err
		}
		if p.GetState() != pb.GetProcedureResultResponse_RUNNING {
			if e := p.GetException().GetGenericException(); e != nil {
				return &javaError{class: e.GetClassName(), message: e.GetMessage()}
			}
			return nil
		}
		if err := sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() // also where a busy machine let both happen
}

// tableName splits a table's name. One without a namespace is in the default one.
func tableName(name string) *pb.TableName {
	namespace, qualifier, ok := strings.Cut(name, ":")
	if !ok {
		namespace, qualifier = hbaseNamespace, name
	}
	return &pb.TableName{Namespace: []byte(namespace), Qualifier: []byte(qualifier)}
}

func pair(name, value string) *pb.BytesBytesPair {
	return &pb.BytesBytesPair{First: []byte(name), Second: []byte(value)}
}
