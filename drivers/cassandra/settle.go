package cassandra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
)

// quietPolls is how many polls in a row must find no work. One is not enough: for a
// moment between a flush and the compaction that follows it, neither runs.
const quietPolls = 5

// Settle implements drivers.Settler. It writes the memtables of the applied schemas to
// disk, and waits until no node has a flush or a compaction running or queued. A cluster
// that does not show its thread pools to this user gives drivers.ErrUnreported.
func (s *Store) Settle(ctx context.Context) error {
	return s.During("settle", func() error { return s.settle(ctx) })
}

func (s *Store) settle(ctx context.Context) (err error) {
	if tables := s.tables(); !s.ReadOnly && len(tables) > 0 {
		defer func() { err = errors.Join(err, s.endFlushing(ctx, tables)) }()
		if err := s.flush(ctx, tables); err != nil {
			return err
		}
	}
	return s.awaitQuiet(ctx)
}

func (s *Store) awaitQuiet(ctx context.Context) error {
	quiet := 0
	return poll(ctx, func() (bool, error) {
		busy, err := s.busy(ctx)
		if quiet++; busy > 0 {
			quiet = 0
		}
		return quiet == quietPolls, err
	})
}

// flushEvery is the age at which memtables are flushed while Settle waits.
const flushEvery = 500 * time.Millisecond

// flush has all nodes write the tables' memtables to disk. CQL has no statement for that, and
// nodetool needs JMX. But a table can have a flush period, and a node that learns of one flushes
// a memtable that is older (AbstractAllocatorMemtable.flushIfPeriodExpired). flush waits until
// that must have begun. A cluster that has no such option goes on without it.
func (s *Store) flush(ctx context.Context, tables []string) error {
	for _, t := range tables {
		if err := s.setFlushPeriod(ctx, t, flushEvery); err != nil {
			return err
		}
	}
	return drivers.Pause(ctx, 2*flushEvery)
}

// resetWithin is how long endFlushing may take, after ctx has ended too.
const resetWithin = 30 * time.Second

// endFlushing sets the flush period back to Cassandra's default, which is none.
func (s *Store) endFlushing(ctx context.Context, tables []string) error {
	return drivers.Within(context.WithoutCancel(ctx), resetWithin, func(ctx context.Context) (err error) {
		for _, t := range tables {
			err = errors.Join(err, s.setFlushPeriod(ctx, t, 0))
		}
		return err
	})
}

func (s *Store) setFlushPeriod(ctx context.Context, table string, period time.Duration) error {
	err := s.alter(ctx, fmt.Sprintf("ALTER TABLE %s WITH memtable_flush_period_in_ms = %d", table, period.Milliseconds()))
	if err != nil && !hidden(err) {
		return fmt.Errorf("set the flush period of table %s to %v: %w", table, period, err)
	}
	return nil
}

// tables returns the applied schemas' tables, as statements name them.
func (s *Store) tables() (names []string) {
	for t := range s.compiler.applied.All() {
		names = append(names, t.qualified)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// busy returns the number of flushes and compactions that run or wait, on all nodes
// that can be reached. It queries them concurrently.
func (s *Store) busy(ctx context.Context) (int64, error) {
	var tasks atomic.Int64
	err := s.nodes.each(ctx, func(ctx context.Context, h *gocql.HostInfo) error {
		n, err := s.busyNode(ctx)
		tasks.Add(n)
		if err != nil && !errors.Is(err, drivers.ErrUnreported) {
			err = fmt.Errorf("read the compactions of %s: %w", h.ConnectAddress(), err)
		}
		return err
	})
	return tasks.Load(), err
}

// busyNode does the same for the node of the context.
func (s *Store) busyNode(ctx context.Context) (tasks int64, err error) {
	var active, pending int64
	query := s.session.Query("SELECT active_tasks, pending_tasks FROM system_views.thread_pools WHERE name IN ?",
		[]string{"CompactionExecutor", "MemtableFlushWriter", "MemtablePostFlush", "SecondaryIndexManagement"})
	err = scan(query.WithContext(ctx).Consistency(gocql.One), func() { tasks += active + pending }, &active, &pending)
	if hidden(err) {
		err = fmt.Errorf("%w: system_views.thread_pools: %w", drivers.ErrUnreported, err)
	}
	return tasks, err
}

// pollInterval is the time between two checks of a condition of the cluster.
const pollInterval = 20 * time.Millisecond

// poll checks a condition until it holds.
func poll(ctx context.Context, holds func() (bool, error)) error {
	for {
		ok, err := holds()
		if !ok && err == nil {
			err = drivers.Pause(ctx, pollInterval)
		}
		if ok || err != nil {
			return err
		}
	}
}
