// Package null is the engine that does nothing. A workload's cost on it is that of
// the harness and of the model's own CPU and allocations. It takes every pattern,
// acknowledges every write (a put-if too), never blocks, and allocates nothing
// once it has its samples.
//
// # What is read
//
// Models must do their whole work on it, decoding included, or the floor would
// be that of a lookup that fails. So a table keeps samples: what its first 25
// puts, adds and appends wrote, and never more. A read yields samples as rows
// of whatever it asks for:
//
//   - Columns that by or an element of in bind have the arguments' values; all
//     others have the sample's. A get, and each element of its list, yields one row:
//     the sample whose last key column is the text asked for, if there is one,
//     else the first.
//   - A slice yields the samples that belong to the key prefix of the first
//     sample, as they were written or backwards, as its direction says: the
//     folders of a user, the chunks of a body. From and to are honoured on int
//     and bigint columns.
//   - A slice with after is a page: it repeats those samples up to its limit, 25
//     at most. After something it is empty: a folder is one page long, so that
//     callers which page to the end get there.
//   - A scan yields each sample once.
//   - A table that was never written yields nothing. Filters are not applied,
//     deletes delete nothing, and static columns beside rows are null.
//   - An add that returns the new value gives a number that ascends over the
//     whole store, so that UIDs are unique.
//
// So nothing that is read is true, and an audit means nothing
// (Capabilities.Discards).
package null
