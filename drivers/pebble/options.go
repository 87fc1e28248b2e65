package pebble

import (
	"runtime"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

const (
	// memTableSize is in bytes. With Pebble's default of 4 MB, deliveries stall for seconds.
	// With 16, 32 and 64 MB they are equally fast, and the disk gets 8 KB bodies 4.0, 3.7 and
	// 3.2 times. Two memtables of 64 MB, a cache and Pebble's buffers for large rows would be
	// more than the 300 MB that a run may take.
	memTableSize = 32 << 20
	memTables    = 2 // one takes writes while the other is flushed
	// defaultCache is the size of the block cache in bytes, unless Options say another.
	defaultCache = 64 << 20
	// minSeparate is the size in bytes from which values go to blob files, which compactions
	// need not rewrite. Bodies go there, metadata does not.
	minSeparate = 1 << 10
)

// Tuned returns the options with which the engine runs Pebble. Benchmarks that compare the
// engine with Pebble alone use them too. cacheBytes is the size of the block cache; 0 is the
// default of 64 MiB.
func Tuned(cacheBytes int64) *pebble.Options {
	if cacheBytes == 0 {
		cacheBytes = defaultCache
	}
	o := &pebble.Options{
		FormatMajorVersion: pebble.FormatNewest,
		Merger:             Merger(),
		// Pebble reserves the memory of its memtables in the cache, also of those it keeps for
		// the next use. Without room for them it would cache nothing.
		CacheSize:                   cacheBytes + memTables*memTableSize,
		MemTableSize:                memTableSize,
		MemTableStopWritesThreshold: memTables,
		// CockroachDB's thresholds: compact L0 early, and let it grow deep in
		// a burst rather than stop writers.
		L0CompactionThreshold:      2,
		L0StopWritesThreshold:      1000,
		LBaseMaxBytes:              64 << 20,
		CompactionConcurrencyRange: func() (lower, upper int) { return 1, compactions(runtime.GOMAXPROCS(0)) },
		Logger:                     discardLogger{},
	}
	o.Experimental.ValueSeparationPolicy = func() pebble.ValueSeparationPolicy {
		return pebble.ValueSeparationPolicy{
			Enabled:               true,
			MinimumSize:           minSeparate,
			MaxBlobReferenceDepth: 10,
			RewriteMinimumAge:     5 * time.Minute,
			TargetGarbageRatio:    0.2,
		}
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10) // 1 % of lookups of absent keys read a block
	}
	return o
}

// compactions returns how many compactions may run at once. Pebble begins with one and adds more
// when L0 grows deep. The load generator shares the processors with them, so it keeps half.
func compactions(processors int) int { return max(1, min(4, processors/2)) }

// discardLogger discards Pebble's log.
type discardLogger struct{}

func (discardLogger) Infof(string, ...any)  {}
func (discardLogger) Errorf(string, ...any) {}
func (discardLogger) Fatalf(string, ...any) {}
