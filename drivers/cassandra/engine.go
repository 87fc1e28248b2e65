// Package cassandra runs mailbench's access patterns on Apache Cassandra, through
// gocql. Each pattern is a prepared statement, sent to a replica of its row, as an
// application written for Cassandra would send it.
//
// Layout: a schema is a keyspace, and each of its tables is a CQL table. A row
// header gets no CQL table; if only one table is nested in it, that table has the
// header's name. A timestamp is a bigint of microseconds, because CQL's own type
// counts milliseconds. Each table's comment holds what CQL cannot say, and marks
// the keyspace as mailbench's. Package ddl writes the statements, and reads what
// system_schema says; it needs no cluster.
//
// A [Store] has the cluster, which is the connection with what the cluster reports of itself, and the
// compiler, which makes statements of patterns and needs no cluster.
//
// Reads: a read is one SELECT. A list of clustering keys is one IN, and the driver
// restores the list's order. A list of partitions is one SELECT each, in parallel
// as the pattern allows. A page that continues after a row in columns of mixed
// direction is one SELECT for each column, because CQL has no comparison for it.
// Filters use a secondary index if there is one, and ALLOW FILTERING otherwise.
//
// Writes: a put is an INSERT, and an append is an UPDATE that reads nothing. A
// conditional write is a Paxos round. Deleting a range or a partition writes one
// tombstone. An atomic batch within one partition is one mutation, atomic and
// isolated. A batch over several partitions is logged: it is applied whole in the
// end, but readers may see a part of it before.
//
// The driver returns [drivers.ErrUnsupported] for what Cassandra cannot do: add to
// a column that is no counter, return old or new values, sort by an index.
//
// Retries: the driver sends an idempotent request again, at once, if its connection
// was lost or a node refused it. It sends all others once. A write that timed out or
// lost its connection is [drivers.ErrUnknown], even if a later attempt was refused.
//
// Counts: a statement, a batch and each further page of a result are one request.
// Cassandra reports rows scanned only for traced requests.
package cassandra

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// Store is an open Cassandra cluster.
type Store struct {
	*cluster
	*plan.Gate
	plan.Admin
	plan.Ranges[*statement]
	compiler // gets the tables of applied schemas
	clock    clock
}

var (
	_ drivers.Store      = (*Store)(nil)
	_ drivers.Describer  = (*Store)(nil)
	_ drivers.Identified = (*Store)(nil)
	_ drivers.Settler    = (*Store)(nil)
	_ drivers.Observer   = (*Store)(nil)
	_ drivers.Admin      = (*Store)(nil)
	_ drivers.Splitter   = (*Store)(nil)
	_ drivers.Tracer     = (*Store)(nil)
)

// Engine returns the engine's entry for the list of engines.
func Engine() drivers.Engine {
	return drivers.Engine{
		Name:        ddl.EngineName,
		Doc:         "Apache Cassandra 4.0 or newer, over its native protocol",
		Remote:      true,
		Settings:    settingList,
		Environment: environment,
		Forecast:    ddl.Forecast,
		Open: func(ctx context.Context, o drivers.Options) (drivers.Store, error) {
			err := o.CheckKeyspace()
			var c *cluster
			if err == nil {
				c, err = openCluster(ctx, o)
			}
			if err != nil {
				return nil, err
			}
			return storeOf(c, o), nil
		},
		Render:     renderCQL,
		Compile:    compileWithout,
		CheckHints: ddl.CheckHints,
		Namespace:  "keyspace",
		Lacking:    lacking,
		TraceDoc: `NODES are replicas that read or wrote; READ and TOMBSTONES are counted on each.
TIME is the sum of the coordinators' times. All values are from Cassandra's tracing.`,
	}
}

// storeOf returns a store of an open cluster.
func storeOf(c *cluster, o drivers.Options) *Store {
	s := &Store{cluster: c, Gate: &plan.Gate{Engine: "cassandra", ReadOnly: o.ReadOnly, Login: c.login}}
	s.Ranges = plan.Ranges[*statement]{Calls: s.Gate, Divide: divide, Part: part}
	s.Admin = plan.Admin{
		Entry: s.Gate, Kind: "keyspace", Namespace: o.Namespace, Keyspace: o.Keyspace,
		Find: s.find, Owners: s.owners, Remove: s.remove, Left: s.Left,
	}
	return s
}

