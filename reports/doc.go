// Package reports holds the results of a run: the types of run.json, the run
// directory, and the reports for people and for other tools (a text table, an
// HTML page that needs nothing else, Go benchmark lines). A report can always be
// made again from a run directory. docs/results.md describes the format.
//
// Package reports/latency records latencies. Package reports/judge says whether
// figures can be used.
package reports
