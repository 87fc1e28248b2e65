package hbase

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// Store is an open HBase: the connections to its region servers and to its master. Sessions run calls.
type Store struct {
	plan.Gate
	*settings
	version    string
	regions    client
	master     gohbase.RPCClient
	masterConn atomic.Pointer[hrpc.RegionClient] // the last connection to the master

	plan.Admin
	plan.Ranges[*statement]
	tables plan.Tables[table] // of the applied schemas
	begin  string             // of the names of tables in the keyspace
}

var (
	_ drivers.Store      = (*Store)(nil)
	_ drivers.Settler    = (*Store)(nil)
	_ drivers.Observer   = (*Store)(nil)
	_ drivers.Admin      = (*Store)(nil)
	_ drivers.Splitter   = (*Store)(nil)
	_ drivers.Identified = (*Store)(nil)
	_ drivers.Tracer     = (*Store)(nil)
)

// Engine returns the engine's entry for the list of engines.
func Engine() drivers.Engine {
	return drivers.Engine{
		Name:     engineName,
		Doc:      "Apache HBase 2.4 or newer, found through its ZooKeeper",
		Remote:   true,
		Settings: settingList,
		Open:     openStore,
		Render:   renderShell,
		Compile:  compilerOf,
		Forecast: forecastOf,
		CheckHints: func(t *schemas.Table) error {
			_, err := parseHints(t)
			return err
		},
		Namespace: "namespace",
		TraceDoc: `NODES are regions. READ are HBase rows: for a scan all rows that region servers read,
for a get the rows returned. CELLS and BYTES were returned. TIME is the client's.`,
	}
}

func openStore(ctx context.Context, o drivers.Options) (drivers.Store, error) {
	if err := o.CheckKeyspace(); err != nil {
		return nil, err
	}
	set, err := newSettings(o)
	if err != nil {
		return nil, err
	}
	s := newStore(set, o)
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	switch k := s.Keyspace; {
	case k == "" || k == hbaseNamespace:
	case strings.HasPrefix(k, drivers.Prefix):
		s.begin = k + "."
	default: // a namespace of HBase if there is one with tables, else the beginning of names of tables, if there are such
		s.begin = k + ":"
		in, err := s.describe(ctx, s.begin)
		if len(in) == 0 && (err == nil || rpc.IsClass(err, "NamespaceNotFoundException")) {
			if in, err = s.describe(ctx, k+"."); len(in) > 0 {
				s.begin = k + "."
			}
		}
		if err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

func newStore(set *settings, o drivers.Options) *Store {
	s := &Store{Gate: plan.Gate{Engine: "HBase", ReadOnly: o.ReadOnly}, settings: set}
	s.Admin = plan.Admin{
		Entry: &s.Gate, Kind: "table", Namespace: o.Namespace, Keyspace: o.Keyspace, LayoutSettings: layoutSettings,
		Parallel: dropped, Find: s.find, Owners: s.owners,
		Remove: func(ctx context.Context, table string, _ *plan.Owner) error {
			s.tables.Clear()
			return s.dropTable(ctx, table)
		},
	}
	s.Ranges = plan.Ranges[*statement]{
		Calls: &s.Gate, Divide: s.divide,
		Part: func(_ context.Context, scan *statement, _, _ []byte) (*statement, error) {
			part := *scan
			return &part, nil
		},
	}
	return s
}

// dropped is how many tables are dropped in parallel.
const dropped = 100

// Capabilities implements drivers.Store.
func (s *Store) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{
		Engine:        engineName,
		Version:       s.version,
		Durability:    s.durability,
		Atomic:        schemas.AtomicRow,
		ReturnsNew:    true,
		MaxBatchBytes: rpc.MaxRequest,
		MaxCellBytes:  rpc.MaxCell,
	}
}

// Stored implements drivers.Store. HBase keeps every table and no index. The settings
// of a table are its layout hints and all settings of its family. Those of the family
// of its static columns begin with "static.".
func (s *Store) Stored(sch *schemas.Schema) (*schemas.Schema, error) {
	l, err := newLayout(s.prefix(sch.Name), sch)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", sch.Name, err)
	}
	return l.stored(), nil
}

