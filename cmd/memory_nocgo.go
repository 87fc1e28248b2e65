//go:build !cgo

package cmd

// memoryLimit in bytes is of all memory: the embedded engine takes its memtables
// and its cache, twice 64 MB, from Go.
const memoryLimit = 200 << 20

// tuneMalloc has nothing to tune: nothing is C's.
func tuneMalloc() {}
