// Package trace measures what each access pattern of a model costs inside an engine:
//
//	report, err := trace.Run(ctx, trace.Config{Model: m, Engine: e, Workload: w})
//
// Run loads a small population as any run does (package workloads/run). Then one client
// runs the mail operations of the workload on sessions that have the engine tell what it
// does (drivers.Tracer). Each call of a pattern is counted with what the engine did for
// it. Times are longer than those of a run, since telling takes time itself.
package trace
