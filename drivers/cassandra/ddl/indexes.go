package ddl

import (
	"fmt"

	"github.com/mailbench/mailbench/schemas"
)

const (
	legacyIndex = "legacy"
	sai         = "sai"
)

func indexKind(t *schemas.Table) (string, error) {
	switch kind := t.Hints[EngineName][indexesHint]; kind {
	case "":
		return legacyIndex, nil
	case legacyIndex, sai:
		return kind, nil
	default:
		return "", fmt.Errorf("table %s: hint %s: %q; expected legacy or sai", t.Name, indexesHint, kind)
	}
}

// IndexDefinition is an index that Cassandra keeps.
type IndexDefinition struct {
	Name   string
	Column *schemas.Column
}

// indexesOf returns the indexes to create for a table. There is one for each
// column that is last in some index: a second one would be the same.
func indexesOf(t *schemas.Table) []IndexDefinition {
	var all []IndexDefinition
	has := make(map[*schemas.Column]bool)
	for _, x := range t.Indexes {
		column := x.Columns[len(x.Columns)-1].Column
		if !t.OneColumn(x) || has[column] {
			continue
		}
		has[column] = true
		all = append(all, IndexDefinition{Name(x.Name), column})
	}
	return all
}
