package modeltest

import (
	"slices"
	"strings"
	"testing"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// quorumRules are the rules that are run once more on three nodes. They are
// about every acknowledged delivery byte for byte, counters, UIDs, whole bodies,
// and messages in exactly one folder: invariants 1, 3, 4, 5 and 6.
var quorumRules = []string{
	"deliver", "bytes", "chunk seams", "pages", "flags", "move", "move and back", "delete", "workers on one folder", "labels", "uids",
}

// TestModelsQuorum runs rules over every model on three nodes with as many
// replicas, at quorum. What is delivered last is read from all three at once.
func TestModelsQuorum(t *testing.T) {
	// Tables are made quickly; what that costs, none of these nodes lives to see.
	t.Setenv("JAVA_TOOL_OPTIONS", "-Dcassandra.test.flush_local_schema_changes=false")
	cluster := live.Cluster(t, "cassandra", 3)
	o := drivers.Options{Contact: cluster.Contact(), Settings: map[string]string{"replication": "3", "consistency": "QUORUM"}}
	st := openAt(t, o)
	if d := st.Capabilities().Durability; d != drivers.Quorum {
		t.Errorf("durability is %s, want %s", d, drivers.Quorum)
	}
	var suites []*suite
	t.Run("rules", func(t *testing.T) {
		for _, m := range all() {
			s := sharedSuite(t, m, st)
			suites = append(suites, s)
			t.Run(m.Name, func(t *testing.T) {
				t.Parallel()
				for _, r := range s.rules(t) {
					if slices.Contains(quorumRules, r.name) {
						t.Run(r.name, func(t *testing.T) { r.check(t, s) })
					}
				}
			})
		}
	})
	checkReplicas(t, o.Contact, len(suites))
	var filled []*twin
	for _, s := range suites {
		filled = append(filled, fill(s.start(t, models.Options{ChunkSize: 1000, OverflowAfter: 5})))
	}
	o.Settings["consistency"] = "ALL" // an answer takes every replica
	st = openAt(t, o)
	for i, s := range suites {
		checkAgain(t, s, st, filled[i])
	}
}

// openAt opens a store on a cluster that goes with the test, and what it holds too.
func openAt(t *testing.T, o drivers.Options) drivers.Store {
	t.Helper()
	st, err := cassandra.Engine().Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return st
}

// checkReplicas asks the cluster itself how often it keeps what models store.
func checkReplicas(t *testing.T, contact []string, keyspaces int) {
	t.Helper()
	session, err := gocql.NewCluster(contact...).CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	rows := session.Query("SELECT keyspace_name, replication FROM system_schema.keyspaces").Iter()
	var name string
	var replication map[string]string
	for rows.Scan(&name, &replication) {
		if !strings.HasPrefix(name, drivers.Prefix) {
			continue
		}
		keyspaces--
		delete(replication, "class")
		for where, factor := range replication {
			if factor != "3" || len(replication) != 1 {
				t.Errorf("keyspace %s has %s replicas in %s, want 3 in one datacenter", name, factor, where)
			}
		}
	}
	if err := rows.Close(); err != nil || keyspaces != 0 {
		t.Errorf("%d keyspaces of models are missing (%v)", keyspaces, err)
	}
}

// fill does a little of everything that every model can do.
func fill(f *fixture) *twin {
	tw := f.twin()
	a, b := tw.user(tw.at("ann"), "INBOX", "Work"), tw.user(tw.at("bob"), "INBOX")
	for n := range 12 {
		d := letter(n)
		d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(n*500, n)}}
		tw.deliver(d.Message(), a.folders[0], b.folders[0])
	}
	ms := tw.live(a.folders[0])
	tw.flag(ms[0], models.Seen, true)
	tw.move(a.folders[0], a.folders[1], ms[1:4]...)
	tw.delete(a.folders[0], ms[5:7]...)
	return tw
}

// checkAgain compares all that a twin knows with what another store finds.
func checkAgain(t *testing.T, s *suite, st drivers.Store, tw *twin) {
	t.Helper()
	schema, err := s.model.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Apply(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, suite: s, ctx: t.Context(), schema: schema, store: st}
	other := tw.through(f.mailboxOf(f.bind(models.Options{Now: tw.clock.now, ChunkSize: 1000, OverflowAfter: 5})))
	other.check()
}
