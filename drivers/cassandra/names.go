package cassandra

import (
	"fmt"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// maxName is the longest name of a keyspace, table or index that Cassandra
// takes: each is part of a file's name.
const maxName = 48

// Keyspace returns the keyspace that a schema of that name is applied to:
// mailbench_<namespace>_<schema>, or mailbench_<schema> without a namespace.
func Keyspace(namespace, schema string) (string, error) {
	name := drivers.Prefix
	if namespace != "" {
		name += namespace + "_"
	}
	name += cqlName(schema)
	if len(name) > maxName {
		return "", fmt.Errorf("keyspace %s is %d characters long, Cassandra takes %d: give the schema or the namespace a shorter name", name, len(name), maxName)
	}
	return name, nil
}

// cqlName returns the name of a schema, table or index as Cassandra takes it:
// letters, digits and underscores, so that "users.folder" is users_folder.
func cqlName(name string) string { return strings.NewReplacer(".", "_", "-", "_").Replace(name) }

// quote returns an identifier as it stands, in double quotes: columns are
// called "from", "to" and "key", tables JAMES_MESSAGES.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literal returns a CQL string literal.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// tableName returns what a table is called in CQL. The only table below a row
// header is the rows that the document speaks of, and has the header's name:
// ElasticInbox's super column family MessageMetadata is the CQL table
// "MessageMetadata" with the primary key (key, message, name).
func tableName(t *schemas.Table) string {
	for t.Parent != nil && t.Parent.Header() && len(t.Parent.Children) == 1 {
		t = t.Parent
	}
	return cqlName(t.Name)
}

// cqlType returns a type as CQL writes it. A timestamp of the schema language
// counts microseconds, CQL's milliseconds: it is kept as the bigint that it is,
// which sorts the same way and loses nothing.
func cqlType(t schemas.Type) string {
	switch t.Kind {
	case schemas.Timestamp:
		return "bigint"
	case schemas.Set, schemas.List:
		return fmt.Sprintf("%s<%s>", t.Kind, cqlType(*t.Elem))
	case schemas.Map:
		return fmt.Sprintf("map<%s, %s>", cqlType(*t.Key), cqlType(*t.Elem))
	}
	return t.Kind.String()
}
