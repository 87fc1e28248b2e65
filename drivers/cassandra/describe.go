package cassandra

import (
	"context"
	"fmt"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
)

var _ drivers.Describer = (*Store)(nil)

// Describe implements drivers.Describer. Cassandra itself writes the statements, since 4.0.
func (a *administration) Describe(ctx context.Context, keyspace string) (string, error) {
	if err := a.enter(); err != nil {
		return "", fmt.Errorf("describe keyspace %s: %w", keyspace, err)
	}
	defer a.leave()
	there, err := readKeyspace(ctx, a.session, keyspace)
	if err == nil && there == nil {
		err = a.absent(ctx, keyspace)
	}
	if err != nil {
		return "", fmt.Errorf("describe keyspace %s: %w", keyspace, err)
	}
	var b strings.Builder
	it := a.session.Query("DESCRIBE KEYSPACE " + ddl.Quote(keyspace)).WithContext(ctx).Iter()
	var in, kind, name, statement string
	for it.Scan(&in, &kind, &name, &statement) {
		b.WriteString(statement + "\n\n")
	}
	if err := it.Close(); err != nil {
		return "", fmt.Errorf("describe keyspace %s: %w", keyspace, err)
	}
	return b.String(), nil
}

// Prepared implements drivers.Describer. system.prepared_statements is a table of each node.
func (a *administration) Prepared(ctx context.Context, keyspace string) (string, error) {
	if err := a.enter(); err != nil {
		return "", fmt.Errorf("read prepared statements: %w", err)
	}
	defer a.leave()
	var b strings.Builder
	it := a.session.Query("SELECT logged_keyspace, query_string FROM system.prepared_statements").WithContext(ctx).Iter()
	var in, text string
	for it.Scan(&in, &text) {
		if in == "" || in == keyspace {
			b.WriteString(strings.TrimRight(strings.Join(strings.Fields(text), " "), "; ") + ";\n")
		}
	}
	if err := it.Close(); err != nil {
		return "", fmt.Errorf("read prepared statements: %w", readError(err))
	}
	return b.String(), nil
}
