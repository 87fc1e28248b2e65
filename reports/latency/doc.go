// Package latency records how mail operations ended and how long they took: three
// times for each that was ok (response, service, lag), and how long those took
// that failed or whose outcome is unknown, in HDR histograms of nanoseconds. Workers record into histograms of their own; a collector takes these
// at ticks, writes them as an interval log that HdrHistogram tools read, and
// adds them to the totals of the phase.
//
//	rec := latency.NewRecorder(len(opNames), workers, true)
//	w := rec.Worker(i)                                       // one for each worker
//	w.Record(op, latency.OK, due, start, end)                // allocates nothing
//	iv := rec.Tick(now)                                      // one goroutine, now and then
//	rec.Total(op).Response.ValueAtQuantile(99.9)
package latency