// Capabilities implements drivers.Store.
func (s *Store) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{
		Engine:         ddl.EngineName,
		Version:        "cassandra " + s.version,
		Durability:     s.durability,
		Atomic:         schemas.AtomicAll,
		EqualIndexes:   true,
		MaxBatchBytes:  s.limits.mutation,
		MaxSpreadBytes: s.limits.batch,
		MaxCellBytes:   s.limits.mutation,
		MaxRowBytes:    s.limits.mutation,
		MaxBatchParts:  gocql.BatchSizeMaximum,
	}
}

// Close implements drivers.Store. It waits for the calls under way, which all end
// within a request's timeout. A call made from within a yield is refused, so that
// the read around it can end.
func (s *Store) Close() error {
	if s.Gate.Close() {
		s.session.Close()
	}
	return nil
}

// lacking is what clusters may lack, with what happens then.
var lacking = []drivers.Setting{
	{
		Name: "system_views",
		Doc: "ScyllaDB and most managed clusters have none of it, and ordinary roles may not read it: results have no durability, " +
			"sizes on disk, tombstones and settings of nodes, and are \"not settled\"",
	},
	{
		Name: "replicas by token",
		Doc: "ScyllaDB with tablets: keyspaces are created without them, because gocql would send requests to nodes that are no " +
			"replicas, and older versions have no counters and no conditional writes with tablets",
	},
	{
		Name: "allow_auto_snapshot",
		Doc:  "ScyllaDB, and Cassandra before 5.0: a dropped table may leave a snapshot, which the end of the run reports",
	},
	{
		Name: "SAI, unified compaction",
		Doc:  "ScyllaDB, and Cassandra before 5.0: the cluster refuses tables with hints for them",
	},
}

// compileWithout compiles the patterns of a schema as if a cluster had its tables.
func compileWithout(s *schemas.Schema, o drivers.Options) (drivers.Compiler, error) {
	d, err := ddl.Define(s, o.Namespace, nil)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", s.Name, err)
	}
	d.Keyspace = cmp.Or(o.Keyspace, d.Keyspace)
	k := new(compiler)
	k.applied.Add(d.Schema, d.Of)
	return plan.Compiler(k.compile), nil
}

// renderCQL writes the statements of Apply in a form that cqlsh takes. Without settings
// they are for a cluster of one node.
func renderCQL(s *schemas.Schema, o drivers.Options) (string, error) {
	set, err := readSettings(o.Settings)
	if err != nil {
		return "", err
	}
	// datacenter1 is that of a node whose configuration names none.
	datacenters := append(slices.Sorted(maps.Keys(set.replicas)), "datacenter1")
	r := set.replicationFrom(cmp.Or(set.localDC, datacenters[0]))
	r[0].Factor = max(1, r[0].Factor)
	return ddl.Render(s, o.Namespace, r)
}

const consistencies = "ONE, TWO, THREE, QUORUM, ALL, LOCAL_QUORUM, EACH_QUORUM, LOCAL_ONE"

