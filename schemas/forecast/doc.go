// Package forecast estimates how large the tables of a schema become: rows, bytes on
// disk, the sizes of partitions, and when a limit of the engine is passed.
//
// It needs three things. The schema's "rows" say which rows a user, a folder, a
// message or an attachment makes in which table, and how large their columns are.
// A [Population] says how many of these there are and what the messages are like.
// An [Engine], which drivers have, knows what a row takes in its engine's files.
//
//	f, err := forecast.Make(schema, population, engine)
//	f.Tables[0].At(0).Bytes  // now
//	f.Tables[0].At(2).Bytes  // in two years
//
// Sizes are without compression. A population grows in time: each folder receives
// mail at its own rate, which is Growth.Yearly messages a year for each that it has
// at the start, and loses what users delete.
package forecast
