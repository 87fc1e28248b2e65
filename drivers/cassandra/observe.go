package cassandra

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
)

// observeTimeout bounds an observation, which is made between measurements. Nodes
// that do not answer in time are not counted.
const observeTimeout = 2 * time.Second

// Observe implements drivers.Observer. Sizes are sums over all nodes that are up.
// The size on disk is that of the applied schemas, which Cassandra reports in whole
// MiB. Cassandra reports bytes written, and tombstones in files, only over JMX;
// it shows how many tombstones reads met, but the deletions of whole collections are not in that number.
func (s *Store) Observe() drivers.Observation {
	o := drivers.Observation{
		DiskBytes: -1, CacheBytes: -1, CompactionDebt: -1, WrittenBytes: -1, ReadBytes: -1, Tombstones: -1,
		Settings: s.effective(),
	}
	if s.Enter() != nil {
		return o
	}
	defer s.Leave()
	ctx, cancel := context.WithTimeout(context.Background(), observeTimeout)
	defer cancel()
	o.Missing = hostPorts(s.nodes.missing())
	ours := s.keyspaces()
	var mu sync.Mutex
	_ = s.nodes.each(ctx, func(ctx context.Context, _ *gocql.HostInfo) error {
		n := s.observe(ctx, ours)
		mu.Lock()
		defer mu.Unlock()
		add(&o.DiskBytes, n.disk)
		add(&o.CacheBytes, n.cache)
		add(&o.CompactionDebt, n.debt)
		add(&o.RowCacheReads, n.rowReads)
		add(&o.RowCacheHits, n.rowHits)
		o.TombstonesRead = max(o.TombstonesRead, n.tombstones)
		return nil
	})
	return o
}

// nodeState is what one node reports. A negative number is unknown.
type nodeState struct{ disk, cache, debt, tombstones, rowReads, rowHits int64 }

// observe reads from the node of the context. ours are the keyspaces whose files count.
func (s *Store) observe(ctx context.Context, ours []string) (n nodeState) {
	n.disk = s.sum(ctx, "SELECT keyspace_name, mebibytes FROM system_views.disk_usage",
		func(keyspace string, mib int64) int64 {
			if slices.Contains(ours, keyspace) {
				return mib << 20
			}
			return 0
		})
	n.cache = s.sum(ctx, "SELECT name, capacity_bytes FROM system_views.caches",
		func(_ string, n int64) int64 { return n })
	ofRows := func(name string, n int64) int64 {
		if name == "rows" {
			return n
		}
		return 0
	}
	n.rowReads = s.sum(ctx, "SELECT name, request_count FROM system_views.caches", ofRows)
	n.rowHits = s.sum(ctx, "SELECT name, hit_count FROM system_views.caches", ofRows)
	n.debt = s.compacting(ctx)
	s.sum(ctx, "SELECT keyspace_name, CAST(max AS bigint) FROM system_views.tombstones_per_read",
		func(keyspace string, most int64) int64 {
			if slices.Contains(ours, keyspace) {
				n.tombstones = max(n.tombstones, most)
			}
			return 0
		})
	return n
}

// add adds a node's number, unless it is unknown (-1).
func add(to *int64, n int64) {
	if n >= 0 {
		*to = max(*to, 0) + n
	}
}

// sum adds up a number for each row of one node's virtual table. It returns -1 if
// the table cannot be read.
func (s *Store) sum(ctx context.Context, view string, of func(name string, n int64) int64) (total int64) {
	var name string
	var n int64
	query := s.session.Query(view).WithContext(ctx).Consistency(gocql.One)
	if scan(query, func() { total += of(name, n) }, &name, &n) != nil {
		return -1
	}
	return total
}

// compacting returns how many bytes the running compactions have left.
func (s *Store) compacting(ctx context.Context) (left int64) {
	var unit string
	var progress, total int64
	query := s.session.Query("SELECT unit, progress, total FROM system_views.sstable_tasks")
	if scan(query.WithContext(ctx).Consistency(gocql.One), func() {
		if unit == "bytes" {
			left += max(total-progress, 0)
		}
	}, &unit, &progress, &total) != nil {
		return -1
	}
	return left
}

// keyspaces returns the keyspaces of the applied schemas.
func (s *Store) keyspaces() []string {
	names := make(map[string]bool)
	for t := range s.compiler.applied.All() {
		names[t.keyspace] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// effective returns the settings in force: those of gocql, of the keyspace and of
// the tables, and with the prefix server_ those of a node.
func (s *Store) effective() map[string]string {
	client, compression := &s.settings.client, "none"
	if client.Compressor != nil {
		compression = client.Compressor.Name()
	}
	e := map[string]string{
		"consistency":        s.settings.consistency.String(),
		"serial_consistency": client.SerialConsistency.String(),
		"replication":        s.replication.String(),
		"local_dc":           s.datacenter,
		"nodes":              strconv.Itoa(s.localNodes()),
		"timeout":            client.Timeout.String(),
		"connect_timeout":    client.ConnectTimeout.String(),
		"connections":        strconv.Itoa(client.NumConns),
		"page_size":          strconv.Itoa(client.PageSize),
		"retries":            strconv.Itoa(s.settings.retries),
		"write_coalesce":     client.WriteCoalesceWaitTime.String(),
		"tls":                strconv.FormatBool(s.settings.tls),
		"durability":         s.durability.String(),
		"routing":            s.nodes.routed.String(),
		"rack":               cmp.Or(s.settings.rack, "any"),
		"compression":        compression + " (of requests)",
		"protocol":           strconv.Itoa(protocol),
	}
	if s.knows.tablets {
		e["tablets"] = "off"
	}
	options := make(map[string][]string)
	for t := range s.compiler.applied.All() {
		for name, value := range t.options {
			if !slices.Contains(options[name], value) {
				options[name] = append(options[name], value)
			}
		}
	}
	for name, values := range options {
		slices.Sort(values)
		e["table_"+name] = strings.Join(values, "; ")
	}
	for name, value := range s.server {
		e["server_"+name] = value
	}
	return e
}
