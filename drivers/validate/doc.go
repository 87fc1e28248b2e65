// Package validate checks what a store holds against its schema, on any engine and
// without knowing the model: whether every value is one of its column's type, every
// reference has its row, every count is what a recount finds.
//
//	report, err := validate.Run(ctx, store, schema, validate.Config{Dir: scratch, Workers: 4})
//	report.Broken() // rows, or 0
//
// It reads each table once, in parts that several sessions read at the same time,
// and never writes to the store. For a row that takes part in a reference or count of
// the schema, it writes a record to a file of Config.Dir: a digest of the row's
// variables, and its key if a finding may name the row. The digest selects the file,
// so that records with the same variables are in one file. It then sorts each file by
// digest in memory, and divides a file that is too large again. So memory is
// bounded however large the store is, and the files take 20 to 150 bytes for each
// row that takes part.
//
// It also has the store compare the index entries that mailbench writes itself with their rows.
//
// In a sample, it reads only some parts of each table. It looks up their references
// in the store one by one, if the key of the other row follows from the row. It checks
// no counts and indexes, and no references that cannot be looked up.
//
// It may read a row that is written while it runs, and miss the rows written with it.
// So nothing should write to the store.
package validate
