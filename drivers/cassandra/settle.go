package cassandra

import (
	"context"
	"fmt"

	"github.com/gocql/gocql"
)

// quietPolls is at how many looks one after another a node must be quiet: between
// a flush and the compaction that it leads to there is a moment in which neither
// runs.
const quietPolls = 5

// Settle implements drivers.Settler: it waits until no node flushes or compacts,
// or has such work waiting. A flush cannot be asked for over CQL: what is in
// memtables stays there, as it does in any cluster that is used.
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

// busy returns how much work of flushes and compactions runs or waits on all
// nodes that are up.
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
		if err := it.Close(); err != nil {
			return tasks, fmt.Errorf("ask %s for its compactions: %w", h.ConnectAddress(), err)
		}
	}
	return tasks, nil
}
