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
// The name of a test tells what it needs. Concurrent tests, and a model's other tests
// with Workers or Race in their names, run many workers and are useful with the race
// detector. Live tests need real engines, Quorum tests a cluster of three nodes. The
// others need nothing.
//
// Most rules are differential: they run each step on the model and on a plain
// in-memory mailbox (the reference), and compare folders, order, pages, numbers,
// flags, and every byte. Other rules cover damage, heap and races. Each rule has its
// own tables and ends with an audit of them.
package modeltest
