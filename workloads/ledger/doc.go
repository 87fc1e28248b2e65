// Package ledger keeps what a store acknowledged and proves afterwards, also after
// a crash, that the store kept it.
//
// A Ledger is the file to which a run appends. ReadHistory folds it into what must
// be in the store. An Auditor reads the store through its model and compares.
package ledger
