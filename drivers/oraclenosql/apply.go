package oraclenosql

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Apply implements drivers.Store. Two clients may apply one schema at the same time: all
// statements say IF NOT EXISTS. At the end Apply reads the namespace and compares it.
func (s *Store) Apply(ctx context.Context, sch *schemas.Schema) error {
	return s.gate.During("apply schema "+sch.Name, func() error {
		if s.gate.ReadOnly {
			return s.attach(ctx, sch)
		}
		return s.apply(ctx, sch)
	})
}

func (s *Store) apply(ctx context.Context, sch *schemas.Schema) error {
	l, missing, err := s.missing(ctx, sch)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		for _, statement := range missing {
			if err := s.run(ctx, statement); err != nil {
				return fmt.Errorf("%w, at: %s", err, firstLine(statement))
			}
		}
		if _, missing, err = s.missing(ctx, sch); err != nil {
			return err
		}
		if len(missing) > 0 {
			return fmt.Errorf("somebody else dropped it while it was being created; missing: %s", firstLine(missing[0]))
		}
	}
	s.applied.Add(sch, l.tables)
	return nil
}

func firstLine(statement string) string {
	line, _, _ := strings.Cut(statement, "\n")
	line, _, _ = strings.Cut(line, " COMMENT ")
	return line
}

// missing returns the statements that create what a schema's namespace lacks.
func (s *Store) missing(ctx context.Context, sch *schemas.Schema) (l *layoutOf, statements []string, err error) {
	if l, err = newLayout(sch, s.namespace, s.place(sch.Name)); err != nil {
		return nil, nil, err
	}
	n, err := s.readNamespace(ctx, l.namespace)
	if err == nil {
		statements, err = l.lacking(n)
	}
	return l, statements, err
}

// lacking returns the statements that create what a namespace lacks; nil is one that is not there. It returns an
// error if the namespace differs in any other way.
func (l *layoutOf) lacking(n *liveNamespace) (statements []string, err error) {
	if n == nil {
		statements = append(statements, "CREATE NAMESPACE IF NOT EXISTS "+l.namespace)
		n = &liveNamespace{name: l.namespace}
	}
	if err := n.owned(l.run, l.schema.Name); err != nil {
		return nil, err
	}
	own, err := l.stored()
	if err != nil {
		return nil, err
	}
	changes, err := drivers.Missing(own, n.schema(l.schema.Name))
	if err != nil {
		return nil, fmt.Errorf("namespace %s: %w", l.namespace, err)
	}
	return append(statements, drivers.Statements(changes, l.statements)...), nil
}

// attach is Apply of a store that is open for reading only.
func (s *Store) attach(ctx context.Context, sch *schemas.Schema) error {
	l, n, err := s.find(ctx, sch)
	if err == nil && n == nil {
		err = &drivers.AbsentError{What: "namespace", Name: l.namespace, Where: "with tables"}
	}
	if err != nil {
		return err
	}
	own, err := l.stored()
	if err != nil {
		return err
	}
	if err := drivers.Readable(own, n.schema(sch.Name)); err != nil {
		return fmt.Errorf("namespace %s: %w", l.namespace, err)
	}
	for _, t := range l.all {
		if live := n.tables[t.path]; live != nil {
			t.absent = slices.DeleteFunc(t.kept(), func(x *schemas.Index) bool { return live.has(identifier(x.Name)) })
		}
	}
	s.applied.Add(sch, l.tables)
	return nil
}

func (t *liveTable) has(index string) bool {
	for _, x := range t.Indexes {
		if strings.EqualFold(x.Name, index) {
			return true
		}
	}
	return false
}

// find reads the namespace of a schema, which need not be mailbench's; nil if it has no tables. Tables without a mark
// get the one that Apply would have written.
func (s *Store) find(ctx context.Context, sch *schemas.Schema) (*layoutOf, *liveNamespace, error) {
	l, err := newLayout(sch, s.namespace, s.place(sch.Name))
	if err != nil {
		return nil, nil, err
	}
	n, err := s.readNamespace(ctx, l.namespace)
	if n != nil {
		for _, t := range l.all {
			if live := n.tables[t.path]; live != nil && !live.marked {
				live.mark, live.marked = t.mark("", sch.Name), true
			}
		}
	}
	return l, n, err
}

// Time limits of a change of the schema, and the time between two checks of it.
const (
	ddlAtMost = time.Minute
	pollEvery = 50 * time.Millisecond
)

// run runs one statement that changes the schema, and waits until it is done.
func (s *Store) run(ctx context.Context, statement string) error {
	s.admin.Lock()
	defer s.admin.Unlock()
	most := ddlAtMost
	if at, ok := ctx.Deadline(); ok {
		most = max(min(most, time.Until(at)), 2*pollEvery)
	}
	_, err := send(s.ddl, ctx, true, func(left time.Duration) (struct{}, error) {
		var err error
		if strings.Contains(statement[:min(len(statement), 20)], "NAMESPACE") {
			_, err = s.ddl.client.DoSystemRequestAndWait(statement, most, pollEvery)
		} else {
			request := &nosqldb.TableRequest{Statement: statement, Timeout: left}
			_, err = s.ddl.client.DoTableRequestAndWait(request, most, pollEvery)
		}
		return struct{}{}, err
	})
	return readError(ctx, err)
}
