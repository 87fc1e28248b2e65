// Package plan is what a workload comes to, operation by operation: the population drawn from
// the seed (Census), the order of its load (LoadOrder, Growth), when operations are due
// (Schedule), and what operation n is (Plan). A Stream puts them together for a phase; a Shard
// is the part of one load generator. All of it is drawn from (seed, n), so a run replays exactly.
// It reads no clock and knows no store.
package plan