// Identity implements drivers.Identified: the id that HBase gave the cluster when it first started.
func (s *Store) Identity(ctx context.Context, _ *schemas.Schema) (string, error) {
	return plan.Call(&s.Gate, "read the cluster's id", func() (string, error) {
		status, err := s.status(ctx)
		return status.GetClusterId().GetClusterId(), err
	})
}

// Prepare implements drivers.Store.
func (s *Store) Prepare(_ context.Context, p *schemas.Pattern) (st drivers.Statement, err error) {
	return plan.Prepare(&s.Gate, p, s.compile)
}

// Session implements drivers.Store.
func (s *Store) Session() (drivers.Session, error) {
	return plan.Call(&s.Gate, "open a session", func() (drivers.Session, error) { return s.newSession(), nil })
}

// Traced implements drivers.Tracer.
func (s *Store) Traced() (drivers.TracedSession, error) {
	return plan.Call(&s.Gate, "open a session", func() (drivers.TracedSession, error) {
		t, idle := s.newSession(), drivers.Unreported
		idle.Requests, idle.Nodes, idle.Rows, idle.Cells, idle.Bytes = 0, 0, 0, 0, 0
		t.Trace(idle, false)
		t.Sender.Traced = true
		return t, nil
	})
}

// resultSettings are the settings of families that results have, by their names there. That of
// compression is shown next to the compression of other engines. Apply has compared them with the descriptors in HBase.
var resultSettings = map[string]string{
	"compression": "COMPRESSION", "table_bloom": "BLOOMFILTER", "table_encoding": "DATA_BLOCK_ENCODING",
	"table_block_size": "BLOCKSIZE", "table_versions": "VERSIONS",
}

// Observe implements drivers.Observer. It returns what the client can see. It does not report replication: HDFS
// replicates, and HBase's clients cannot see it.
func (s *Store) Observe() drivers.Observation {
	o := drivers.Observation{
		DiskBytes: -1, CacheBytes: -1, CompactionDebt: -1, WrittenBytes: -1, ReadBytes: -1, Tombstones: -1,
		Settings: s.effective(),
	}
	for name, setting := range resultSettings {
		var values []string // of the families of the applied schemas
		for t := range s.tables.All() {
			values = append(values, strings.ToLower(t.descriptor[setting]))
		}
		slices.Sort(values)
		if values = slices.Compact(values); len(values) > 0 {
			o.Settings[name] = strings.Join(values, ", ")
		}
	}
	_ = s.Do(func() error { // what it does not reach is unknown
		servers, _, err := s.servers(context.Background()) // bounded by the timeout
		if err != nil {
			return err
		}
		var heaps []string // in MiB
		regions := 0
		o.DiskBytes = 0
		for _, one := range servers {
			o.DiskBytes += one.diskBytes
			regions += len(one.regions)
			heaps = append(heaps, fmt.Sprint(one.heap))
		}
		slices.Sort(heaps)
		o.Settings["server_heap_mb"] = strings.Join(slices.Compact(heaps), ", ")
		o.Settings["region_servers"] = strconv.Itoa(len(servers))
		o.Settings["regions"] = strconv.Itoa(regions)
		return nil
	})
	return o
}

// divide returns the row keys at which n parts of a scan begin, between the table's first and last row key. A part may
// cover several regions, and a region may have several parts. A wide row is in one part with all its cells.
func (s *Store) divide(ctx context.Context, scan *statement, n int) (at [][]byte, err error) {
	sender := s.newSender(new(drivers.Meter))
	return keys.Divide(n, func(key []byte, before bool) (row []byte, err error) {
		one := int64(1)
		err = sender.Scan(ctx, rpc.Range{
			Table: scan.table.hbase, Start: key, Reversed: before, SkipStart: before && key != nil, Left: &one,
			Columns: columnsOf(scan.table.family), Filter: firstOnly(),
		}, func(cells []rpc.Cell) error {
			row = bytes.Clone(cells[0].Row)
			return plan.ErrEnough
		})
		if err == plan.ErrEnough {
			err = nil
		}
		return row, err
	})
}
