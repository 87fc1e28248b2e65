package cassandra

import (
	"context"
	"errors"
	"fmt"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/schemas"
)

// awaitIndexes waits until every node has built the definition's indexes. A node
// refuses to read from an index that it has not built.
func (c *cluster) awaitIndexes(ctx context.Context, d *ddl.Definition) error {
	want := 0
	for _, td := range d.Tables {
		want += len(td.Indexes)
	}
	if want == 0 {
		return nil
	}
	for _, h := range c.nodes.reachable() {
		err := poll(ctx, func() (bool, error) {
			var built int
			err := c.session.Query(`SELECT COUNT(*) FROM system."IndexInfo" WHERE table_name = ?`, d.Keyspace).
				Consistency(gocql.One).WithContext(toNode(ctx, h)).Scan(&built)
			return built >= want, err
		})
		if hidden(err) {
			return c.awaitIndexReads(ctx, d)
		}
		if err != nil {
			return fmt.Errorf("wait for %d indexes on %s: %w", want, h.ConnectAddress(), err)
		}
	}
	return nil
}

// awaitIndexReads waits until each index can be read. It is for clusters that do not show this
// user which indexes are built.
func (c *cluster) awaitIndexReads(ctx context.Context, d *ddl.Definition) error {
	for _, td := range d.Tables {
		for _, x := range td.Indexes {
			is := "="
			switch x.Column.Type.Kind {
			case schemas.Set, schemas.List, schemas.Map:
				is = "CONTAINS"
			}
			query := fmt.Sprintf("SELECT %s FROM %s WHERE %s %s ? LIMIT 1", ddl.Quote(td.Table.Partition[0].Name),
				d.Qualified(td.Name), ddl.Quote(x.Column.Name), is)
			err := poll(ctx, func() (bool, error) {
				err := c.session.Query(query, anyValue{}).Consistency(c.settings.consistency).WithContext(ctx).Exec()
				var refused gocql.RequestError
				if errors.As(err, &refused) && refused.Code() == gocql.ErrCodeReadFailure {
					return false, nil // some replica has not built it
				}
				return err == nil, err
			})
			if err != nil {
				return fmt.Errorf("wait for index %s of table %s: %w", x.Name, td.Table.Name, err)
			}
		}
	}
	return nil
}

// anyValue is a bind value that fits a column of any type.
type anyValue struct{}

// MarshalCQL implements gocql.Marshaler.
func (anyValue) MarshalCQL(t gocql.TypeInfo) ([]byte, error) {
	switch t.Type() {
	case gocql.TypeInt:
		return make([]byte, 4), nil
	case gocql.TypeBoolean:
		return make([]byte, 1), nil
	case gocql.TypeBigInt:
		return make([]byte, 8), nil
	case gocql.TypeUUID, gocql.TypeTimeUUID:
		id := make([]byte, 16)
		id[6] = 1 << 4 // version 1, which is valid for both types
		return id, nil
	}
	return []byte("x"), nil
}
