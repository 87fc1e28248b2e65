package hbase

import (
	"context"
	"strconv"

	"github.com/mailbench/mailbench/drivers"
)

// loads is the sum of what the region servers last reported for the regions of the schemas
// applied to this store. servers counts all live region servers.
type loads struct{ servers, regions, diskBytes int64 }

// loads asks the master for the loads. HBase reports sizes in whole MiB.
func (s *Store) loads(ctx context.Context) (l loads, err error) {
	status, err := s.status(ctx)
	if err != nil {
		return l, err
	}
	for _, live := range status.GetLiveServers() {
		l.servers++
		for _, r := range live.GetServerLoad().GetRegionLoads() {
			if _, ours := s.owner(string(r.GetRegionSpecifier().GetValue())); ours {
				l.regions++
				l.diskBytes += int64(r.GetStorefileSize_MB()) << 20
			}
		}
	}
	return l, nil
}

// Observe implements drivers.Observer. It does not report replication: HDFS replicates, and
// HBase's clients cannot see it.
func (s *Store) Observe() drivers.Observation {
	o := drivers.Observation{
		DiskBytes: -1, CacheBytes: -1, CompactionDebt: -1, WrittenBytes: -1, ReadBytes: -1, Tombstones: -1,
		Settings: s.effective(),
	}
	if s.enter() != nil {
		return o
	}
	defer s.leave()
	l, err := s.loads(context.Background()) // bounded by the timeout
	if err != nil {
		return o
	}
	o.DiskBytes = l.diskBytes
	o.Settings["region_servers"] = strconv.FormatInt(l.servers, 10)
	o.Settings["regions"] = strconv.FormatInt(l.regions, 10)
	return o
}
