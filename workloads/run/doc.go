// Package run carries out a workload: for each model on each engine it loads
// the mail, lets the store settle, warms up and measures, and says in the
// result whether the figures can be used.
//
// One operation goes this way: a worker claims the next number n of the phase,
// makes operation, target and message of n from (seed, n), waits until n is due,
// reads the clock, calls the model's Mailbox, reads the clock again, and
// records what that took and how it ended. The Mailbox runs on a metered
// session of the engine, so calls, rows and bytes are counted too.
package run
