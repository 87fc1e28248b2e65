// Package validate checks what a store holds against its schema, on any engine and
// without knowing the model: whether every value is one of its column's type, every
// reference has its row, every count is what a recount finds.
//
//	report, err := validate.Run(ctx, store, schema, validate.Config{Dir: scratch, Workers: 4})
//	report.Broken() // rows, or 0
//
// It reads each table once, in parts that several sessions read at the same time,
// and never writes to the store. A row that takes part in a reference or count of
// the schema leaves a record in a file of Config.Dir: a digest of its variables, and
// for a row that may be named later its key. The digest says in which of the files,
// so that records of rows which belong together meet in one. Each file is then
// sorted by digest in memory; one that is too large is divided again. So memory is
// bounded however large the store is, and the files take 20 to 150 bytes for each
// row that takes part.
//
// In a sample, only some parts of each table are read. Their references are looked
// up in the store one by one, where the key of the other row follows from the row.
// Counts are not checked, nor references that cannot be looked up.
//
// Rows that are written while it runs may be found without the rows that were
// written with them. A store should be quiet.
package validate
