package modeltest

import (
	"testing"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// RunQuorum runs the rules about several nodes on a cluster of three, with three replicas, at
// quorum: numbers, counters and moves of workers that use different nodes. At the end it reads
// new messages from all three replicas at once. Tests that call it have Quorum in their names.
func (s Suite) RunQuorum(t *testing.T) {
	s.complete(t)
	// It makes tables faster. They would not survive a crash, but these nodes need not.
	t.Setenv("JAVA_TOOL_OPTIONS", "-Dcassandra.test.flush_local_schema_changes=false")
	cluster := live.Cassandra3(t)
	o := drivers.Options{
		Contact: cluster.Contact(), Namespace: newNamespace(),
		Settings: map[string]string{"replication": "3", "consistency": "QUORUM"},
	}
	st := drivertest.OpenLive(t, cassandra.Engine(), o)
	if d := st.Capabilities().Durability; d != drivers.Quorum {
		t.Errorf("durability is %s, want %s", d, drivers.Quorum)
	}
	shared := s.onShared(t, st)
	shared.run(t, rulesOn(onNodes))
	shared.checkReplicas(t, o)
	filled := fill(shared.start(t, Sized(1000, 5)))
	o.Settings["consistency"] = "ALL" // every replica must answer
	every, err := cassandra.Engine().Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { every.Close() })
	checkAgain(t, shared, every, filled)
}

// checkReplicas asks the cluster how many replicas the model's keyspace has.
func (s *suite) checkReplicas(t *testing.T, o drivers.Options) {
	t.Helper()
	schema, err := s.Model.Schema()
	if err != nil {
		t.Fatal(err)
	}
	keyspace, err := cassandra.Keyspace(o.Namespace, schema.Name)
	if err != nil {
		t.Fatal(err)
	}
	session, err := gocql.NewCluster(o.Contact...).CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	var replication map[string]string
	rows := session.Query("SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?", keyspace)
	if err := rows.Scan(&replication); err != nil {
		t.Fatalf("replication of keyspace %s: %v", keyspace, err)
	}
	delete(replication, "class")
	for where, factor := range replication {
		if factor != "3" || len(replication) != 1 {
			t.Errorf("keyspace %s has %s replicas in %s, want 3 in one datacenter", keyspace, factor, where)
		}
	}
}

// fill delivers, flags, moves and deletes some messages.
func fill(f *fixture) *differential {
	diff := f.differential()
	a, b := diff.user(diff.at("ann"), "INBOX", "Work"), diff.user(diff.at("bob"), "INBOX")
	for n := range 12 {
		d := sample(n)
		d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(n*500, n)}}
		diff.deliver(d.Message(), a.folders[0], b.folders[0])
	}
	ms := diff.live(a.folders[0])
	diff.flag(ms[0], models.Seen, true)
	diff.move(a.folders[0], a.folders[1], ms[1:4]...)
	diff.delete(a.folders[0], ms[5:7]...)
	return diff
}

// checkAgain compares a differential's reference with the model on another store.
func checkAgain(t *testing.T, s *suite, st drivers.Store, diff *differential) {
	t.Helper()
	schema, err := s.Model.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Apply(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, suite: s, ctx: t.Context(), schema: schema, store: st}
	o := Sized(1000, 5)
	o.Now = diff.clock.now
	other := diff.through(f.mailboxOf(f.bind(o)))
	other.check()
}
