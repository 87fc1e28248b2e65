// Package modeltest is the contract of a mailbox data model: one suite, run over
// every model on every engine, beside the model:
//
//	var contract = modeltest.Suite{Model: james.Model(), Traits: …, Damages: …}
//
//	func TestContract(t *testing.T)           { contract.Run(t) }
//	func TestContractConcurrent(t *testing.T) { contract.RunConcurrent(t) }
//	func TestContractLive(t *testing.T)       { contract.RunLive(t) }
//	func TestContractQuorum(t *testing.T)     { contract.RunQuorum(t) }
//	func BenchmarkContract(b *testing.B)      { contract.Bench(b) }
//
// The names tell what a test needs: those with Concurrent in them are about many
// workers at once and worth the race detector, as are those with Workers or Race
// in a model's other tests; Live ones need real engines, Quorum ones a cluster of
// three nodes, and the others nothing.
//
// Most rules drive the model and a plain in-memory mailbox (the reference) side
// by side and compare them after each step: folders, order, pages, numbers,
// flags, and every byte. What the reference cannot tell (damage, heap, races)
// has rules of its own. Each rule runs on tables of its own and ends with an
// audit of them.
package modeltest
