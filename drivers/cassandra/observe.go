package cassandra

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
)

// observeTimeout bounds an observation, which is made between measurements. Nodes
// that do not answer in time are not counted.
const observeTimeout = 2 * time.Second

// serverSettingNames are the settings of a node that matter to results.
var serverSettingNames = []string{
	"auto_snapshot", "batch_size_fail_threshold", "commitlog_segment_size", "commitlog_sync", "commitlog_sync_period",
	"compaction_throughput", "concurrent_reads", "concurrent_writes", "default_compaction.class_name",
	"key_cache_size", "max_mutation_size",
	"memtable_allocation_type",
	"native_transport_max_frame_size", "num_tokens", "paxos_variant", "row_cache_size",
}

// serverSettings reads the settings of one node. It returns none if the cluster
// does not show them, or not to this user.
func (s *Store) serverSettings(ctx context.Context) (map[string]string, error) {
	all := make(map[string]string)
	it := s.session.Query("SELECT name, value FROM system_views.settings WHERE name IN ?",
		serverSettingNames).WithContext(ctx).Iter()
	var name, value string
	for it.Scan(&name, &value) {
		if value != "" && value != "null" {
			all[name] = value
		}
	}
	err := it.Close()
	if hidden(err) {
		return all, nil
	}
	return all, err
}

// Observe implements drivers.Observer. Sizes are sums over all nodes that are up.
// The size on disk is that of the applied schemas, which Cassandra reports in whole
// MiB. Cassandra reports bytes written and tombstones only over JMX.
func (s *Store) Observe() drivers.Observation {
	o := drivers.Observation{
		DiskBytes: -1, CacheBytes: -1, CompactionDebt: -1, WrittenBytes: -1, ReadBytes: -1, Tombstones: -1,
		Settings: s.effective(),
	}
	if s.enter() != nil {
		return o
	}
	defer s.leave()
	ctx, cancel := context.WithTimeout(context.Background(), observeTimeout)
	defer cancel()
	ours := s.keyspaces()
	for _, h := range s.nodes.all() {
		if !h.IsUp() {
			continue
		}
		at := toNode(ctx, h)
		add(&o.DiskBytes, s.sum(at, "SELECT keyspace_name, mebibytes FROM system_views.disk_usage",
			func(keyspace string, mib int64) int64 {
				if slices.Contains(ours, keyspace) {
					return mib << 20
				}
				return 0
			}))
		add(&o.CacheBytes, s.sum(at, "SELECT name, capacity_bytes FROM system_views.caches",
			func(_ string, n int64) int64 { return n }))
		add(&o.CompactionDebt, s.compacting(at))
	}
	return o
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
	it := s.session.Query(view).WithContext(ctx).Consistency(gocql.One).Iter()
	var name string
	var n int64
	for it.Scan(&name, &n) {
		total += of(name, n)
	}
	if it.Close() != nil {
		return -1
	}
	return total
}

// compacting returns how many bytes the running compactions have left.
func (s *Store) compacting(ctx context.Context) (left int64) {
	it := s.session.Query("SELECT unit, progress, total FROM system_views.sstable_tasks").
		WithContext(ctx).Consistency(gocql.One).Iter()
	var unit string
	var progress, total int64
	for it.Scan(&unit, &progress, &total) {
		if unit == "bytes" {
			left += max(total-progress, 0)
		}
	}
	if it.Close() != nil {
		return -1
	}
	return left
}

// keyspaces returns the keyspaces of the applied schemas.
func (s *Store) keyspaces() []string {
	names := make(map[string]bool)
	for t := range s.applied.All() {
		names[t.keyspace] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// effective returns the settings in force: those of gocql, of the keyspace and of
// the tables, and with the prefix server_ those of a node.
func (s *Store) effective() map[string]string {
	e := map[string]string{
		"consistency":        s.settings.consistency.String(),
		"serial_consistency": s.settings.serial.String(),
		"replication":        strconv.Itoa(s.replication.Factor),
		"local_dc":           s.datacenter,
		"nodes":              strconv.Itoa(s.localNodes()),
		"timeout":            s.settings.timeout.String(),
		"connect_timeout":    s.settings.connectTimeout.String(),
		"connections":        strconv.Itoa(s.settings.connections),
		"page_size":          strconv.Itoa(s.settings.pageSize),
		"retries":            strconv.Itoa(s.settings.retries),
		"write_coalesce":     s.settings.writeCoalesce.String(),
		"tls":                strconv.FormatBool(s.settings.tls),
		"durability":         s.durability.String(),
		"routing":            "token-aware, local datacenter first",
		"compression":        "none (of requests)",
		"protocol":           strconv.Itoa(protocol),
	}
	options := make(map[string][]string)
	for t := range s.applied.All() {
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
