package cassandra

import (
	"context"
	"errors"
	"fmt"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// calls prepares statements, and opens the sessions that run them.
type calls struct {
	*cluster
	*gate
	compiler *compiler
	clock    *clock
	readOnly bool
}

// Prepare implements drivers.Store. The cluster prepares the queries too, so that
// Prepare fails if the cluster refuses one.
func (c *calls) Prepare(ctx context.Context, p *schemas.Pattern) (drivers.Statement, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.leave()
	if c.readOnly && !p.Kind.Reads() {
		return nil, fmt.Errorf("pattern %s: %w", p.Name, drivers.ErrReadOnly)
	}
	st, err := c.compiler.compile(p)
	if err == nil {
		err = c.prepare(ctx, st)
	}
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", p.Name, err)
	}
	return st, nil
}

// errPrepared stops gocql after it has prepared a query, before it executes it.
var errPrepared = errors.New("prepared")

func (c *calls) prepare(ctx context.Context, st *statement) error {
	for _, q := range st.all() {
		stop := func(*gocql.QueryInfo) ([]any, error) { return nil, errPrepared }
		err := c.session.Bind(q.text, stop).WithContext(ctx).Exec()
		if !errors.Is(err, errPrepared) {
			return fmt.Errorf("prepare %s: %w", q.text, err)
		}
		c.nodes.learn(q.text, st.table.keyspace)
	}
	return nil
}
