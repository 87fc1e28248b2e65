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
		Doc: `What is larger than a threshold is a file of a store beside the engine. No batch has the file and its row: a
			delivery that breaks off leaves a file that nothing names, and a removal a file without its message. The
			engine neither copies the file to other nodes nor has it in its backups, and reads it for no other client.`,
		Source: "the package comment of models/blobs; ARCHITECTURE.md",
		Do: `Copy and back up the store by its own means, at a time after the engine's backup. Look for files without rows
			from time to time (an audit counts them).`,
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
		Doc: `Contents become files from less than 256 KB on. A file costs a directory entry, an open and a sync, whatever
			its size; a database handles objects below 256 KB better, and files those above 1 MB.`,
		Source: `R. Sears, C. van Ingen, J. Gray, To BLOB or Not To BLOB, Microsoft Research, MSR-TR-2006-45
			(https://www.microsoft.com/en-us/research/publication/to-blob-or-not-to-blob-large-object-storage-in-a-database-or-a-filesystem/)`,
		Do: "Set the threshold to 256 KB or more, or measure both (mailbench run blobstore).",
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
