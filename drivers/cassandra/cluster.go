package cassandra

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/schemas/strict"
)

// cluster is a connection to a cluster, and what the cluster said about itself when it was opened.
type cluster struct {
	settings    *settings
	login       *drivers.Login // nil without a user
	session     *gocql.Session
	contact     []string // host:port
	nodes       *nodes
	datacenter  string
	replication ddl.Replication
	version     string
	durability  drivers.Durability
	limits      limits
	server      map[string]string // settings of the cluster that matter to results
	known       ddl.Cluster
}

// openCluster connects to a cluster and reads what it says about itself.
func openCluster(ctx context.Context, o drivers.Options) (_ *cluster, err error) {
	c := new(cluster)
	if c.settings, err = readSettings(o.Settings); err != nil {
		return nil, err
	}
	if c.login, err = drivers.ReadLogin(environment, os.Getenv); err != nil {
		return nil, err
	}
	defer func() { err = c.login.Hide(err) }()
	var auth gocql.Authenticator
	if c.login != nil {
		auth = login{PasswordAuthenticator: gocql.PasswordAuthenticator{Username: c.login.User, Password: c.login.Password}}
		if err := o.MayGo(ddl.EngineName, settingList, userVariable); err != nil {
			return nil, err
		}
	}
	config, err := c.settings.config(o.Contact, auth)
	if err != nil {
		return nil, err
	}
	c.contact = config.Hosts
	guard := &passwordGuard{c.settings.Encrypted, listed(os.Getenv(plaintextVariable))}
	if auth != nil {
		for _, contact := range o.Contact { // without any it goes to this machine
			if err := guard.check(ctx, contact); err != nil {
				return nil, err
			}
		}
		if !c.settings.Encrypted {
			config.Dialer = guard
		}
	}
	c.nodes = newNodes(c.settings.localDC, c.settings.rack)
	config.PoolConfig.HostSelectionPolicy, config.HostFilter = c.nodes, c.nodes
	most := config.ConnectTimeout * time.Duration(len(config.Hosts)+1) // each contact, and then the other nodes
	if c.session, err = connect(ctx, config, most); err != nil {
		if _, wrong := c.nodes.checkDatacenter(); len(c.nodes.datacenters()) > 0 && wrong != nil {
			err = wrong
		} else if missing := c.nodes.missing(); len(missing) > 0 {
			err = fmt.Errorf("%w; the cluster reports its nodes at %s: if they have other addresses here, set them in the "+
				"setting addresses", err, strings.Join(hostPorts(missing), ", "))
		}
		return nil, err
	}
	err = c.nodes.await(ctx)
	for _, n := range c.nodes.all() {
		if err == nil && auth != nil {
			err = guard.check(ctx, n.ConnectAddress().String())
		}
	}
	if err == nil {
		err = c.readCluster(ctx, o.Durability)
	}
	if err != nil {
		c.session.Close()
		return nil, err
	}
	return c, nil
}

// readCluster reads the cluster's datacenters, version and settings, and checks
// the driver's settings against them.
func (c *cluster) readCluster(ctx context.Context, wanted drivers.Durability) (err error) {
	if c.datacenter, err = c.nodes.checkDatacenter(); err != nil {
		return err
	}
	if err := c.nodes.use(c.datacenter); err != nil {
		return err
	}
	if err := c.replicate(); err != nil {
		return fmt.Errorf("setting replication: %w", err)
	}
	if err := c.session.Query("SELECT release_version FROM system.local").WithContext(ctx).Scan(&c.version); err != nil {
		return fmt.Errorf("read the version: %w", err)
	}
	if c.server, err = c.serverSettings(ctx); err != nil {
		return err
	}
	if err := c.readKnown(ctx); err != nil {
		return err
	}
	c.limits = limitsOf(c.server)
	switch c.durability = c.durabilityClass(); {
	case wanted == drivers.DurabilityDefault || wanted == c.durability:
	case c.durability == drivers.DurabilityUnknown:
		return fmt.Errorf("cannot verify --durability %s: this user cannot read the durability of the cluster "+
			"(commitlog_sync in system_views.settings): grant SELECT on it, or omit --durability", wanted)
	default:
		return fmt.Errorf("--durability %s is not available: this cluster provides %s (commitlog_sync %s, replication %d, "+
			"consistency %s): change the cluster or its settings, or omit --durability",
			wanted, c.durability, c.server["commitlog_sync"], c.replication[0].Factor, c.settings.consistency)
	}
	return nil
}