// settingList are the driver settings, with their defaults.
var settingList = []drivers.Setting{
	{
		Name: "consistency", Default: "LOCAL_QUORUM", Doc: "consistency of reads and writes: " + consistencies,
		Check: drivers.OneOf(strings.Split(consistencies, ", ")...),
	},
	{
		Name: "serial_consistency", Default: "LOCAL_SERIAL",
		Doc:   "consistency of the Paxos rounds of conditional writes: SERIAL or LOCAL_SERIAL",
		Check: drivers.OneOf("SERIAL", "LOCAL_SERIAL"),
	},
	{
		Name: "replication",
		Doc: "replicas of each row in the local datacenter, or in several, such as dc1:3,dc2:2; by default 3 in the local " +
			"one, or all nodes if they are fewer",
		Check: func(value string) error { return new(settings).readReplication(value) },
	},
	{Name: "local_dc", Doc: "datacenter whose nodes get the requests; it can be left out if there is only one"},
	{Name: "rack", Doc: "rack whose nodes get the requests as long as one of them has the row; by default all racks are equal"},
	{
		Name: "addresses",
		Doc: "addresses of nodes, if they differ from those that the cluster reports (NAT, private link): " +
			"10.0.0.1:9042=host:port,10.0.0.2:9042=host:port",
		Guarded: true, Check: func(value string) error { return new(settings).readAddresses(value) },
	},
	{
		Name: "compression", Default: "none", Doc: "compression of requests and answers: none or snappy",
		Check: drivers.OneOf(slices.Sorted(maps.Keys(compressors))...),
	},
	{
		Name: "timeout", Default: "12s",
		Doc:   "timeout of a request; longer than Cassandra's own 10 s for a range read, so that Cassandra's answer comes first",
		Check: drivers.DurationFrom(time.Millisecond),
	},
	{
		Name: "connect_timeout", Default: "15s", Doc: "timeout of connecting to the cluster",
		Check: drivers.DurationFrom(time.Millisecond),
	},
	{Name: "connections", Default: "2", Doc: "connections to each node", Check: drivers.NumberFrom(1)},
	{
		Name: "page_size", Default: "1000",
		Doc:   "rows in a page of a long read; a scan begins with a fiftieth of it, and its pages grow as long as they come quickly",
		Check: drivers.NumberFrom(1),
	},
	{
		Name: "retries", Default: "2",
		Doc: "how often an idempotent request is sent again: after 50 ms, 100 ms and so on if its connection is lost, immediately " +
			"if a node refuses it",
		Check: drivers.NumberFrom(0),
	},
	{
		Name: "write_coalesce", Default: "0s",
		Doc: "how long gocql waits to send several requests in one system call; gocql's default of 200us triples a lone " +
			"client's latency",
		Check: drivers.DurationFrom(0),
	},
	{
		Name: "tls", Default: "false", Doc: "true encrypts connections and verifies the server's certificate",
		Check: drivers.Truth,
	},
	{Name: "tls_ca", Doc: "file with the certificates of authorities (PEM); by default the system's", Guarded: true},
	{Name: "tls_cert", Doc: "file with the client's certificate (PEM)"},
	{Name: "tls_key", Doc: "file with the key of the client's certificate (PEM)"},
	{Name: "tls_server_name", Doc: "name in the server's certificate, if it is not the contact's", Guarded: true},
}

// The environment variables with user and password. No flag, file or result holds
// these.
const (
	userVariable         = "MAILBENCH_CASSANDRA_USER"
	passwordVariable     = "MAILBENCH_CASSANDRA_PASSWORD"
	passwordFileVariable = "MAILBENCH_CASSANDRA_PASSWORD_FILE"
)

// plaintextVariable names the hosts that may get the password over a connection that
// everybody on the way can read.
const plaintextVariable = "MAILBENCH_CASSANDRA_PLAINTEXT"

var environment = []drivers.Setting{
	{Name: userVariable, Doc: "user, if the cluster requires one"},
	{Name: passwordVariable, Doc: "the user's password"},
	{Name: passwordFileVariable, Doc: "file with the password, in place of the password itself"},
	{Name: plaintextVariable, Doc: "hosts on other machines that may get the password without TLS, separated by commas"},
}

var compressors = map[string]gocql.Compressor{"none": nil, "snappy": gocql.SnappyCompressor{}}

// settings are the parsed driver settings.
type settings struct {
	client        gocql.ClusterConfig // those that gocql has too
	consistency   gocql.Consistency
	replication   int            // in the local datacenter; 0 means 3, or all nodes if they are fewer
	replicas      map[string]int // by datacenter, if several are given
	localDC, rack string
	addresses     map[string]string // how the cluster names a node → where it is reached
	retries       int
	drivers.TLS
}

func readSettings(given map[string]string) (*settings, error) {
	v := drivers.ReadSettings(settingList, given)
	s := &settings{
		client: *gocql.NewCluster(), localDC: v.Text("local_dc"), rack: v.Text("rack"), retries: v.Number("retries"),
		TLS: v.TLS(),
	}
	c := &s.client
	c.NumConns, c.PageSize = v.Number("connections"), v.Number("page_size")
	c.Timeout, c.ConnectTimeout = v.Duration("timeout"), v.Duration("connect_timeout")
	c.WriteTimeout, c.WriteCoalesceWaitTime = c.Timeout, v.Duration("write_coalesce")
	c.Compressor = drivers.Word(v, "compression", compressors)
	s.consistency, _ = gocql.ParseConsistencyWrapper(v.Text("consistency")) // v.Err has what is wrong with a value
	_ = c.SerialConsistency.UnmarshalText([]byte(strings.ToUpper(v.Text("serial_consistency"))))
	_ = s.readReplication(v.Text("replication"))
	_ = s.readAddresses(v.Text("addresses"))
	return s, v.Err()
}

