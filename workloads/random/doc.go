// Package random draws the random numbers of a workload. They are a pure function of
// (seed, stream, n). The package has the distributions of sizes, counts and keys that a
// workload file can name. It keeps no state between draws, so operation n is always the
// same, whichever worker makes it.
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
//	{empirical: [[1, 0], [1, 0.7], [2, 0.7], [2, 1]]} seven times in ten 1, else 2: points above each other
//
// and a choice among keys ([Keys]) is one of
//
//	uniform                   every key alike
//	{zipf: {theta: 0.99}}     key of rank k with weight k^-theta, popular keys spread
//	{latest: {theta: 0.99}}   the same, rank 1 being the newest
//	{largest: {theta: 0.99}}  the same, rank 1 being the largest
//
// The last three without theta mean 0.99, as in YCSB.
package random
