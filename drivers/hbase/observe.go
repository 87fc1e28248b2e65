package hbase

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/drivers"
)

// loads is the sum of what the region servers last reported for the regions of the schemas
// applied to this store. servers counts all live region servers.
type loads struct {
	servers, regions, diskBytes int64
	heaps                       []string // the largest heap of each live server in MiB, each size once
	host                        string   // a region server and its info port
	info                        uint32
}

// loads asks the master for the loads. HBase reports sizes in whole MiB.
func (f *fleet) loads(ctx context.Context) (l loads, err error) {
	status, err := f.status(ctx)
	if err != nil {
		return l, err
	}
	ours := f.compiler.names()
	for _, live := range status.GetLiveServers() {
		l.servers++
		l.host, l.info = live.GetServer().GetHostName(), live.GetServerLoad().GetInfoServerPort()
		if heap := fmt.Sprint(live.GetServerLoad().GetMaxHeap_MB()); !slices.Contains(l.heaps, heap) {
			l.heaps = append(l.heaps, heap)
		}
		for _, r := range live.GetServerLoad().GetRegionLoads() {
			if ours[tableOf(string(r.GetRegionSpecifier().GetValue()))] {
				l.regions++
				l.diskBytes += int64(r.GetStorefileSize_MB()) << 20
			}
		}
	}
	return l, nil
}

// resultSettings are the settings of families that results have, by their names there. That of
// compression stands beside the compression of other engines.
var resultSettings = map[string]string{
	"compression": "COMPRESSION", "table_bloom": "BLOOMFILTER", "table_encoding": "DATA_BLOCK_ENCODING",
	"table_block_size": "BLOCKSIZE", "table_versions": "VERSIONS",
}

// descriptors returns settings of the families of the applied schemas. Apply has compared them
// with the descriptors in HBase. A setting that differs between families has each value, with the
// families that have one of the rarer.
func (c *compiler) descriptors() map[string]string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	settings := make(map[string]string)
	for name, setting := range resultSettings {
		families := make(map[string][]string) // value → families
		for _, l := range c.layouts {
			for _, r := range l.roots {
				for family, s := range r.families {
					value := strings.ToLower(s[setting])
					families[value] = append(families[value], r.schema.Name+":"+family)
				}
			}
		}
		values := slices.SortedFunc(maps.Keys(families), func(a, b string) int {
			return cmp.Or(cmp.Compare(len(families[b]), len(families[a])), cmp.Compare(a, b))
		})
		for i, value := range values {
			if i > 0 {
				slices.Sort(families[value])
				values[i] += " (" + strings.Join(families[value], " ") + ")"
			}
		}
		if len(values) > 0 {
			settings[name] = strings.Join(values, ", ")
		}
	}
	return settings
}

// observe returns what the client can see. It does not report replication: HDFS replicates, and
// HBase's clients cannot see it. The log and the garbage collector are those of one region server, asked once:
// HBase gives all of them one configuration.
func (f *fleet) observe() drivers.Observation {
	o := drivers.Observation{
		DiskBytes: -1, CacheBytes: -1, CompactionDebt: -1, WrittenBytes: -1, ReadBytes: -1, Tombstones: -1,
		Settings: f.effective(),
	}
	maps.Copy(o.Settings, f.compiler.descriptors())
	if f.enter() != nil {
		return o
	}
	defer f.leave()
	l, err := f.loads(context.Background()) // bounded by the timeout
	if err != nil {
		return o
	}
	o.DiskBytes = l.diskBytes
	slices.Sort(l.heaps)
	f.info.Do(func() { f.serverWAL, f.serverGC = serverSettings(context.Background(), l.host, l.info) })
	o.Settings["server_wal"], o.Settings["server_gc"] = f.serverWAL, f.serverGC
	o.Settings["server_heap_mb"] = strings.Join(l.heaps, ", ")
	o.Settings["region_servers"] = strconv.FormatInt(l.servers, 10)
	o.Settings["regions"] = strconv.FormatInt(l.regions, 10)
	return o
}
