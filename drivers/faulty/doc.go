// Package faulty breaks a store on purpose. [Wrap] gives any [drivers.Store] one
// named fault of [Faults]. A contract suite that does not fail on the store has a
// hole. The faults are ones that real drivers had: a fetch size taken for a limit,
// a reversed scan with its bounds swapped, a batch sent as single writes, an
// increment sent twice.
//
// It is for tests only: nothing that measures imports it.
package faulty
