package lint

import (
	"testing"

	"github.com/mailbench/mailbench/schemas"
)

// A table without clustering columns has none that grows, whatever its rows say.
func TestRowsWithoutClustering(t *testing.T) {
	s, err := schemas.Parse("one.yaml", []byte(`schema: 1
name: one
doc: rows of all users in one partition, by its key alone
tables:
  t: {partition: [k text], columns: {v: int}, rows: [{each: message, partition: all, sizes: {k: 1}}]}
patterns:
  write: {put: t, columns: [v]}
  read: {get: t, columns: [v]}
`))
	if err != nil {
		t.Fatal(err)
	}
	if c := growing(s.Tables[0], 0); c != nil {
		t.Errorf("column %s grows", c.Name)
	}
}
