package ddl

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// maxName is the longest name that Cassandra takes for a keyspace, table or index,
// which are all parts of file names.
const maxName = 48

// Keyspace returns the name of a schema's keyspace: mailbench_<namespace>_<schema>,
// or mailbench_<schema> without a namespace.
func Keyspace(namespace, schema string) (string, error) {
	name := drivers.Prefix
	if namespace != "" {
		name += namespace + "_"
	}
	name += Name(schema)
	if len(name) > maxName {
		return "", fmt.Errorf("keyspace %s has %d characters, but Cassandra takes at most %d: shorten the schema's name or "+
			"the namespace",
			name, len(name), maxName)
	}
	return name, nil
}

// Name turns the name of a schema, table or index into letters, digits and
// underscores: "users.folder" becomes users_folder, "james@one-family" james_one_family.
func Name(name string) string {
	return strings.NewReplacer(".", "_", "-", "_", "@", "_").Replace(name)
}

// Quote returns an identifier in double quotes. Without them CQL would refuse keywords, such as
// the columns "from", "to" and "key", and ignore capitals, such as those of JAMES_MESSAGES.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func Literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// tableName returns a table's name in CQL. A table that is alone below a row header
// has the header's name, because the document gives its rows that name. So
// ElasticInbox's super column family MessageMetadata is the CQL table
// "MessageMetadata" with the primary key (key, message, name).
func tableName(t *schemas.Table) string {
	for t.Parent != nil && t.Parent.Header() && len(t.Parent.Children) == 1 {
		t = t.Parent
	}
	return Name(t.Name)
}

// cqlType returns a type in CQL. A timestamp becomes a bigint: the schema language
// counts microseconds, but a CQL timestamp only milliseconds. A bigint sorts the
// same way and loses nothing.
func cqlType(t schemas.Type) string {
	switch {
	case t.Foreign != "":
		return foreign(t.Foreign)
	case t.Kind == schemas.Timestamp:
		return "bigint"
	case t.Kind == schemas.Set, t.Kind == schemas.List:
		return fmt.Sprintf("%s<%s>", t.Kind, cqlType(*t.Elem))
	case t.Kind == schemas.Map:
		return fmt.Sprintf("map<%s, %s>", cqlType(*t.Key), cqlType(*t.Elem))
	}
	return t.Kind.String()
}

var typeWords = regexp.MustCompile(`\w+`)

// foreign returns a type that only CQL has as CQL writes it.
func foreign(text string) string {
	text = typeWords.ReplaceAllStringFunc(text, func(word string) string {
		switch {
		case word == "timestamp_ms":
			return "timestamp"
		case word == "timestamp":
			return "bigint"
		case strings.ToLower(word) != word:
			return Quote(word)
		}
		return word
	})
	return strings.ReplaceAll(text, ",", ", ")
}
