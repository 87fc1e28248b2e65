package pebble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mailbench/mailbench/drivers"
)

// lookEvery is the time between two looks of Settle for running compactions.
const lookEvery = 10 * time.Millisecond

// Settle implements drivers.Settler. It flushes all writes to sorted files, and waits until no
// flush or compaction runs.
func (s *Store) Settle(ctx context.Context) error {
	return s.during(s.mu.RLocker(), "settle", func() error {
		flushed, err := s.db.AsyncFlush()
		if err != nil {
			return err
		}
		select {
		case <-flushed:
		case <-ctx.Done():
			return ctx.Err()
		}
		// Between two compactions there is a moment when none runs, so two looks in a row must find none, and
		// the statistics of all tables.
		for quiet := 0; quiet < 2; {
			if err := s.fs.fault(); err != nil {
				return err
			}
			m := s.db.Metrics()
			if quiet++; m.Flush.NumInProgress+m.Compact.NumInProgress > 0 ||
				m.Table.PendingStatsCollectionCount > 0 || !m.Table.InitialStatsCollectionComplete {
				quiet = 0
			}
			if err := drivers.Pause(ctx, lookEvery); err != nil {
				return err
			}
		}
		return nil
	})
}

// Cool implements drivers.Cooler.
func (s *Store) Cool(context.Context) error {
	if err := s.Sleep(); err != nil {
		return err
	}
	dropped := dropPages(s.dir)
	return cmp.Or(s.Wake(), dropped)
}

// Sleep implements drivers.Sleeper: it closes Pebble, whose cache and memtables are most of a
// process' memory.
func (s *Store) Sleep() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stop(); err != nil {
		return fmt.Errorf("close the embedded engine for a while: %w", err)
	}
	return nil
}

// Wake implements drivers.Sleeper.
func (s *Store) Wake() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return fmt.Errorf("wake: %w", drivers.ErrClosed)
	}
	if s.db != nil {
		return nil
	}
	if err := s.start(s.fs.FS); err != nil {
		return fmt.Errorf("open the embedded engine again: %w", err)
	}
	return nil
}

// Observe implements drivers.Observer.
func (s *Store) Observe() drivers.Observation {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := Tuned(s.cacheBytes)
	lower, upper := t.CompactionConcurrencyRange()
	o := drivers.Observation{
		DiskBytes: -1, CacheBytes: s.cacheBytes, CompactionDebt: -1, WrittenBytes: -1, ReadBytes: -1, Tombstones: -1,
		Settings: map[string]string{ // those that matter to results
			"cache_bytes":         strconv.FormatInt(s.cacheBytes, 10),
			"memtable_bytes":      strconv.FormatUint(t.MemTableSize, 10),
			"memtables":           strconv.Itoa(t.MemTableStopWritesThreshold),
			"separate_from_bytes": strconv.Itoa(minSeparate),
			"compression":         strings.ToLower(s.compressed.Name),
			"l0_compaction":       strconv.Itoa(t.L0CompactionThreshold),
			"l0_stop_writes":      strconv.Itoa(t.L0StopWritesThreshold),
			"compactions":         fmt.Sprintf("%d to %d", lower, upper),
			"format":              t.FormatMajorVersion.String(),
			"durability":          s.durability.String(),
		},
	}
	if s.db == nil {
		return o
	}
	m := s.db.Metrics()
	if n, err := sizeOf(s.fs.FS, s.dir); err == nil {
		o.DiskBytes = n
	}
	o.LogBytes = int64(m.WAL.Size) // without old files of the log that Pebble keeps for reuse
	o.CompactionDebt = int64(m.Compact.EstimatedDebt)
	o.WrittenBytes = s.fs.written.Load()
	if now := drivers.DiskReads(os.Getpid()); now >= 0 && s.readBefore >= 0 {
		o.ReadBytes = now - s.readBefore
	}
	o.Tombstones = int64(m.Keys.TombstoneCount)
	return o
}

// sizeOf sums up the files of the store's folder. Pebble's own metrics leave out
// blob files that were there when it was opened.
func sizeOf(disk vfs.FS, dir string) (total int64, err error) {
	names, err := disk.List(dir)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		info, err := disk.Stat(disk.PathJoin(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist): // Pebble has just removed it
		case err != nil:
			return 0, err
		default:
			total += info.Size()
		}
	}
	return total, nil
}
