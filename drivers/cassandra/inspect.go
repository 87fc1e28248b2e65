package cassandra

import (
	"context"
	"fmt"

	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/schemas"
)

// Stored implements drivers.Store. Cassandra keeps every table, the indexes for
// which schemas.Table.OneColumn is true, the options that hints set, each as a setting of
// its own (compaction.class), and how long rows live.
func (a *administration) Stored(sch *schemas.Schema) (*schemas.Schema, error) {
	own, err := ddl.Stored(sch)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", sch.Name, err)
	}
	return own, nil
}

// Inspect implements drivers.Store.
func (a *administration) Inspect(ctx context.Context, name string) (*schemas.Schema, error) {
	if err := a.enter(); err != nil {
		return nil, fmt.Errorf("inspect schema %s: %w", name, err)
	}
	defer a.leave()
	sch, err := a.inspect(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("inspect schema %s: %w", name, err)
	}
	return sch, nil
}

func (a *administration) inspect(ctx context.Context, name string) (*schemas.Schema, error) {
	keyspace, err := ddl.Keyspace(a.namespace, name)
	if err != nil {
		return nil, err
	}
	if a.keyspace != "" {
		keyspace = a.keyspace
	}
	k, err := readKeyspace(ctx, a.session, keyspace)
	if err != nil {
		return nil, fmt.Errorf("read keyspace %s: %w", keyspace, err)
	}
	if k == nil || len(k.Tables) == 0 {
		return nil, fmt.Errorf("there is no keyspace %s with tables", keyspace)
	}
	if a.keyspace != "" {
		k.MarkAs(nil)
	} else if err := k.Owned(a.namespace, name); err != nil {
		return nil, err
	}
	return k.Schema(name), nil
}
