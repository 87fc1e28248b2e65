package launch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"maps"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers/private"
)

// cassandra runs each node on its own loopback address. All nodes use the same ports
// for the native protocol and for internode traffic. There is no JMX: whoever reaches a
// node's JMX without a password runs code as its user.
var cassandra = Engine{
	Name: "cassandra", Port: 9042, MinNodes: 1, MaxNodes: 3,
	Unit: "node", Flag: "nodes", Nodes: "Cassandra nodes, on 127.0.0.1 and up",
	version: "5.0.9", sums: configFile("cassandra.sha256"), download: "66 MB", protocol: "CQL", shell: "cqlsh",
	heap: 512 * mib, overhead: 400 * mib, patience: 30 * time.Second, peers: true,
	layOut: cassandraNodes, command: cassandraCommand, probe: probeCassandra,
}

func cassandraNodes(port, count int) []Node {
	nodes := make([]Node, count)
	for i := range nodes {
		at := func(port int) string { return fmt.Sprintf("127.0.0.%d:%d", i+1, port) }
		nodes[i] = Node{
			Name: fmt.Sprintf("node%d", i+1), Address: at(port), Listens: []string{at(port), at(port + 1)},
		}
	}
	return nodes
}

// g1Heap is the smallest heap for G1, Cassandra's default collector. With a smaller
// heap the serial collector takes less memory and processor time.
const g1Heap = 2 << 30

func cassandraCommand(in *Instance, n *Node) (command, error) {
	dir := in.nodeDir(n)
	host, _, _ := net.SplitHostPort(n.Address) // as cassandraNodes writes it
	certificate, err := in.certificate()
	config := func(name, tmpl string, data any) (url string) {
		path, failed := writeConfig(dir, name, tmpl, data)
		err = cmp.Or(err, failed)
		return fileURL(path)
	}
	// A node's datacenter and rack are in a file, which the snitch reads. Without Datacenters it is SimpleSnitch, for
	// which all nodes are in datacenter1.
	dcs, count := max(in.state.Datacenters, 1), len(in.state.Nodes)
	at := slices.IndexFunc(in.state.Nodes, func(other Node) bool { return other.Name == n.Name })
	rackdc := config("cassandra-rackdc.properties", "cassandra-rackdc.properties.tmpl", map[string]any{
		"DC": at%dcs + 1, "Rack": at/dcs + 1,
	})
	snitch := "SimpleSnitch"
	if in.state.Datacenters > 0 {
		snitch = "GossipingPropertyFileSnitch"
	}
	options := maps.Clone(defaultOptions)
	if sync := in.state.Options["commitlog_sync"]; sync != "" && sync != "periodic" {
		delete(options, "commitlog_sync_period") // it is for periodic alone
	}
	maps.Copy(options, in.state.Options)
	yaml := config("cassandra.yaml", "cassandra.yaml.tmpl", map[string]any{
		"Certificate": certificate, "Snitch": snitch, "Options": options,
		"Nodes": (count - at%dcs + dcs - 1) / dcs, "Host": host, "Port": in.state.Port, "StoragePort": in.state.Port + 1,
		"Seed": "127.0.0.1",
		"Data": filepath.Join(dir, "data"), "CommitLog": filepath.Join(dir, "commitlog"),
		"Hints": filepath.Join(dir, "hints"), "SavedCaches": filepath.Join(dir, "saved_caches"),
	})
	collector := "-XX:+UseSerialGC"
	if in.state.HeapBytes >= g1Heap {
		collector = "-XX:+UseG1GC"
	}
	flags := []string{
		collector, "-Dcassandra.config=" + yaml, "-Dcassandra.storagedir=" + dir,
		"-Dlogback.configurationFile=" + config("logback.xml", "logback.xml", nil),
		"-Dcassandra-rackdc.properties=" + rackdc,
	}
	return command{flags: flags, main: "org.apache.cassandra.service.CassandraDaemon"}, err
}

