package pebble

import (
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

const (
	// memTableSize in bytes. With Pebble's 4 MB, deliveries stall for seconds;
	// with 16, 32 and 64 MB they are equally fast, and 8 KB bodies are written
	// 4.0, 3.7 and 3.2 times. Twice 64 MB, a cache, and what Pebble needs for
	// large rows are more than the 300 MB that a run may take.
	memTableSize = 32 << 20
	memTables    = 2 // one takes writes while the other is flushed
	// defaultCache is the block cache in bytes where Options do not say.
	defaultCache = 64 << 20
	// minSeparate is from which size in bytes values go to blob files, which
	// compactions need not rewrite: bodies, not metadata.
	minSeparate = 1 << 10
)

// Tuned returns the options that the engine runs Pebble with, for benchmarks
// that compare it with Pebble alone. The block cache is of that many bytes; 0
// is the default of 64 MiB.
func Tuned(cacheBytes int64) *pebble.Options {
	if cacheBytes == 0 {
		cacheBytes = defaultCache
	}
	o := &pebble.Options{
		FormatMajorVersion: pebble.FormatNewest,
		Merger:             Merger(),
		// Pebble takes its memtables, in use or kept for the next use, out of
		// its cache: without room for them it caches nothing.
		CacheSize:                   cacheBytes + memTables*memTableSize,
		MemTableSize:                memTableSize,
		MemTableStopWritesThreshold: memTables,
		// CockroachDB's thresholds: compact L0 early, and let it grow deep in
		// a burst rather than stop writers.
		L0CompactionThreshold: 2,
		L0StopWritesThreshold: 1000,
		LBaseMaxBytes:         64 << 20,
		Logger:                discardLogger{},
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

// discardLogger keeps Pebble quiet.
type discardLogger struct{}

func (discardLogger) Infof(string, ...any)  {}
func (discardLogger) Errorf(string, ...any) {}
func (discardLogger) Fatalf(string, ...any) {}