// named are the consistencies that name a number of replicas. Others need no more than there are.
var named = map[gocql.Consistency]int{gocql.Two: 2, gocql.Three: 3}

// replicate says how often keyspaces keep each row, and checks that there are nodes enough.
func (c *cluster) replicate() error {
	c.replication = c.settings.replicationFrom(c.datacenter)
	local := &c.replication[0]
	if local.Factor == 0 && c.settings.replicas != nil {
		return fmt.Errorf("it names no replicas in the local datacenter %s, which gets the requests: name some there "+
			"(%s:N), or another in the setting local_dc", c.datacenter, c.datacenter)
	}
	if local.Factor == 0 {
		local.Factor = min(3, c.nodes.count(c.datacenter))
	}
	replicas := 0
	for _, in := range c.replication {
		replicas += in.Factor
		switch have := c.nodes.count(in.Datacenter); {
		case have == 0:
			return fmt.Errorf("the cluster has no datacenter %s; it has %s", in.Datacenter,
				strings.Join(c.nodes.datacenters(), ", "))
		case in.Factor > have:
			return fmt.Errorf("%d replicas of a row need as many nodes; those of datacenter %s are %d", in.Factor,
				in.Datacenter, have)
		}
	}
	if needed := named[c.settings.consistency]; needed > replicas {
		return fmt.Errorf("consistency %s needs %d replicas of a row; there are only %d: set more, or a lower consistency",
			c.settings.consistency, needed, replicas)
	}
	if c.settings.consistency == gocql.EachQuorum && len(c.replication) == 1 {
		return fmt.Errorf("rows have replicas in %s only, so consistency EACH_QUORUM is no more than LOCAL_QUORUM: name "+
			"replicas of other datacenters too (%s:%d,OTHER:N), or use LOCAL_QUORUM", c.datacenter, c.datacenter, local.Factor)
	}
	return nil
}

// durabilityClass returns what an acknowledged write survives. With a quorum of
// three or more replicas it survives the loss of a minority of them. Otherwise the
// commit log of one node decides: with commitlog_sync batch or group the node syncs
// before it acknowledges. With periodic a write may not even survive a crash of the
// process: the node marks every 100 ms how far its log can be replayed, and ignores
// what follows the last mark (CASSANDRA-13987; "only replica killed" in
// docs/internals/reliability.md). If the cluster does not show its commitlog_sync, the durability
// is unknown: ScyllaDB and managed clusters lack system_views.settings, and ordinary
// roles may not read it.
func (c *cluster) durabilityClass() drivers.Durability {
	switch c.settings.consistency {
	case gocql.Quorum, gocql.LocalQuorum, gocql.EachQuorum, gocql.All:
		if c.replication[0].Factor >= 3 {
			return drivers.Quorum
		}
	}
	switch c.server["commitlog_sync"] {
	case "periodic":
		return drivers.Memory
	case "batch", "group":
		return drivers.Power
	}
	return drivers.DurabilityUnknown
}

const (
	defaultPort = "9042"
	// protocol is the newest version of the native protocol that gocql fully
	// supports. Letting gocql find it out would cost a connection.
	protocol = 4
	// reconnectEvery is the time between two attempts to reach a node that is
	// down. gocql's default of a minute would be most of a run. An event from the
	// cluster mostly announces the node earlier.
	reconnectEvery = time.Second
	// maxStatements is how many prepared statements gocql keeps. A schema has a
	// few dozen.
	maxStatements = 10_000
)

