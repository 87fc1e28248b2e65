// Package faulty breaks a store on purpose. [Wrap] puts one named fault of
// [Faults] in front of any [drivers.Store]; a contract suite that does not fail
// on it has a hole. The faults are ones that real drivers had: a fetch size
// taken for a limit, a reversed scan with its bounds the wrong way round, a
// batch sent as single writes, an increment sent twice.
//
// It is for tests only: nothing that measures imports it.
package faulty
