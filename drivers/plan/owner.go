package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
)

// PlaceName returns how the names of a schema's tables, or of their place, begin: mailbench_NAMESPACE_SCHEMA, or
// mailbench_SCHEMA without a namespace.
func PlaceName(namespace, schema string) string {
	if namespace != "" {
		namespace += "_"
	}
	return drivers.Prefix + namespace + schema
}

// Identifier turns a name of the language into letters, digits and underscores: "users.folder" becomes users_folder,
// "james@one-lwt" james_one_lwt.
func Identifier(name string) string {
	return strings.NewReplacer(".", "_", "-", "_", "@", "_").Replace(name)
}

// Mark is what the mark of every table says.
type Mark struct {
	Namespace string `json:"namespace,omitempty"`
	Schema    string `json:"schema"`
	Table     string `json:"table"` // its name in the schema
}

// Own notes the mark of a table, which is to be that of a namespace and a schema.
func (f *Found) Own(table string, has Mark, marked bool, namespace, schema string) {
	switch {
	case f.Foreign != nil:
	case !marked:
		f.Foreign = fmt.Errorf("table %s: %w", table, drivers.ErrForeign)
	case has.Schema != schema || has.Namespace != namespace:
		f.Foreign = fmt.Errorf("table %s is that of schema %s in the namespace %q", table, has.Schema, has.Namespace)
	}
}

// markPrefix begins the comment of each table that mailbench created. A keyspace or namespace is
// mailbench's if all of its tables have it.
const markPrefix = "mailbench "

// MarkText returns the comment that marks a table as mailbench's. It holds what the engine cannot say of a table; all
// else is read from the engine.
func MarkText(mark any) string {
	var b strings.Builder
	b.WriteString(markPrefix)
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // keeps map<text,bigint> readable
	if err := e.Encode(mark); err != nil {
		panic(err) // strings, numbers and maps of them can always be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// ReadMark reads a table's comment into mark. It returns false if mailbench did not write the comment, or somebody
// has changed it so that it makes no sense.
func ReadMark(comment string, mark any) bool {
	text, ok := strings.CutPrefix(comment, markPrefix)
	return ok && json.Unmarshal([]byte(text), mark) == nil
}

// Owner says which run made a place, by the marks of its tables.
type Owner struct {
	Namespace string // of the run
	Tables    int
	Foreign   string // a table without a mark, or of another run; "" if there is none
}

// Add adds a table with the namespace that its mark has.
func (o *Owner) Add(table, namespace string, marked bool) {
	switch {
	case !marked || o.Tables > 0 && o.Foreign == "" && namespace != o.Namespace:
		o.Foreign = table
	case o.Foreign == "":
		o.Namespace = namespace
	}
	o.Tables++
}

// Owners are the owners of places by their names, which all begin with drivers.Prefix.
type Owners map[string]*Owner

// Of returns the owner of a place, which it adds if it is new.
func (all Owners) Of(place string) *Owner {
	if all[place] == nil {
		all[place] = new(Owner)
	}
	return all[place]
}

// Namespaces returns those of all runs, sorted.
func (all Owners) Namespaces() []string {
	names := make(map[string]bool)
	for _, o := range all {
		if o.Tables > 0 && o.Foreign == "" && o.Namespace != "" {
			names[o.Namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