// defaultOptions are options that the user may replace. The first two are as in the yaml that
// Cassandra ships: a kill of the process may take what one node acknowledged in the last 100 ms
// (CASSANDRA-13987), a loss of power the last 10 s. A dropped table is gone; Cassandra would keep
// a snapshot of it forever. Files and Paxos are those of this version: the shipped yaml keeps
// those of 4.x, so that a cluster can go back to it.
var defaultOptions = map[string]string{
	"commitlog_sync": "periodic", "commitlog_sync_period": "10000ms",
	"auto_snapshot":              "false",
	"storage_compatibility_mode": "NONE", "paxos_variant": "v2",
	"num_tokens": "16",
}

// probeCassandra reads, through each node, a row that has a replica on every node, at the
// consistency level that needs all of them. It succeeds when every node sees all others.
func probeCassandra(ctx context.Context, in *Instance, nodes []*Node) error {
	var as *login
	if in.state.Auth {
		var err error
		if as, err = in.secure(ctx, nodes[0].Address); err != nil {
			return err
		}
	}
	consistency := []gocql.Consistency{gocql.One, gocql.Two, gocql.Three}[len(nodes)-1]
	for _, n := range nodes {
		s, err := connect(n.Address, as, consistency)
		if err == nil {
			// This keyspace of Cassandra's own exists from the start and has three replicas.
			err = s.Query(`SELECT view_name FROM system_distributed.view_build_status
				WHERE keyspace_name = 'mailbench' AND view_name = 'probe'`).WithContext(ctx).Exec()
			s.Close()
		}
		if err != nil {
			return fmt.Errorf("%s (%s): %w", n.Name, n.Address, err)
		}
	}
	return nil
}

// connect opens a session that uses this node and no other.
func connect(address string, as *login, consistency gocql.Consistency) (*gocql.Session, error) {
	c := gocql.NewCluster(address)
	c.DisableInitialHostLookup = true
	c.ProtoVersion = 4
	c.NumConns = 1
	c.Consistency = consistency
	c.ConnectTimeout, c.Timeout = 5*time.Second, 5*time.Second
	c.Logger = log.New(io.Discard, "", 0) // it reports refused connections until the node is up
	if as != nil {
		c.Authenticator = gocql.PasswordAuthenticator{Username: as.user, Password: as.password}
		c.SslOpts = &gocql.SslOptions{
			Config:                 &tls.Config{RootCAs: as.authorities, MinVersion: tls.VersionTLS12},
			EnableHostVerification: true,
		}
	}
	return c.CreateSession()
}

func fileURL(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

// Files of the folder authDir.
const (
	authorityFile = "ca.pem"         // clients verify the server's certificate with it
	keyFile       = "server.pem"     // the server's key and certificate
	adminFile     = "admin.password" // the superuser's password
	passwordFile  = "password"       // the restricted role's password
)

// Roles of Cassandra with a login. adminRole takes the place of Cassandra's own
// superuser, whose password everybody knows. Role may create keyspaces, and has all
// rights on those that it created, and no others.
const (
	adminRole = "mailbench_admin"
	Role      = "mailbench"
)

// Login is what clients of an instance with a login must give.
type Login struct{ User, PasswordFile, Authority string }

// Login returns what clients must give, or nil if the instance has no login.
func (in *Instance) Login() *Login {
	if !in.state.Auth {
		return nil
	}
	return &Login{Role, in.authPath(passwordFile), in.authPath(authorityFile)}
}

// login is a user with a password, and the authorities that the user trusts.
type login struct {
	user, password string
	authorities    *x509.CertPool
}

// certificate is the server's key with its certificate, and the authority's certificate,
// in PEM.
type certificate struct{ Key, Authority string }

func (in *Instance) authPath(name string) string { return filepath.Join(in.dir, authDir, name) }

// certificate returns the certificate of an instance with a login, which its first start
// makes.
func (in *Instance) certificate() (*certificate, error) {
	if !in.state.Auth {
		return nil, nil
	}
	if err := private.Make(filepath.Join(in.dir, authDir)); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(in.authPath(keyFile)); errors.Is(err, fs.ErrNotExist) {
		if err := in.writeCertificate(); err != nil {
			return nil, err
		}
	}
	key, kerr := private.ReadFile(in.authPath(keyFile))
	authority, aerr := private.ReadFile(in.authPath(authorityFile))
	return &certificate{string(key), string(authority)}, cmp.Or(kerr, aerr)
}

// writeCertificate makes the server's key with a certificate that it signs itself, so that the server is its own
// authority. It writes the server's file last. If it exists, so does the authority's.
func (in *Instance) writeCertificate() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(5, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	signed, serr := x509.CreateCertificate(rand.Reader, server, server, &key.PublicKey, key)
	der, kerr := x509.MarshalPKCS8PrivateKey(key)
	if err := cmp.Or(serr, kerr); err != nil {
		return err
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})
	if err := private.WriteFile(in.authPath(authorityFile), authority); err != nil {
		return err
	}
	secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return private.WriteFile(in.authPath(keyFile), append(secret, authority...))
}

