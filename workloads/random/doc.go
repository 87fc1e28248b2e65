// Package random is where a workload's chance comes from: numbers that are a
// pure function of (seed, stream, n), and the distributions of sizes, counts
// and keys that a workload file can name. Nothing here keeps state between
// draws, so operation n is the same whoever makes it and whenever.
//
// In a workload file a distribution of sizes or counts ([Dist]) is one of
//
//	8KB                                              always this
//	{constant: 8KB}                                  the same
//	{uniform: {min: 1KB, max: 4KB}}                  every whole number alike
//	{lognormal: {median: 6KB, p99: 200KB}}           the body of mail sizes
//	{pareto: {min: 20KB, alpha: 1.2, max: 25MB}}     the tail of mail sizes
//	{zipf: {s: 1.5, max: 50}}                        1 … max, k with weight k^-s
//	{empirical: [[512B, 0], [2KB, 0.235], [4KB, 1]]} a measured CDF, log-linear between its points
//
// and a choice among keys ([Keys]) is one of
//
//	uniform                   every key alike
//	{zipf: {theta: 0.99}}     key of rank k with weight k^-theta, popular keys spread
//	{latest: {theta: 0.99}}   the same, rank 1 being the newest
//
// with theta left out, "zipf" and "latest" alone stand for 0.99, as in YCSB.
package random
