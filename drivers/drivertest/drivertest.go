// Package drivertest tests the contract of every engine. It is one suite over any
// [drivers.Store]. A driver's test is one call:
//
//	func TestContract(t *testing.T) { drivertest.Run(t, open) }
//
// Each topic reads one schema of this package, gives it a name of its own, and asks for
// a store with that schema applied. All topics can share an engine that is slow to
// start. The suite learns from Capabilities and Prepare what an engine lacks, never from
// its name.
//
// The suite keeps the caller's side of the contract as strictly as the contract
// allows. It overwrites arguments when a call has returned, and copies rows before
// yield returns. Every call goes through a [drivers.Meter].
package drivertest

import (
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Open returns a store to which the schema was applied. The suite closes its
// sessions, never the store: Open leaves that to t.Cleanup, or shares the store.
type Open func(t testing.TB, s *schemas.Schema) drivers.Store

// Topic is one part of the contract.
type Topic struct {
	Name string
	Run  func(t testing.TB, open Open)
}

// Topics returns the parts of the contract, simple ones first.
func Topics() []Topic {
	return []Topic{
		{"rows", rows},
		{"apply", apply},
		{"order", order},
		{"composite", composite},
		{"limits", limits},
		{"paging", paging},
		{"multiget", multiget},
		{"filters", filters},
		{"scans", scans},
		{"splits", splits},
		{"traces", traces},
		{"keys", oddKeys},
		{"values", oddValues},
		{"narrow", narrow},
		{"large", large},
		{"sets", sets},
		{"lists", lists},
		{"maps", maps},
		{"counters", counters},
		{"returns", returns},
		{"conditions", conditions},
		{"batches", batches},
		{"isolation", isolation},
		{"statics", statics},
		{"nested", nested},
		{"family", family},
		{"deletes", deletes},
		{"ties", ties},
		{"indexes", indexes},
		{"fallbacks", fallbacks},
		{"random indexes", randomIndexes},
		{"sessions", sessions},
		{"contexts", contexts},
		{"concurrency", concurrency},
		{"meter", meter},
		{"random", random},
	}
}

// Run tests that the stores which open returns keep the contract.
func Run(t *testing.T, open Open) {
	for _, topic := range Topics() {
		t.Run(topic.Name, func(t *testing.T) { topic.Run(t, open) })
	}
}
