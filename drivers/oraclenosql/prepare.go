package oraclenosql

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// Prepare implements drivers.Store. The server prepares the queries too, so that Prepare
// fails if the server refuses one.
func (s *Store) Prepare(ctx context.Context, p *schemas.Pattern) (drivers.Statement, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	if s.readOnly && !p.Kind.Reads() {
		return nil, fmt.Errorf("pattern %s: %w", p.Name, drivers.ErrReadOnly)
	}
	st, err := s.compile(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", p.Name, err)
	}
	return st, nil
}

// compile compiles a pattern, and has the server prepare its queries.
func (s *Store) compile(ctx context.Context, p *schemas.Pattern) (st *statement, err error) {
	if p.Kind == schemas.Batch {
		parts, err := plan.Compile(p, func(p *schemas.Pattern) (*statement, error) { return s.compile(ctx, p) })
		if err != nil {
			return nil, err
		}
		if st, err = batchOf(p, parts); err != nil {
			return nil, err
		}
		st.store = s
		return st, nil
	}
	p, t, err := s.applied.Find(p)
	if err != nil {
		return nil, err
	}
	if p.Static {
		t = t.parent
	}
	if p.Index != nil && slices.Contains(t.absent, p.Index) {
		return nil, unsupported("index %s is not there", p.Index.Name)
	}
	if st, err = t.compile(p); err != nil {
		return nil, err
	}
	st.store = s
	return st, s.prepare(ctx, st)
}

// prepare has the server prepare a statement's queries. A plan that sorts, though the order is
// that of an index, or that reads a range from its beginning, though it has a bound, counts as
// emulated. A list whose plan does not read by keys of one partition is read key by key.
func (s *Store) prepare(ctx context.Context, st *statement) error {
	s.admin.Lock()
	defer s.admin.Unlock()
	for _, q := range append(slices.Clone(st.queries), st.listed, st.inList, st.partition) {
		if q == nil {
			continue
		}
		r, err := ask(s.ddl, ctx, true, func(left time.Duration) (*nosqldb.PrepareResult, error) {
			return s.ddl.client.Prepare(&nosqldb.PrepareRequest{Statement: q.declared(), GetQueryPlan: true, Timeout: left})
		})
		if err != nil {
			return fmt.Errorf("prepare %s: %w", q.text, readError(ctx, err))
		}
		q.prepared = &r.PreparedStatement
		q.id = int(s.statements.Add(1)) - 1
		plan, ok := readPlan(r.PreparedStatement.GetQueryPlan())
		if !ok {
			continue
		}
		q.plan = &plan
		if plan.sorts {
			st.sorts, st.drops = true, true
		}
		if (plan.sorts || q.bounded && len(plan.ranges) == 0) && st.Emulates() == nil {
			st.Emulate(st.Pattern())
		}
	}
	if q := st.inList; q != nil && q.plan != nil && !q.plan.points(st.Pattern().In) {
		st.inList, st.partition = nil, nil
	}
	return nil
}
