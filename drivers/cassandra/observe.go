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
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/drivers/plan"
)

// observeTimeout bounds an observation, which is made between measurements. Nodes
// that do not answer in time are not counted.
const observeTimeout = 2 * time.Second

// observer asks the nodes about their work and their files.
type observer struct {
	*cluster
	*plan.Gate
	compiler *compiler // knows the keyspaces of applied schemas
}

// Observe implements drivers.Observer. Sizes are sums over all nodes that are up.
// The size on disk is that of the applied schemas, which Cassandra reports in whole
// MiB. Cassandra reports bytes written, and tombstones in files, only over JMX;
// it shows how many tombstones reads met, but the deletions of whole collections are not in that number.
func (ob *observer) Observe() drivers.Observation {
	o := drivers.Observation{
		DiskBytes: -1, CacheBytes: -1, CompactionDebt: -1, WrittenBytes: -1, ReadBytes: -1, Tombstones: -1,
		Settings: ob.effective(),
	}
	if ob.Enter() != nil {
		return o
	}
	defer ob.Leave()
	ctx, cancel := context.WithTimeout(context.Background(), observeTimeout)
	defer cancel()
	o.Missing = hostPorts(ob.nodes.missing())
	ours := ob.keyspaces()
	at := ob.nodes.reachable()
	states := make([]nodeState, len(at))
	var asked sync.WaitGroup
	for i, h := range at {
		asked.Go(func() {
			err := crash.Guard(func() error { states[i] = ob.observe(toNode(ctx, h), ours); return nil })
			if err != nil {
				states[i] = nodeState{-1, -1, -1, -1, -1, -1}
			}
		})
	}
	asked.Wait()
	for _, n := range states {
		add(&o.DiskBytes, n.disk)
		add(&o.CacheBytes, n.cache)
		add(&o.CompactionDebt, n.debt)
		add(&o.RowCacheReads, n.rowReads)
		add(&o.RowCacheHits, n.rowHits)
		o.TombstonesRead = max(o.TombstonesRead, n.tombstones)
	}
	return o
}

// nodeState is what one node tells. A negative number is unknown.
type nodeState struct{ disk, cache, debt, tombstones, rowReads, rowHits int64 }

// observe asks the node of the context. ours are the keyspaces whose files count.
func (ob *observer) observe(ctx context.Context, ours []string) (n nodeState) {
	n.disk = ob.sum(ctx, "SELECT keyspace_name, mebibytes FROM system_views.disk_usage",
		func(keyspace string, mib int64) int64 {
			if slices.Contains(ours, keyspace) {
				return mib << 20
			}
			return 0
		})
	n.cache = ob.sum(ctx, "SELECT name, capacity_bytes FROM system_views.caches",
		func(_ string, n int64) int64 { return n })
	ofRows := func(name string, n int64) int64 {
		if name == "rows" {
			return n
		}
		return 0
	}
	n.rowReads = ob.sum(ctx, "SELECT name, request_count FROM system_views.caches", ofRows)
	n.rowHits = ob.sum(ctx, "SELECT name, hit_count FROM system_views.caches", ofRows)
	n.debt = ob.compacting(ctx)
	ob.sum(ctx, "SELECT keyspace_name, CAST(max AS bigint) FROM system_views.tombstones_per_read",
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
func (ob *observer) sum(ctx context.Context, view string, of func(name string, n int64) int64) (total int64) {
	it := ob.session.Query(view).WithContext(ctx).Consistency(gocql.One).Iter()
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
func (ob *observer) compacting(ctx context.Context) (left int64) {
	it := ob.session.Query("SELECT unit, progress, total FROM system_views.sstable_tasks").
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
func (ob *observer) keyspaces() []string {
	names := make(map[string]bool)
	for t := range ob.compiler.applied.All() {
		names[t.keyspace] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// effective returns the settings in force: those of gocql, of the keyspace and of
// the tables, and with the prefix server_ those of a node.
func (ob *observer) effective() map[string]string {
	e := map[string]string{
		"consistency":        ob.settings.consistency.String(),
		"serial_consistency": ob.settings.serial.String(),
		"replication":        ob.replication.String(),
		"local_dc":           ob.datacenter,
		"nodes":              strconv.Itoa(ob.localNodes()),
		"timeout":            ob.settings.timeout.String(),
		"connect_timeout":    ob.settings.connectTimeout.String(),
		"connections":        strconv.Itoa(ob.settings.connections),
		"page_size":          strconv.Itoa(ob.settings.pageSize),
		"retries":            strconv.Itoa(ob.settings.retries),
		"write_coalesce":     ob.settings.writeCoalesce.String(),
		"tls":                strconv.FormatBool(ob.settings.tls),
		"durability":         ob.durability.String(),
		"routing":            ob.nodes.routed.String(),
		"rack":               cmp.Or(ob.settings.rack, "any"),
		"compression":        map[bool]string{false: "none (of requests)", true: "snappy (of requests)"}[ob.settings.snappy],
		"protocol":           strconv.Itoa(protocol),
	}
	if ob.knows.tablets {
		e["tablets"] = "off"
	}
	options := make(map[string][]string)
	for t := range ob.compiler.applied.All() {
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
	for name, value := range ob.server {
		e["server_"+name] = value
	}
	return e
}
