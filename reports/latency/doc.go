// Package latency records how mail operations ended and how long they took.
//
// An operation that was ok has three times: response time, service time and lag. An
// operation that failed or whose outcome is unknown has one: how long it kept its
// caller waiting. Times are kept in HDR histograms of nanoseconds.
//
// Each worker records into histograms of its own. A collector takes these at
// ticks, writes them as an interval log that HdrHistogram's tools read, and adds
// them to the totals of the phase.
package latency
