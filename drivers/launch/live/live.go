// Package live gives tests a real engine: one that "make test" has started for
// all of them, or a cluster of their own to kill nodes of.
package live

import (
	"context"
	"os"
	"testing"

	"github.com/mailbench/mailbench/drivers/launch"
)

// Cassandra returns host:port of the Cassandra node that tests share. The test
// is skipped if there is none.
func Cassandra(t testing.TB) string {
	t.Helper()
	return shared(t, "MAILBENCH_TEST_CASSANDRA")
}

// HBase returns host:port of the ZooKeeper of the HBase that tests share. The
// test is skipped if there is none.
func HBase(t testing.TB) string {
	t.Helper()
	return shared(t, "MAILBENCH_TEST_HBASE")
}

func shared(t testing.TB, variable string) string {
	t.Helper()
	contact := os.Getenv(variable)
	if contact == "" {
		leaveOut(t, variable+" is not set; make test starts an engine and sets it")
	}
	return contact
}

// Cluster starts an engine of the test's own, on free ports and in a folder that
// goes with the test. Where Java or Maven is missing the test is skipped.
func Cluster(t testing.TB, engine string, nodes int) *launch.Instance {
	t.Helper()
	if err := launch.Available(t.Context(), engine); err != nil {
		leaveOut(t, err.Error())
	}
	in, err := launch.Up(t.Context(), launch.Config{
		Engine: engine, Nodes: nodes, Dir: t.TempDir(), Port: launch.AnyPort,
		Progress: func(line string) { t.Log(line) },
	})
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

// leaveOut skips the test, or fails it where nothing may be left out.
func leaveOut(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("MAILBENCH_REQUIRE_ENGINES") != "" {
		t.Fatal(why + " (MAILBENCH_REQUIRE_ENGINES is set)")
	}
	t.Skip(why)
}
