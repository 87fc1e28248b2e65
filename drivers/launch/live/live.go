// Package live gives tests a real engine. Environment variables name the engines
// that "make test" has started:
//
//	MAILBENCH_TEST_CASSANDRA   host:port of one node
//	MAILBENCH_TEST_HBASE       host:port of ZooKeeper
//	MAILBENCH_TEST_ORACLENOSQL host:port of the HTTP proxy of an Oracle NoSQL Database, which nothing here starts
//	MAILBENCH_TEST_CASSANDRA3  the folder of three nodes, as given to engine up --dir
//	MAILBENCH_TEST_CASSANDRA_DC  the folder of three nodes in two datacenters
//	MAILBENCH_TEST_HBASE2      the folder of two region servers
//
// With MAILBENCH_TEST_ENGINES=1 tests may start engines of their own. A test
// whose engine is missing is skipped, or fails if MAILBENCH_REQUIRE_ENGINES is set.
package live

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers/launch"
)

// Contact returns host:port of the engine that tests share. It takes it from the variable
// MAILBENCH_TEST_NAME, where NAME is engine in upper case. Without it the test is skipped.
func Contact(t testing.TB, engine string) string {
	t.Helper()
	variable := "MAILBENCH_TEST_" + strings.ToUpper(engine)
	contact := os.Getenv(variable)
	if contact == "" && !slices.ContainsFunc(launch.Engines(), func(e launch.Engine) bool { return e.Name == engine }) {
		t.Skip(variable + " is not set: it names a server that you have started")
	}
	if contact == "" {
		leaveOut(t, variable+" is not set; make test starts an engine and sets it")
	}
	return contact
}

// The engines of several nodes that tests share, or else a test's own. A test may kill nodes and start them again.
var (
	Cassandra3 = shared("MAILBENCH_TEST_CASSANDRA3", launch.Config{Engine: "cassandra", Nodes: 3})
	// CassandraDatacenters has node1 and node3 in dc1, in two racks, and node2 in dc2.
	CassandraDatacenters = shared("MAILBENCH_TEST_CASSANDRA_DC",
		launch.Config{Engine: "cassandra", Nodes: 3, Datacenters: 2})
	// HBase2 has two region servers.
	HBase2 = shared("MAILBENCH_TEST_HBASE2", launch.Config{Engine: "hbase", Nodes: 2})
)

// shared returns what returns the engine in the folder that a variable names, or else starts one for the test.
func shared(variable string, c launch.Config) func(testing.TB) *launch.Instance {
	return func(t testing.TB) *launch.Instance {
		t.Helper()
		c := c
		if c.Dir = os.Getenv(variable); c.Dir == "" {
			return Start(t, c)
		}
		in, err := launch.Up(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
}

// Secured returns a Cassandra with a login and TLS, in the folder that
// MAILBENCH_TEST_CASSANDRA_AUTH names. make check CHECK=auth starts one; else the test is skipped.
func Secured(t testing.TB) *launch.Instance {
	t.Helper()
	const variable = "MAILBENCH_TEST_CASSANDRA_AUTH"
	if os.Getenv(variable) == "" {
		t.Skip(variable + " is not set; make check CHECK=auth starts a Cassandra with a login and sets it")
	}
	return shared(variable, launch.Config{Engine: "cassandra", Auth: true})(t)
}

// Start starts an engine of the test's own, on free ports and in a folder that is
// removed with it. The test is skipped if MayStart returns an error.
func Start(t testing.TB, c launch.Config) *launch.Instance {
	t.Helper()
	if err := MayStart(t.Context(), c.Engine); err != nil {
		leaveOut(t, err.Error())
	}
	c.Dir, c.Port, c.Progress = t.TempDir(), launch.AnyPort, func(line string) { t.Log(line) }
	in, err := launch.Up(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Down(context.Background(), true); err != nil {
			t.Error(err)
		}
	})
	return in
}

// MayStart returns an error that says why tests start no engine here: the caller
// did not request it, or Java or Maven is missing.
func MayStart(ctx context.Context, engine string) error {
	if os.Getenv("MAILBENCH_TEST_ENGINES") != "1" {
		return errors.New("MAILBENCH_TEST_ENGINES=1 is not set: tests start no engines; make test sets it")
	}
	return launch.Available(ctx, engine)
}

// Required reports whether a missing engine fails a test.
func Required() bool { return os.Getenv("MAILBENCH_REQUIRE_ENGINES") != "" }

// leaveOut skips the test, or fails it if Required.
func leaveOut(t testing.TB, why string) {
	t.Helper()
	if Required() {
		t.Fatal(why + " (MAILBENCH_REQUIRE_ENGINES is set)")
	}
	t.Skip(why)
}

// CQL returns how to reach the Cassandra that tests share with statements of their own. Creating
// and dropping tables takes longer during other tests than gocql waits.
func CQL(t testing.TB) *gocql.ClusterConfig {
	t.Helper()
	c := gocql.NewCluster(Contact(t, "cassandra"))
	c.Timeout, c.ConnectTimeout = 2*time.Minute, time.Minute
	return c
}
