package lint

import (
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

// mostInDatabase is the size in bytes below which a database is better for a blob than a file.
const mostInDatabase = 256 << 10

// outsideRules are about bodies in a store of blobs beside the engine.
func outsideRules() []*Rule {
	return []*Rule{{
		ID: "content-outside", Severity: Note,
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				c.outside(t, func(r *schemas.Rows, store string) {
					c.atTable(t, "%s of more than %s is a file of %s: the engine neither copies nor backs it up, and no batch has it",
						schemas.Content[r.Of], words.Size(float64(r.Above)), store)
				})
			})
		},
	}, {
		ID: "small-files", Severity: Note,
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				c.outside(t, func(r *schemas.Rows, store string) {
					if r.Above < mostInDatabase {
						c.atTable(t, "%s becomes a file of %s from %s on, and a database handles less than %s better",
							schemas.Content[r.Of], store, words.Size(float64(r.Above)), words.Size(mostInDatabase))
					}
				})
			})
		},
	}}
}

// outside yields the rows of a table whose contents a store beside the engine may have.
func (c *checker) outside(t *schemas.Table, yield func(r *schemas.Rows, store string)) {
	for _, r := range t.Rows {
		if store := r.Store(); store != "" && schemas.Content[r.Of] != "" {
			yield(r, store)
		}
	}
}