// config returns gocql's configuration. Every difference from gocql's defaults is
// a driver setting or has a comment.
func (s *settings) config(contact []string, auth gocql.Authenticator) (*gocql.ClusterConfig, error) {
	hosts, port, err := addresses(contact)
	if err != nil {
		return nil, err
	}
	c := new(gocql.ClusterConfig)
	*c = s.client
	c.Hosts, c.Port = hosts, port
	c.ProtoVersion = protocol
	c.Consistency = gocql.LocalOne // of the driver's own reads; each node has its own system tables
	c.DefaultTimestamp = false     // each request has a timestamp from clock
	c.RetryPolicy = nil            // each idempotent request has a policy of its own
	c.ReconnectInterval = reconnectEvery
	c.ReconnectionPolicy = &gocql.ExponentialReconnectionPolicy{
		MaxRetries: 5, InitialInterval: 50 * time.Millisecond, MaxInterval: reconnectEvery,
	}
	c.MaxPreparedStmts = maxStatements
	c.MaxRoutingKeyInfo = maxStatements
	c.Dialer = &net.Dialer{Timeout: c.ConnectTimeout, KeepAlive: keepAlive}
	c.HostDialer = dialer{c} // which uses c.Dialer and c.SslOpts
	c.Authenticator = auth
	c.Logger = log.New(io.Discard, "", 0) // failures are returned as errors
	if len(s.addresses) > 0 {
		if c.AddressTranslator, err = s.translator(); err != nil {
			return nil, err
		}
	}
	if s.Encrypted {
		encrypted, err := s.TLS.Config(x509.NewCertPool())
		if err != nil {
			return nil, err
		}
		c.SslOpts = &gocql.SslOptions{Config: encrypted, EnableHostVerification: true}
	}
	return c, nil
}

// translator returns what says where nodes are reached. Hosts are looked up once.
func (s *settings) translator() (gocql.AddressTranslator, error) {
	to := make(map[string]*net.TCPAddr)
	for from, address := range s.addresses {
		at, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			return nil, fmt.Errorf("setting addresses: %s=%s: %w", from, address, err)
		}
		to[netip.MustParseAddrPort(from).String()] = at
	}
	return gocql.AddressTranslatorFunc(func(ip net.IP, port int) (net.IP, int) {
		if at, ok := to[net.JoinHostPort(ip.String(), strconv.Itoa(port))]; ok {
			return at.IP, at.Port
		}
		return ip, port
	}), nil
}

// addresses parses the contacts, each a host or host:port. The port of the first is that of nodes
// that do not report theirs, as those before Cassandra 4.0.
func addresses(contact []string) (hosts []string, port int, err error) {
	if len(contact) == 0 {
		contact = []string{"127.0.0.1"}
	}
	for _, c := range contact {
		at := drivers.HostPort(c, defaultPort)
		if !hostPort(at) {
			return nil, 0, fmt.Errorf("contact %q is neither a host nor host:port", c)
		}
		hosts = append(hosts, at)
	}
	_, first, _ := net.SplitHostPort(hosts[0])
	port, err = strconv.Atoi(first)
	return hosts, port, err
}

// connect opens the gocql session within the time given. gocql itself has no
// bound over all nodes, and takes no context.
func connect(ctx context.Context, c *gocql.ClusterConfig, within time.Duration) (*gocql.Session, error) {
	var session *gocql.Session
	done, at := make(chan error, 1), strings.Join(c.Hosts, ", ")
	go func() {
		err := crash.Guard(func() (err error) {
			session, err = c.CreateSession()
			return err
		})
		if p := new(crash.Error); errors.As(err, &p) { // gocql panics over values that are missing
			err = fmt.Errorf("it answers a statement that Cassandra rejects (%v)", p.Value)
		}
		done <- err
	}()
	late := time.NewTimer(within)
	defer late.Stop()
	var why error
	select {
	case err := <-done:
		switch {
		case err == nil:
			return session, nil
		case containsAny(err.Error(), // gocql keeps only the text
			"authentication required", "Provided username", "credentials", "authenticator"):
			return nil, fmt.Errorf("%s refused the login: %w; set %s and %s", at, err, userVariable, passwordVariable)
		}
		// Its first words are those of gocql's steps.
		cause := strings.TrimPrefix(err.Error(), "gocql: unable to create session: ")
		return nil, drivers.Unreachable(errors.New(strings.TrimPrefix(cause, "unable to connect to initial hosts: ")))
	case <-late.C:
		why = drivers.Unreachable(fmt.Errorf("no Cassandra at %s: no answer within %v", at, within))
	case <-ctx.Done():
		why = ctx.Err()
	}
	go func() { // close a session that opens too late
		if err := <-done; err == nil {
			_ = crash.Guard(func() error { session.Close(); return nil })
		}
	}()
	return nil, why
}

