//go:build !cgo

package drive

// usualMemory bounds all memory, in bytes. The embedded engine takes its memtables and
// cache, twice 64 MB, from Go.
const usualMemory = 200 << 20

// tuneMalloc does nothing: without cgo there is no C allocator.
func tuneMalloc() {}
