package oraclenosql

import (
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// reserved lists the words of the grammar that cannot be names: its rule id leaves them
// out.
var reserved = []string{
	"cascade", "force", "join", "left", "maxvalue", "minvalue", "only", "outer", "uuid", "null", "false", "true",
}

// identifier returns a name as SQL takes it: letters, digits and underscores, and no
// reserved word. Names of the schema language are short enough for Oracle, which takes
// 64 characters, and begin with a letter.
func identifier(name string) string {
	id := plain(name)
	if slices.Contains(reserved, strings.ToLower(id)) {
		id += "_"
	}
	return id
}

func plain(name string) string {
	return strings.NewReplacer(".", "_", "-", "_", "@", "_").Replace(name)
}

// namespaceOf returns the namespace of a schema: mailbench_NAMESPACE_SCHEMA.
func namespaceOf(namespace, schema string) string {
	if namespace != "" {
		namespace += "_"
	}
	return drivers.Prefix + namespace + plain(schema)
}

// lastName returns a nested table's own name, without those of the tables around it.
func lastName(t *schemas.Table) string {
	return identifier(t.Name[strings.LastIndexByte(t.Name, '.')+1:])
}