// checkDatacenter returns the local datacenter: its nodes get the requests.
func (n *nodes) checkDatacenter() (string, error) {
	all := n.datacenters()
	switch {
	case n.localDC == "" && len(all) > 1:
		return "", fmt.Errorf("the cluster has the datacenters %s: name yours in the setting local_dc",
			strings.Join(all, ", "))
	case n.localDC == "" && len(all) == 1:
		return all[0], nil
	case !slices.Contains(all, n.localDC):
		return "", fmt.Errorf("setting local_dc: the cluster has no datacenter %s; it has %s", n.localDC,
			strings.Join(all, ", "))
	}
	return n.localDC, nil
}

const defaultCompaction = "default_compaction.class_name"

// serverSettingNames are the settings of a node that matter to results.
var serverSettingNames = []string{
	"auto_snapshot", "batch_size_fail_threshold", "commitlog_segment_size", "commitlog_sync", "commitlog_sync_period",
	"compaction_throughput", "concurrent_compactors", "concurrent_reads", "concurrent_writes", defaultCompaction,
	defaultIndex, "disk_access_mode", "file_cache_size", "key_cache_size", "max_mutation_size",
	"memtable.configurations", "memtable_allocation_type", "memtable_flush_writers", "memtable_heap_space",
	"memtable_offheap_space", "native_transport_max_frame_size", "num_tokens", "paxos_state_purging", "paxos_variant",
	"row_cache_size", "sstable.selected_format", "storage_compatibility_mode", "uuid_sstable_identifiers_enabled",
}

// serverPropertyNames are the properties of a node's Java that matter to results. Cassandra shows
// neither the heap nor the collector; drivers.JavaOptions has those of nodes on this machine, and
// memtable_heap_space is a quarter of the heap by default.
var serverPropertyNames = []string{"java.vm.name", "java.version", "os.arch"}

// defaultIndex is the kind of the indexes whose statement names none, since Cassandra 5.0.
const defaultIndex = "default_secondary_index"

// serverSettings reads the settings of one node. It returns none if the cluster
// does not show them, or not to this user.
func (c *cluster) serverSettings(ctx context.Context) (map[string]string, error) {
	all := make(map[string]string)
	for view, names := range map[string][]string{
		"settings": serverSettingNames, "system_properties": serverPropertyNames,
	} {
		var name, value string
		query := c.session.Query("SELECT name, value FROM system_views."+view+" WHERE name IN ?", names).WithContext(ctx)
		if err := scan(query, func() {
			if value != "" && value != "null" {
				all[name] = value
			}
		}, &name, &value); err != nil && !hidden(err) {
			return nil, fmt.Errorf("read the %s of a node: %w", view, err)
		}
	}
	return all, nil
}

// hidden reports whether an error says that the cluster does not have the system table of a query, or
// does not show it to this user.
func hidden(err error) bool {
	var refused gocql.RequestError
	return errors.As(err, &refused) && (refused.Code() == gocql.ErrCodeInvalid ||
		refused.Code() == gocql.ErrCodeUnauthorized)
}

// limits are the size limits of writes in bytes. The driver counts keys and values
// and checks the limits before it sends anything.
type limits struct {
	// mutation is the largest write to one partition: the smaller of the cluster's
	// largest mutation and its largest request.
	mutation int64
	// batch is the largest batch over several partitions.
	batch int64
}

const (
	// These are the defaults of Cassandra 5.0, for a cluster that does not show its
	// limits. Cassandra 4.0 has other names for them, and does not show them to
	// every user.
	defaultMutation = 16 << 20
	defaultBatch    = 50 << 10
	// mutationMargin is the room left in a mutation for column names, clustering
	// values and the request's header.
	mutationMargin = 8 << 10
	// Cassandra counts more than keys and values. A partition has deletions and a
	// static row. A row has timestamps. A value, and each element of a collection,
	// has a timestamp, a time to live and a deletion time. These numbers are at
	// least what Cassandra counts.
	partitionOverhead = 48
	rowOverhead       = 32
	valueOverhead     = 24
)

func limitsOf(server map[string]string) limits {
	mutation := sizeSetting(server["max_mutation_size"], defaultMutation)
	mutation = min(mutation, sizeSetting(server["native_transport_max_frame_size"], mutation)) - mutationMargin
	return limits{mutation, min(mutation, sizeSetting(server["batch_size_fail_threshold"], defaultBatch))}
}

// sizeSetting reads a size as in cassandra.yaml, such as 50KiB. It returns otherwise if v is not a size.
func sizeSetting(v string, otherwise int64) int64 {
	if n, _ := strict.ParseSize(v); n > 0 {
		return int64(n)
	}
	return otherwise
}
