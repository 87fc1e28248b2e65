// Package run carries out a workload: for each model on each engine, in each trial,
// it opens a target, loads it, lets it settle, warms it up and measures, and puts
// all that was seen into a reports.Run. Package judge then says whether the figures
// can be used.
//
// # A deterministic run
//
// The seed alone decides what an operation is and when it is due. The live message
// that it finds depends on what other workers have done before. A workload is
// deterministic if it has one loader (load: {clients: 1}), a warm-up of a fixed
// number of operations (warmup: {operations: N}) and one client (measure:
// {clients: 1, operations: N}). Two runs of it make the same calls on the same
// messages, and count the same calls, rows and bytes.
package run
