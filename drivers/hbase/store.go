package hbase

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// Store is an open HBase.
type Store struct {
	*settings
	namespace string
	readOnly  bool
	keyspace  string // Options.Keyspace: where the tables of every schema are; "" if not given
	version   string
	client    gohbase.Client
	regions   gohbase.RPCClient // client, as the interface that sends our own calls
	master    gohbase.RPCClient

	mu      sync.RWMutex       // guards layouts
	layouts map[string]*layout // by the name of the applied schema
	tables  plan.Tables[table]

	calls      plan.Calls                        // calls under way
	masterConn atomic.Pointer[hrpc.RegionClient] // the last connection to the master
}

var (
	_ drivers.Store    = (*Store)(nil)
	_ drivers.Settler  = (*Store)(nil)
	_ drivers.Observer = (*Store)(nil)
	_ drivers.Admin    = (*Store)(nil)
	_ drivers.Comparer = (*Store)(nil)
)

// Engine returns the engine's entry for the list of engines.
func Engine() drivers.Engine {
	return drivers.Engine{
		Name:     engineName,
		Doc:      "Apache HBase 2.4 or newer, found through its ZooKeeper",
		Remote:   true,
		Settings: settingList,
		Open:     open,
		Render:   renderShell,
		Compile:  compiler,
		Forecast: forecastOf,

		Namespace: "namespace",
		TraceDoc: `NODES are regions. READ are HBase rows: for a scan all rows that region servers read,
for a get the rows returned. CELLS and BYTES were returned. TIME is the client's.`,
	}
}

func open(ctx context.Context, o drivers.Options) (drivers.Store, error) {
	s, err := openStore(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open HBase: %w", err)
	}
	return s, nil
}

// quiet discards gohbase's log. Failures are returned as errors.
var quiet = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1}))

func openStore(ctx context.Context, o drivers.Options) (*Store, error) {
	if err := o.CheckKeyspace(); err != nil {
		return nil, err
	}
	set, err := newSettings(o)
	if err != nil {
		return nil, err
	}
	if err := checkNamespace(o.Namespace); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, set.connectTimeout)
	defer cancel()
	if err := dialAny(ctx, set.contact); err != nil {
		return nil, fmt.Errorf("ZooKeeper of HBase at %s: %w: %w", strings.Join(set.contact, ", "), drivers.ErrUnreachable,
			err)
	}
	s := &Store{
		settings: set, namespace: o.Namespace, readOnly: o.ReadOnly, keyspace: o.Keyspace,
		layouts: make(map[string]*layout),
	}
	quorum := strings.Join(set.contact, ",")
	options := []gohbase.Option{
		gohbase.Logger(quiet), gohbase.ZookeeperRoot(set.zkRoot), gohbase.RpcQueueSize(set.batch),
		// gohbase must not close a slow server's connection before the calls on
		// it reach their own timeout.
		gohbase.RegionReadTimeout(set.timeout + time.Second),
	}
	if set.batch > 1 {
		options = append(options, gohbase.FlushInterval(set.wait))
	}
	s.client = gohbase.NewClient(quorum, options...)
	s.regions = s.client.(gohbase.RPCClient)
	s.master = gohbase.NewAdminClient(quorum, options...).(gohbase.RPCClient)
	status, err := s.status(ctx)
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("HBase's master, by ZooKeeper at %s: %w: %w", quorum, drivers.ErrUnreachable, err)
	}
	s.version = "hbase " + status.GetHbaseVersion().GetVersion()
	return s, nil
}

// dialAny checks that one of ZooKeeper's nodes answers. gohbase itself would wait
// for ever.
func dialAny(ctx context.Context, contact []string) (err error) {
	var d net.Dialer
	for _, addr := range contact {
		conn, derr := d.DialContext(ctx, "tcp", addr)
		if derr == nil {
			return conn.Close()
		}
		err = errors.Join(err, derr)
	}
	return err
}

// enter begins a call. If it returns no error, the caller must end the call with
// leave.
func (s *Store) enter() error {
	if err := s.calls.Enter(); err != nil {
		return fmt.Errorf("HBase: %w", err)
	}
	return nil
}

func (s *Store) leave() { s.calls.Leave() }

// Close implements drivers.Store. It waits for the calls under way, which all end within the
// timeout of a call. A call made from within a yield is refused. gohbase cannot close its
// client of the master, so Close closes that client's connection.
func (s *Store) Close() error {
	if !s.calls.Close() {
		return nil
	}
	s.client.Close()
	if c := s.masterConn.Load(); c != nil {
		(*c).Close()
	}
	return nil
}

// Capabilities implements drivers.Store.
func (s *Store) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{
		Engine:        engineName,
		Version:       s.version,
		Durability:    s.durability,
		Atomic:        schemas.AtomicRow,
		ReturnsNew:    true,
		MaxBatchBytes: maxRequest,
		MaxCellBytes:  maxCell,
	}
}

// status asks the master how the cluster is.
func (s *Store) status(ctx context.Context) (*pb.ClusterStatus, error) {
	var answer pb.GetClusterStatusResponse
	err := s.askMaster(ctx, "GetClusterStatus", &pb.GetClusterStatusRequest{}, &answer)
	return answer.GetClusterStatus(), err
}
