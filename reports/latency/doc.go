// Package latency records how long mail operations took: three times for each
// (response, service, lag), in HDR histograms of nanoseconds, and how each
// ended. Workers record into histograms of their own; a collector takes these
// at ticks, writes them as an interval log that HdrHistogram tools read, and
// adds them to the totals of the phase.
//
//	rec := latency.NewRecorder(len(opNames), workers, true)
//	w := rec.Worker(i)                                       // one for each worker
//	w.Record(op, latency.OK, due, start, end)                // allocates nothing
//	iv := rec.Tick(now)                                      // one goroutine, now and then
//	rec.Total(op).Response.ValueAtQuantile(99.9)
package latency
