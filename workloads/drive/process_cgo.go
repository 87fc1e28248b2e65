//go:build cgo

package drive

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

// usualMemory bounds Go's memory, in bytes. The embedded engine takes its memtables and
// cache, twice 64 MB, from C.
const usualMemory = 96 << 20

// tuneMalloc makes C's allocator give memory back. By default each mapped block that is
// freed raises the size from which glibc maps blocks, up to a memtable's 32 MB. Later
// blocks are then in heaps, one for each of many threads. Heaps keep freed memory: a run
// took 25 MB more with each store it opened.
func tuneMalloc() { C.tune_malloc() }
