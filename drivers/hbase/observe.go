package hbase

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
)

const (
	// settleEvery is how often Settle asks how far compactions are. Region
	// servers report to the master every three seconds
	// (hbase.regionserver.msginterval), so that it has to be quiet for longer.
	settleEvery = 500 * time.Millisecond
	quietFor    = 4 * time.Second
)

// loads are what the region servers last reported of our regions, summed up.
type loads struct {
	servers, regions, storeFiles int64
	diskBytes, memBytes          int64
	compacting, compacted        int64 // cells of compactions under way
}

// loads asks the master for the loads of the regions of this store's namespace.
func (s *Store) loads(ctx context.Context) (l loads, err error) {
	status, err := s.status(ctx)
	if err != nil {
		return l, err
	}
	prefix := prefixOf(s.namespace, "")
	prefix = strings.TrimSuffix(prefix, ".")
	for _, server := range status.GetLiveServers() {
		l.servers++
		for _, r := range server.GetServerLoad().GetRegionLoads() {
			if name := string(r.GetRegionSpecifier().GetValue()); strings.HasPrefix(name, prefix) {
				l.add(r)
			}
		}
	}
	return l, nil
}

func (l *loads) add(r *pb.RegionLoad) {
	l.regions++
	l.storeFiles += int64(r.GetStorefiles())
	l.diskBytes += int64(r.GetStorefileSize_MB()) << 20
	l.memBytes += int64(r.GetMemstoreSize_MB()) << 20
	l.compacting += int64(r.GetTotalCompacting_KVs())
	l.compacted += int64(r.GetCurrentCompacted_KVs())
}

// Settle implements drivers.Settler: it waits until no compaction of our
// regions is under way, as far as HBase tells. Compactions that wait in a queue
// are not told of; one that begins within seconds is waited for.
func (s *Store) Settle(ctx context.Context) error {
	var quiet time.Time
	for {
		l, err := s.loads(ctx)
		if err != nil {
			return fmt.Errorf("settle: %w", err)
		}
		switch {
		case l.compacted < l.compacting:
			quiet = time.Time{}
		case quiet.IsZero():
			quiet = time.Now()
		case time.Since(quiet) >= quietFor:
			return nil
		}
		if err := sleep(ctx, settleEvery); err != nil {
			return fmt.Errorf("settle: %w", err)
		}
	}
}

// Observe implements drivers.Observer. HBase tells sizes in whole megabytes,
// and as its region servers last reported them.
func (s *Store) Observe() drivers.Observation {
	o := drivers.Observation{
		DiskBytes: -1, CacheBytes: -1, CompactionDebt: -1, WrittenBytes: -1, Tombstones: -1,
		Settings: s.effective(),
	}
	if s.closed.Load() {
		return o
	}
	l, err := s.loads(context.Background()) // bounded by the timeout
	if err != nil {
		return o
	}
	o.DiskBytes = l.diskBytes
	o.Settings["region_servers"] = strconv.FormatInt(l.servers, 10)
	o.Settings["regions"] = strconv.FormatInt(l.regions, 10)
	return o
}
