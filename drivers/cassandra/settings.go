package cassandra

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
)

const consistencies = "ONE, TWO, THREE, QUORUM, ALL, LOCAL_QUORUM, EACH_QUORUM, LOCAL_ONE"

// settingList are the driver settings, with their defaults as they would be
// written.
var settingList = []drivers.Setting{
	{Name: "consistency", Default: "LOCAL_QUORUM", Doc: "consistency of reads and writes: " + consistencies},
	{Name: "serial_consistency", Default: "LOCAL_SERIAL", Doc: "of the Paxos rounds of conditional writes: SERIAL or LOCAL_SERIAL"},
	{Name: "replication", Doc: "replicas of each row in the local datacenter; without it 1 on one node, else 3, or all nodes if they are fewer"},
	{Name: "local_dc", Doc: "the datacenter whose nodes are asked; without it the only one there is"},
	{Name: "timeout", Default: "12s", Doc: "of one request: longer than the 10 s that Cassandra itself gives a range read, so that its own verdict comes first"},
	{Name: "connect_timeout", Default: "5s", Doc: "of connecting to the cluster"},
	{Name: "connections", Default: "2", Doc: "connections to each node"},
	{Name: "page_size", Default: "1000", Doc: "rows of a page of a long read; a scan of a whole table begins with a fiftieth, and grows up to it while pages come quickly"},
	{Name: "retries", Default: "2", Doc: "how often an idempotent request is sent again, at once, when its connection is lost or a node turns it away"},
	{Name: "write_coalesce", Default: "0s", Doc: "how long gocql waits to send several requests with one system call; its own default of 200us triples the latency of a single client"},
	{Name: "tls", Default: "false", Doc: "true: encrypted, the server's certificate verified"},
	{Name: "tls_ca", Doc: "file with the certificates of authorities (PEM); without it the system's"},
	{Name: "tls_cert", Doc: "file with the client's certificate (PEM)"},
	{Name: "tls_key", Doc: "file with the key of the client's certificate (PEM)"},
	{Name: "tls_server_name", Doc: "name that the server's certificate must have, where it is not the contact's"},
}

// The variables that hold what no flag, file or result does.
const (
	userVariable         = "MAILBENCH_CASSANDRA_USER"
	passwordVariable     = "MAILBENCH_CASSANDRA_PASSWORD"
	passwordFileVariable = "MAILBENCH_CASSANDRA_PASSWORD_FILE"
)

var environment = []drivers.Setting{
	{Name: userVariable, Doc: "user, where the cluster asks for one"},
	{Name: passwordVariable, Doc: "the user's password"},
	{Name: passwordFileVariable, Doc: "file that holds the password instead"},
}

// settings are the driver settings, read.
type settings struct {
	consistency     gocql.Consistency
	serial          gocql.SerialConsistency
	replication     int // 0: by the number of nodes
	localDC         string
	timeout         time.Duration
	connectTimeout  time.Duration
	connections     int
	pageSize        int
	retries         int
	writeCoalesce   time.Duration
	tls             bool
	tlsCA           string
	tlsCert, tlsKey string
	tlsServerName   string
}

func readSettings(given map[string]string) (*settings, error) {
	values := make(map[string]string)
	for _, s := range settingList {
		values[s.Name] = s.Default
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, known := values[name]; !known {
			return nil, fmt.Errorf("unknown setting %q; expected one of %s", name, strings.Join(slices.Sorted(maps.Keys(values)), ", "))
		}
		values[name] = given[name]
	}
	s := &settings{
		localDC: values["local_dc"], tlsCA: values["tls_ca"], tlsCert: values["tls_cert"], tlsKey: values["tls_key"],
		tlsServerName: values["tls_server_name"],
	}
	var errs []error
	read := func(name string, parse func(string) error) {
		if err := parse(values[name]); err != nil {
			errs = append(errs, fmt.Errorf("setting %s: %w", name, err))
		}
	}
	read("consistency", func(v string) (err error) {
		if s.consistency, err = gocql.ParseConsistencyWrapper(v); err != nil {
			return fmt.Errorf("%q; expected one of %s", v, consistencies)
		}
		if s.consistency == gocql.Any {
			return fmt.Errorf("ANY is for writes only; expected one of %s", consistencies)
		}
		return nil
	})
	read("serial_consistency", func(v string) error {
		if s.serial.UnmarshalText([]byte(strings.ToUpper(v))) != nil {
			return fmt.Errorf("%q; expected SERIAL or LOCAL_SERIAL", v)
		}
		return nil
	})
	read("replication", func(v string) error {
		if v == "" {
			return nil
		}
		return atLeast(1, v, &s.replication)
	})
	read("connections", func(v string) error { return atLeast(1, v, &s.connections) })
	read("page_size", func(v string) error { return atLeast(1, v, &s.pageSize) })
	read("retries", func(v string) error { return atLeast(0, v, &s.retries) })
	read("timeout", func(v string) error { return duration(time.Millisecond, v, &s.timeout) })
	read("connect_timeout", func(v string) error { return duration(time.Millisecond, v, &s.connectTimeout) })
	read("write_coalesce", func(v string) error { return duration(0, v, &s.writeCoalesce) })
	read("tls", func(v string) (err error) {
		if s.tls, err = strconv.ParseBool(v); err != nil {
			err = fmt.Errorf("%q is neither true nor false", v)
		}
		return err
	})
	if !s.tls {
		for _, name := range []string{"tls_ca", "tls_cert", "tls_key", "tls_server_name"} {
			if values[name] != "" {
				errs = append(errs, fmt.Errorf("setting %s has no use without tls: true", name))
			}
		}
	}
	if (s.tlsCert == "") != (s.tlsKey == "") {
		errs = append(errs, errors.New("settings tls_cert and tls_key go together"))
	}
	return s, errors.Join(errs...)
}

func atLeast(least int, v string, n *int) (err error) {
	if *n, err = strconv.Atoi(v); err != nil || *n < least {
		return fmt.Errorf("%q is no number from %d up", v, least)
	}
	return nil
}

func duration(least time.Duration, v string, d *time.Duration) (err error) {
	if *d, err = time.ParseDuration(v); err != nil || *d < least {
		return fmt.Errorf("%q is no duration from %v up, such as 5s", v, least)
	}
	return nil
}

// authenticator returns user and password from the environment; nil is none.
func authenticator(getenv func(string) string) (gocql.Authenticator, error) {
	user, password, file := getenv(userVariable), getenv(passwordVariable), getenv(passwordFileVariable)
	switch {
	case user == "" && password == "" && file == "":
		return nil, nil
	case user == "":
		return nil, fmt.Errorf("there is a password and no user: set %s too", userVariable)
	case password != "" && file != "":
		return nil, fmt.Errorf("%s and %s are both set: one is enough", passwordVariable, passwordFileVariable)
	case file != "":
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the password named by %s: %w", passwordFileVariable, err)
		}
		password = strings.TrimRight(string(b), "\r\n")
	}
	if password == "" {
		return nil, fmt.Errorf("there is a user and no password: set %s or %s", passwordVariable, passwordFileVariable)
	}
	return gocql.PasswordAuthenticator{Username: user, Password: password}, nil
}
