// Package drive carries out one phase on one target: Drive(ctx, target, spec)
// returns a Measurement.
//
// One operation goes this way: a worker takes the next operation from the phase's
// stream, chooses what it works on from the target's live set, makes the message,
// and waits until the operation is due. It reads the clock, calls the model's
// Mailbox, reads the clock again, and records what that took and how it ended. The
// Mailbox runs on a metered session of the engine, so calls, rows and bytes are
// counted too. At each tick a collector takes what the workers recorded.
//
// Between the two readings of the clock nothing allocates but model and engine.
package drive
