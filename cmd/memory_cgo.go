//go:build cgo

package cmd

/*
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

static void tune_malloc(void) {
#ifdef __GLIBC__
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif
}
*/
import "C"

// memoryLimit in bytes is of Go's memory alone: the embedded engine takes its
// memtables and its cache, twice 64 MB, from C.
const memoryLimit = 96 << 20

// tuneMalloc makes C's allocator give memory back. By default glibc raises the
// size from which on a block is mapped by itself with each that is freed, up to
// a memtable's 32 MB; later ones then lie in heaps, one for each of many
// threads, that keep what was freed: a run took 25 MB more with each store that
// it opened.
func tuneMalloc() { C.tune_malloc() }
