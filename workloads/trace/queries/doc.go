// Package queries runs the reads of a file on a live keyspace, and puts what each cost beside what
// lint foretells of it:
//
//	report, err := queries.Run(ctx, queries.Config{Store: st, Engine: e, Keyspace: k, Sources: files})
//
// A statement that writes is not run, and of a read no more than a page.
package queries
