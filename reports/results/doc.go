// Package results is the vocabulary of measuring: a run with its cells (a phase of a model on an
// engine), the operations of a cell with their counts, costs and latencies, verdicts, doubts,
// objectives, searches, sweeps and audits. It also has their form on disk: run.json, its JSON
// Schema, and the run directory. Add puts results of shards, trials or times together.
// docs/results.md describes the format.
//
// The package judges nothing and writes no report: see reports/judge and reports.
package results
