package drivers

import (
	"fmt"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// maxConflicts is how many differences an error names.
const maxConflicts = 3

// Conflict returns an error that names the first differences between a schema and the
// existing tables, the most harmful first. Without differences it returns nil.
func Conflict(differences []schemas.Difference) error {
	if len(differences) == 0 {
		return nil
	}
	return fmt.Errorf("a different schema of that name is there: %s; use another namespace or data directory, or the "+
		"schema it was made with", first(differences))
}

// first names the first differences.
func first(differences []schemas.Difference) string {
	var words []string
	for i, d := range differences {
		if i == maxConflicts {
			words = append(words, fmt.Sprintf("and %d more", len(differences)-i))
			break
		}
		words = append(words, d.String())
	}
	return strings.Join(words, "; ")
}

// Missing compares a schema with the existing tables, in the forms that Store.Stored and
// Store.Inspect return. It returns the tables and indexes that Apply has yet to create.
// Any other difference is a Conflict.
func Missing(stored, there *schemas.Schema) (missing []schemas.Difference, err error) {
	var others []schemas.Difference
	for _, d := range schemas.Diff(stored, there) {
		if d.Kind == schemas.MissingTable || d.Kind == schemas.MissingIndex {
			missing = append(missing, d)
		} else {
			others = append(others, d)
		}
	}
	return missing, Conflict(others)
}

// Readable compares a schema with the existing tables, as Missing does. It returns an
// error that names the first differences if rows cannot be read as the schema says. Different
// settings and indexes, and further tables and columns, are none.
func Readable(stored, there *schemas.Schema) error {
	var others []schemas.Difference
	for _, d := range schemas.Diff(stored, there) {
		switch d.Kind {
		case schemas.MissingTable, schemas.MissingColumn, schemas.DifferentKey, schemas.DifferentType,
			schemas.DifferentRole, schemas.DifferentOrder:
			others = append(others, d)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return fmt.Errorf("its tables are not those of schema %s: %s; \"mailbench schema diff\" names all that differs",
		stored.Name, first(others))
}

// CheckKeyspace returns an error if Keyspace is given for a store that may write:
// then it could write where mailbench did not create the tables.
func (o Options) CheckKeyspace() error {
	if o.Keyspace != "" && !o.ReadOnly {
		return fmt.Errorf("keyspace %s: a store with a keyspace can only be opened for reading", o.Keyspace)
	}
	return nil
}
