package cassandra

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
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
	_ = s.Do(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), observeTimeout)
		defer cancel()
		o.Missing = hostPorts(s.nodes.missing())
		ours := s.names(func(t *ddl.TableDefinition) string { return t.In.Keyspace })
		var mu sync.Mutex
		return s.nodes.each(ctx, func(ctx context.Context, _ *gocql.HostInfo) error {
			s.observe(ctx, ours, func(known func(o *drivers.Observation)) {
				mu.Lock()
				defer mu.Unlock()
				known(&o)
			})
			return nil
		})
	}) // what no node reports in time is unknown
	return o
}

// observe reads from the node of the context. ours are the keyspaces whose files count. It calls add with what each
// virtual table says; one that cannot be read says nothing.
func (s *Store) observe(ctx context.Context, ours []string, add func(known func(o *drivers.Observation))) {
	var name string
	var x, y, disk, tables, cache, debt, tombstones int64
	read := func(view string, row func(), known func(o *drivers.Observation), dest ...any) {
		query := s.session.Query("SELECT " + view).WithContext(ctx).Consistency(gocql.One)
		if scan(query, row, append([]any{&name}, dest...)...) == nil {
			add(known)
		}
	}
	read("keyspace_name, mebibytes FROM system_views.disk_usage", func() {
		if slices.Contains(ours, name) && x > 0 { // rounded up
			disk += x << 20
			tables++
		}
	}, func(o *drivers.Observation) {
		o.DiskBytes, o.DiskExcess = max(o.DiskBytes, 0)+disk, o.DiskExcess+tables<<20
	}, &x)
	read("name, capacity_bytes FROM system_views.caches", func() { cache += x }, func(o *drivers.Observation) {
		o.CacheBytes = max(o.CacheBytes, 0) + cache
	}, &x)
	read("unit, progress, total FROM system_views.sstable_tasks", func() { // what the running compactions have left
		if name == "bytes" {
			debt += max(y-x, 0)
		}
	}, func(o *drivers.Observation) { o.CompactionDebt = max(o.CompactionDebt, 0) + debt }, &x, &y)
	read("keyspace_name, CAST(max AS bigint) FROM system_views.tombstones_per_read", func() {
		if slices.Contains(ours, name) {
			tombstones = max(tombstones, x)
		}
	}, func(o *drivers.Observation) { o.TombstonesRead = max(o.TombstonesRead, tombstones) }, &x)
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
		"nodes":              strconv.Itoa(s.nodes.count(s.datacenter)),
		"timeout":            client.Timeout.String(),
		"connect_timeout":    client.ConnectTimeout.String(),
		"connections":        strconv.Itoa(client.NumConns),
		"page_size":          strconv.Itoa(client.PageSize),
		"retries":            strconv.Itoa(s.settings.retries),
		"write_coalesce":     client.WriteCoalesceWaitTime.String(),
		"tls":                strconv.FormatBool(s.settings.Encrypted),
		"durability":         s.durability.String(),
		"routing":            s.nodes.routed.String(),
		"rack":               cmp.Or(s.settings.rack, "any"),
		"compression":        compression + " (of requests)",
		"protocol":           strconv.Itoa(protocol),
	}
	if s.known.Tablets {
		e["tablets"] = "off"
	}
	options := make(map[string][]string)
	for t := range s.compiler.applied.All() {
		for name, value := range t.Live.Options() {
			options[name] = append(options[name], value)
		}
	}
	for name, values := range options {
		slices.Sort(values)
		e["table_"+name] = strings.Join(slices.Compact(values), "; ")
	}
	for name, value := range s.server {
		e["server_"+name] = value
	}
	return e
}

// names returns a name of each table of the applied schemas, sorted, each once.
func (s *Store) names(of func(*ddl.TableDefinition) string) (all []string) {
	for t := range s.compiler.applied.All() {
		all = append(all, of(t))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// quietPolls is how many polls in a row must find no work. One is not enough: for a
// moment between a flush and the compaction that follows it, neither runs.
const quietPolls = 5

// Settle implements drivers.Settler. It writes the memtables of the applied schemas to
// disk, and waits until no node has a flush or a compaction running or queued. A cluster
// that does not show its thread pools to this user gives drivers.ErrUnreported.
func (s *Store) Settle(ctx context.Context) error {
	return s.During("settle", func() (err error) {
		tables := s.names(func(t *ddl.TableDefinition) string { return t.Qualified() })
		if !s.ReadOnly && len(tables) > 0 {
			defer func() { // back to Cassandra's default, which is none
				err = errors.Join(err, drivers.Within(context.WithoutCancel(ctx), resetWithin, func(ctx context.Context) error {
					return s.setFlushPeriod(ctx, tables, 0)
				}))
			}()
			if err := s.setFlushPeriod(ctx, tables, flushEvery); err != nil {
				return err
			}
			if err := drivers.Pause(ctx, 2*flushEvery); err != nil { // the flush must have begun then
				return err
			}
		}
		quiet := 0
		return poll(ctx, func() (bool, error) {
			busy, err := s.busy(ctx)
			if quiet++; busy > 0 {
				quiet = 0
			}
			return quiet == quietPolls, err
		})
	})
}

const (
	// flushEvery is the age at which memtables are flushed while Settle waits.
	flushEvery = 500 * time.Millisecond
	// resetWithin is how long it may take to reset the flush period, after the context of Settle has ended too.
	resetWithin = 30 * time.Second
)

// setFlushPeriod has all nodes write the tables' memtables to disk. CQL has no statement for that, and
// nodetool needs JMX. But a table can have a flush period, and a node that learns of one flushes
// a memtable that is older (AbstractAllocatorMemtable.flushIfPeriodExpired). A cluster that has no such option
// goes on without it.
func (s *Store) setFlushPeriod(ctx context.Context, tables []string, period time.Duration) (all error) {
	for _, t := range tables {
		err := s.alter(ctx, fmt.Sprintf("ALTER TABLE %s WITH memtable_flush_period_in_ms = %d", t, period.Milliseconds()))
		if err != nil && !hidden(err) {
			all = errors.Join(all, fmt.Errorf("set the flush period of table %s to %v: %w", t, period, err))
		}
	}
	return all
}

// busy returns the number of flushes and compactions that run or wait, on all nodes
// that can be reached. It queries them concurrently.
func (s *Store) busy(ctx context.Context) (int64, error) {
	var tasks atomic.Int64
	err := s.nodes.each(ctx, func(ctx context.Context, h *gocql.HostInfo) error {
		var active, pending int64
		query := s.session.Query("SELECT active_tasks, pending_tasks FROM system_views.thread_pools WHERE name IN ?",
			[]string{"CompactionExecutor", "MemtableFlushWriter", "MemtablePostFlush", "SecondaryIndexManagement"})
		err := scan(query.WithContext(ctx).Consistency(gocql.One), func() { tasks.Add(active + pending) }, &active, &pending)
		switch {
		case hidden(err):
			err = fmt.Errorf("%w: system_views.thread_pools: %w", drivers.ErrUnreported, err)
		case err != nil:
			err = fmt.Errorf("read the compactions of %s: %w", h.ConnectAddress(), err)
		}
		return err
	})
	return tasks.Load(), err
}
