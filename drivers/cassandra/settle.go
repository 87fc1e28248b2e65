package cassandra

import (
	"context"
	"fmt"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
)

// quietPolls is how many polls in a row must find no work. One is not enough: for a
// moment between a flush and the compaction that follows it, neither runs.
const quietPolls = 5

// Settle implements drivers.Settler. It waits until no node has a flush or a
// compaction running or queued. CQL has no statement for a flush, so data in
// memtables stays there, as in any cluster in use. A cluster that does not show its
// thread pools to this user gives drivers.ErrUntold.
func (s *Store) Settle(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	defer s.leave()
	quiet := 0
	err := poll(ctx, func() (bool, error) {
		busy, err := s.busy(ctx)
		if quiet++; busy > 0 {
			quiet = 0
		}
		return quiet == quietPolls, err
	})
	if err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	return nil
}

// busy returns the number of flushes and compactions that run or wait, on all nodes
// that are up.
func (s *Store) busy(ctx context.Context) (tasks int64, err error) {
	for _, h := range s.nodes.all() {
		if !h.IsUp() {
			continue
		}
		it := s.session.Query("SELECT name, active_tasks, pending_tasks FROM system_views.thread_pools WHERE name IN ?",
			[]string{"CompactionExecutor", "MemtableFlushWriter", "MemtablePostFlush", "SecondaryIndexManagement"}).
			WithContext(toNode(ctx, h)).Consistency(gocql.One).Iter()
		var name string
		var active, pending int64
		for it.Scan(&name, &active, &pending) {
			tasks += active + pending
		}
		err := it.Close()
		if hidden(err) {
			return tasks, fmt.Errorf("%w: system_views.thread_pools: %w", drivers.ErrUntold, err)
		}
		if err != nil {
			return tasks, fmt.Errorf("ask %s for its compactions: %w", h.ConnectAddress(), err)
		}
	}
	return tasks, nil
}
