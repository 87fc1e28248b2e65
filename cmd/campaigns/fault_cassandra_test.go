//go:build campaigns && unix

package campaigns

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers/launch"
	"github.com/mailbench/mailbench/drivers/launch/live"
)

// TestCassandraNodeDies kills one of three nodes while workday runs with three
// replicas at quorum, and brings it back. The loss of one node stops no client at
// quorum; so that there is something to be seen on every machine, the node hangs
// before it dies, as one does that runs out of memory, for longer than a call may
// take: requests that are under way there neither end nor fail.
func TestCassandraNodeDies(t *testing.T) {
	models := faultModels(t, "datastax,elasticinbox")
	in := live.Cassandra3(t)
	t.Parallel() // most of both tests is waiting
	f := fault{
		cluster: in, engine: "cassandra", settings: []string{"replication=3", "consistency=QUORUM", "timeout=8s"},
		measure: 5*time.Second + hang + 10*time.Second, // before, during and after
		kill:    func([]*victim) outage { return hangAndDie(t, in, "node2") },
		remove:  map[string]func(*victim, int64){"datastax": hideEmails},
	}
	f.strike(t, models)
}

// hang is how long the node hangs before it dies: longer than a call may take.
const hang = 10 * time.Second

// hangAndDie lets a node hang, kills it, and brings it back. The outage ends
// with the node's death, after which no client waits for it. The runs go on while it
// boots; they may end before it is back.
func hangAndDie(t *testing.T, in *launch.Instance, name string) outage {
	t.Helper()
	o := outage{began: time.Now(), gap: hang / 5}
	if err := syscall.Kill(node(t, in, name).Process.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(hang) // it is the fault that takes so long
	kill9(t, in, name)
	o.ended = time.Now()
	bringBack(t, in, "cassandra", "Starting listening for CQL clients on /HOST:PORT ", "--nodes", "3")
	return o
}

// plainCQL is a session with one node, without mailbench's layers.
func plainCQL(t *testing.T, address string, consistency gocql.Consistency) *gocql.Session {
	t.Helper()
	c := gocql.NewCluster(address)
	c.DisableInitialHostLookup = true
	c.ProtoVersion, c.NumConns = 4, 1
	c.Consistency = consistency
	c.Timeout, c.ConnectTimeout = 10*time.Second, 10*time.Second
	s, err := c.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// hideEmails takes so many emails out of their folders.
func hideEmails(v *victim, n int64) {
	t := v.t
	t.Helper()
	s := plainCQL(t, strings.Split(v.contact, ",")[0], gocql.All)
	table := fmt.Sprintf("mailbench_%s_datastax.emails_by_user_folder", v.namespace())
	rows := s.Query("SELECT username, label, id FROM "+table+" LIMIT ?", n).Iter()
	var user, label string
	var id gocql.UUID
	removed := int64(0)
	for rows.Scan(&user, &label, &id) {
		if err := s.Query("DELETE FROM "+table+" WHERE username = ? AND label = ? AND id = ?", user, label, id).Exec(); err != nil {
			t.Fatal(err)
		}
		removed++
	}
	if err := rows.Close(); err != nil || removed != n {
		t.Fatalf("removed %d of %d rows: %v", removed, n, err)
	}
}