// readReplication reads a number of replicas, or datacenters with theirs.
func (s *settings) readReplication(v string) (err error) {
	if s.replication, err = strconv.Atoi(v); v == "" || err == nil && s.replication > 0 {
		return nil
	}
	if !strings.Contains(v, ":") {
		return fmt.Errorf("%q; expected a number of replicas, or datacenters with theirs such as dc1:3,dc2:2", v)
	}
	given, err := pairs(v, ":")
	s.replicas = make(map[string]int)
	for dc, n := range given {
		if s.replicas[dc], _ = strconv.Atoi(n); s.replicas[dc] < 1 {
			err = errors.Join(err, fmt.Errorf("%s:%s has no number of at least 1", dc, n))
		}
	}
	return err
}

// replicationFrom returns the replication of keyspaces, whose requests go to a datacenter.
func (s *settings) replicationFrom(datacenter string) ddl.Replication {
	all := ddl.Replication{{Datacenter: datacenter, Factor: cmp.Or(s.replication, s.replicas[datacenter])}}
	for _, other := range slices.Sorted(maps.Keys(s.replicas)) {
		if other != datacenter {
			all = append(all, ddl.Replicas{Datacenter: other, Factor: s.replicas[other]})
		}
	}
	return all
}

// readAddresses reads where nodes are reached.
func (s *settings) readAddresses(v string) (err error) {
	s.addresses, err = pairs(v, "=")
	for from, to := range s.addresses {
		if _, wrong := netip.ParseAddrPort(from); wrong != nil {
			err = errors.Join(err, fmt.Errorf("%q; expected the IP address and port that the cluster reports for a node", from))
		}
		if !hostPort(to) {
			err = errors.Join(err, fmt.Errorf("%q; expected host:port, where the node is reached", to))
		}
	}
	return err
}

// pairs reads a list such as a=1,b=2.
func pairs(v, between string) (map[string]string, error) {
	all := make(map[string]string)
	for _, word := range listed(v) {
		name, value, ok := strings.Cut(word, between)
		if all[name] != "" || !ok || name == "" || value == "" {
			return nil, fmt.Errorf("%q; expected NAME%sVALUE, each name once", word, between)
		}
		all[name] = value
	}
	return all, nil
}

// hostPort reports whether an address has a host and a port.
func hostPort(address string) bool {
	host, port, err := net.SplitHostPort(address)
	n, wrong := strconv.ParseUint(port, 10, 16)
	return err == nil && wrong == nil && n > 0 && host != ""
}

// login answers a cluster that wants user and password. gocql's own authenticator has no answer to a second
// challenge, and panics.
type login struct {
	gocql.PasswordAuthenticator
	answered bool // user and password were sent
}

// Challenge implements gocql.Authenticator.
func (l login) Challenge(class []byte) (answer []byte, next gocql.Authenticator, err error) {
	if l.answered {
		return nil, nil, errors.New("the authenticator of the server needs more than user and password, which mailbench does not support")
	}
	answer, _, err = l.PasswordAuthenticator.Challenge(class)
	return answer, login{l.PasswordAuthenticator, true}, err
}

// passwordGuard says where a password may go.
type passwordGuard struct {
	encrypted bool     // connections use TLS and verify the server
	plaintext []string // hosts that may get the password without TLS
}

// listed returns the words of a list.
func listed(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

// check returns an error if the password may not go to an address, which may have a port. Without TLS it may go to this
// machine, and to the hosts in plaintext or their addresses; those that cannot be resolved are left out.
func (g *passwordGuard) check(ctx context.Context, address string) error {
	host := drivers.HostOf(address)
	ip := net.ParseIP(host)
	isAt := func(named string) bool {
		found, _ := net.DefaultResolver.LookupIPAddr(ctx, named)
		return slices.ContainsFunc(found, func(a net.IPAddr) bool { return a.IP.Equal(ip) })
	}
	if g.encrypted || drivers.IsLoopback(host) || slices.Contains(g.plaintext, host) ||
		ip != nil && slices.ContainsFunc(g.plaintext, isAt) {
		return nil
	}
	return fmt.Errorf("the password would go to %s without TLS, where others can read it: set tls to true, or name the host in %s",
		host, plaintextVariable)
}

// DialContext implements gocql.Dialer: gocql sends the password over every connection
// without TLS that it opens, also to nodes that the cluster names.
func (g *passwordGuard) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if err := g.check(ctx, addr); err != nil {
		return nil, err
	}
	return (&net.Dialer{KeepAlive: keepAlive}).DialContext(ctx, network, addr)
}

// keepAlive is the time between two TCP keep-alive probes of an idle connection.
const keepAlive = 15 * time.Second
