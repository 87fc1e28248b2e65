package launch

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers/private"
)

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
// makes. The key of the authority that signs it is never written.
func (in *Instance) certificate() (*certificate, error) {
	if !in.state.Auth {
		return nil, nil
	}
	if err := private.Make(filepath.Join(in.dir, authDir)); err != nil {
		return nil, err
	}
	key, err := private.ReadFile(in.authPath(keyFile))
	if errors.Is(err, fs.ErrNotExist) {
		if err = in.writeCertificate(); err == nil {
			key, err = private.ReadFile(in.authPath(keyFile))
		}
	}
	if err != nil {
		return nil, err
	}
	authority, err := private.ReadFile(in.authPath(authorityFile))
	return &certificate{string(key), string(authority)}, err
}

// writeCertificate writes the server's file last. If it exists, so does the authority's.
func (in *Instance) writeCertificate() error {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mailbench engine up"},
		NotBefore: time.Now().Add(-time.Hour),
		NotAfter:  time.Now().AddDate(5, 0, 0), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: authority.NotBefore,
		NotAfter: authority.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	signed, err := x509.CreateCertificate(rand.Reader, authority, authority, &authorityKey.PublicKey, authorityKey)
	if err != nil {
		return err
	}
	served, err := x509.CreateCertificate(rand.Reader, server, authority, &key.PublicKey, authorityKey)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	block := func(typ string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: der}) }
	if err := private.WriteFile(in.authPath(authorityFile), block("CERTIFICATE", signed)); err != nil {
		return err
	}
	return private.WriteFile(in.authPath(keyFile), slices.Concat(block("PRIVATE KEY", der), block("CERTIFICATE", served)))
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
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(bytes.TrimSpace(authority)) {
		return nil, fmt.Errorf("%s contains no certificate", in.authPath(authorityFile))
	}
	admin := &login{user: adminRole, authorities: trusted}
	if admin.password, err = in.password(adminFile); err != nil {
		return nil, err
	}
	password, err := in.password(passwordFile)
	if err != nil {
		return nil, err
	}
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
	it := s.Query("SELECT role FROM system_auth.roles").WithContext(ctx).Iter()
	var role string
	var foreign []string
	for it.Scan(&role) {
		if role != adminRole && role != Role {
			foreign = append(foreign, role)
		}
	}
	if err := it.Close(); err != nil {
		return err
	}
	if len(foreign) > 0 {
		return fmt.Errorf("it has roles that mailbench did not create: %s", strings.Join(foreign, ", "))
	}
	return nil
}
