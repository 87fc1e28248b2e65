package faithful

import (
	"testing"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/models"
)

// cqlsh is a model on the Cassandra that tests share, and a bare gocql session
// in the keyspace that was made for it.
type cqlsh struct {
	*world
	*gocql.Session
	keyspace string
}

func onCassandra(t *testing.T, model models.Model, o models.Options) *cqlsh {
	t.Helper()
	contact := live.Contact(t, "cassandra")
	w := newWorld(t, cassandra.Engine(), contact, model, o)
	keyspace := plan.PlaceName(w.namespace, plan.Identifier(model.Name))
	cluster := live.CQL(t)
	cluster.Keyspace = keyspace
	cluster.Consistency = gocql.LocalQuorum
	cluster.DisableInitialHostLookup = true
	s, err := cluster.CreateSession()
	w.must(err)
	t.Cleanup(s.Close)
	return &cqlsh{w, s, keyspace}
}

// in runs a part of the test on the same data.
func (c *cqlsh) in(name string, part func(*cqlsh)) {
	c.Run(name, func(t *testing.T) { part(&cqlsh{c.part(t), c.Session, c.keyspace}) })
}

// row is a row of a result, by column names, as gocql makes Go values of it.
// Null is the zero value.
type row = map[string]any

// query returns all rows in the order in which they come.
func (c *cqlsh) query(stmt string, args ...any) []row {
	c.Helper()
	rows, err := c.Query(stmt, args...).WithContext(c.ctx).Iter().SliceMap()
	if err != nil {
		c.Fatalf("%s: %v", stmt, err)
	}
	return rows
}

// one returns the only row that there should be.
func (c *cqlsh) one(stmt string, args ...any) row {
	c.Helper()
	rows := c.query(stmt, args...)
	if len(rows) != 1 {
		c.Fatalf("%s: %d rows, want one", stmt, len(rows))
	}
	return rows[0]
}

func (c *cqlsh) exec(stmt string, args ...any) {
	c.Helper()
	if err := c.Query(stmt, args...).WithContext(c.ctx).Exec(); err != nil {
		c.Fatalf("%s: %v", stmt, err)
	}
}

// column returns one column of all rows.
func column[T any](rows []row, name string) []T {
	all := make([]T, len(rows))
	for i, r := range rows {
		all[i] = r[name].(T)
	}
	return all
}
