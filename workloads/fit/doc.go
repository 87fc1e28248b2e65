// Package fit measures mail or a trace, and writes a workload whose distributions fit it.
// [Sample] is what was seen: [ReadMbox], [ReadMaildir] and [ReadTrace] fill it, and
// [Sample.Workload] is the text of the workload. Comments in it say how well each
// distribution fits. No address, name or subject gets into it.
//
// A distribution is judged by the Kolmogorov-Smirnov distance D: the largest difference
// between the share of values up to some size in the sample, and in the distribution. The
// simplest distribution that is near enough is taken. A measured one (empirical) takes
// its place where none is.
package fit
