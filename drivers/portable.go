package drivers

import (
	"fmt"

	"github.com/mailbench/mailbench/schemas"
)

// Portable returns an error that wraps ErrUnsupported if a schema has what only Cassandra has: types
// of CQL, and what schema import carries through. Every other engine refuses such a schema.
func Portable(s *schemas.Schema) error {
	if why := s.CassandraOnly(); why != "" {
		return fmt.Errorf("schema %s: %s, which no engine but Cassandra has: %w", s.Name, why, ErrUnsupported)
	}
	return nil
}
