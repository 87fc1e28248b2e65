// Package fit measures mail or a trace, and writes a workload whose distributions fit it.
// [Sample] holds the measurements: [Sample.ReadMbox], [Sample.ReadMaildir] and
// [Sample.ReadTrace] fill it, and [Sample.Workload] is the text of the workload. Comments in
// it say how well each distribution fits. No address, name or subject gets into it.
//
// A distribution is judged by the Kolmogorov-Smirnov distance D: the largest difference
// between the share of values up to some size in the sample, and in the distribution. The
// package takes the nearest distribution if that is near enough, and else a measured one
// (empirical).
//
// Operations of a trace become a mix with their rate. How long users pause and which operation
// follows which is written as comments, from which a person can write a session.
package fit
