// Package trace measures what each access pattern of a model costs inside an engine:
//
//	report, err := trace.Run(ctx, trace.Config{Model: m, Engine: e, Workload: w})
//
// Run loads a small population as any run does (package workloads/run). Then one client runs
// the mail operations of the workload on traced sessions (drivers.Tracer). The engine tells
// what it did for each call of a pattern. Times are longer than those of a run, since tracing
// takes time itself.
package trace
