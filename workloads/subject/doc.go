// Package subject is what a run works on: one model on one engine's store, the data
// set that was loaded into it, and the live messages that operations choose from.
//
//	t, err := subject.Open(ctx, config)   // store, schema, statements
//	load, err := t.Populate(ctx)         // accounts; what messages the data set lacks
//	m, err := drive.Drive(ctx, t, …)     // delivers them
//	err = t.Loaded()                     // the data set is complete
//	quiet, err := t.Settle(ctx)
//	err = t.Close(ctx)
package subject
