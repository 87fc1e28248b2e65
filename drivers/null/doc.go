// Package null is the engine that does nothing. A workload's cost on it is that of
// the harness and of the model's own CPU and allocations. It takes every pattern,
// acknowledges every write (a put-if too), never blocks, and allocates nothing
// once it has its samples.
//
// # What is read
//
// Models must do their whole work on this engine, decoding included. Otherwise the floor
// would be the cost of lookups that fail. So a table keeps samples: the rows that its
// first 25 puts, put-ifs, adds and appends wrote. A read yields samples:
//
//   - Columns that by or an element of in bind have the arguments' values. All others
//     have the sample's. A get yields one row, and so does each element of its list: the
//     sample whose last key column is the text of the argument, or else the first sample
//     that has all columns asked for, or else the first.
//   - A slice yields the samples with the key prefix of the first sample, for example the
//     folders of a user or the chunks of a body. They have the order of writing, or the
//     reverse. From and to apply to int and bigint columns.
//   - A slice with after is a page. It repeats those samples up to its limit, 25 at most.
//     A page after some row is empty. So a folder is one page long, and callers that page
//     to the end reach it.
//   - A scan yields each sample once.
//   - A table that was never written yields nothing. Filters are not applied,
//     deletes delete nothing, and static columns beside rows are null.
//   - An add that returns the new value returns a number that ascends over the
//     whole store, so that UIDs are unique.
//
// A read, a write or a batch is one request, and so is each element of a parallel get. Of rows
// examined the engine tells nothing.
//
// So a read does not return the rows that were written under its key, and an audit
// means nothing (see Capabilities.Discards).
package null