// password returns the password of a file, which is made if it is absent.
func (in *Instance) password(file string) (string, error) {
	b, err := private.ReadFile(in.authPath(file))
	if errors.Is(err, fs.ErrNotExist) {
		b = []byte(rand.Text() + "\n")
		err = private.WriteFile(in.authPath(file), b)
	}
	return strings.TrimSpace(string(b)), err
}

// secure gives a node its roles, if they are not there, and returns the login of the
// superuser. It refuses a node on which somebody else has made a role before.
func (in *Instance) secure(ctx context.Context, address string) (*login, error) {
	authority, err := private.ReadFile(in.authPath(authorityFile))
	own, oerr := in.password(adminFile)
	password, perr := in.password(passwordFile)
	if err := cmp.Or(err, oerr, perr); err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(bytes.TrimSpace(authority)) {
		return nil, fmt.Errorf("%s contains no certificate", in.authPath(authorityFile))
	}
	admin := &login{adminRole, own, trusted}
	s, err := connect(address, admin, gocql.One)
	if err != nil {
		first, ferr := connect(address, &login{"cassandra", "cassandra", trusted}, gocql.One)
		if ferr != nil {
			return nil, errors.Join(err, ferr)
		}
		defer first.Close()
		if err := first.Query(fmt.Sprintf("CREATE ROLE IF NOT EXISTS %s WITH PASSWORD = '%s' AND LOGIN = true AND "+
			"SUPERUSER = true",
			adminRole, admin.password)).WithContext(ctx).Exec(); err != nil {
			return nil, err
		}
		if s, err = connect(address, admin, gocql.One); err != nil {
			return nil, err
		}
	}
	defer s.Close()
	for _, stmt := range []string{
		"DROP ROLE IF EXISTS cassandra",
		fmt.Sprintf("CREATE ROLE IF NOT EXISTS %s WITH PASSWORD = '%s' AND LOGIN = true", Role, password),
		"GRANT CREATE ON ALL KEYSPACES TO " + Role,
	} {
		if err := s.Query(stmt).WithContext(ctx).Exec(); err != nil {
			return nil, err
		}
	}
	return admin, onlyOurs(ctx, s)
}

// onlyOurs refuses roles that somebody else made while Cassandra's own superuser existed.
func onlyOurs(ctx context.Context, s *gocql.Session) error {
	rows, err := s.Query("SELECT role FROM system_auth.roles").WithContext(ctx).Iter().SliceMap()
	if err != nil {
		return err
	}
	var foreign []string
	for _, row := range rows {
		if role := fmt.Sprint(row["role"]); role != adminRole && role != Role {
			foreign = append(foreign, role)
		}
	}
	if len(foreign) > 0 {
		return fmt.Errorf("it has roles that mailbench did not create: %s", strings.Join(foreign, ", "))
	}
	return nil
}
