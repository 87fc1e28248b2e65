// Package fit measures mail or a trace, and writes a workload whose distributions fit it.
// [Sample] is what was seen: [ReadMbox], [ReadMaildir] and [ReadTrace] fill it, and
// [Sample.Workload] is the text of the workload. Comments in it say how well each
// distribution fits. No address, name or subject gets into it.
//
// A distribution is judged by the Kolmogorov-Smirnov distance D: the largest difference
// between the share of values up to some size in the sample, and in the distribution. The
// simplest distribution that is near enough is taken. A measured one (empirical) takes
// its place where none is.
//
// Operations of a trace are sessions if its users make short and long pauses that a valley
// parts. Of all forms of steps with one repetition the one is taken in which what follows
// what is nearest to the trace. Two sessions that one user has at once are taken for one:
// what comes up in less than 1% of the sessions is left out.
package fit
