// Package reports holds a run's results: the types that run.json is made of,
// the run directory, and what is made from it for people and for other tools
// (a text table, a self-contained HTML page, Go benchmark lines). Reports can
// always be made again from a run directory; a reporter writes to an io.Writer.
//
// Package reports/latency records the latencies themselves.
package reports
