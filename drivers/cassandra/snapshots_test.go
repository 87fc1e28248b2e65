package cassandra

import (
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
)

// TestThrowAway: tables of runs leave no snapshots and no backups, and are what
// the schema says all the same.
func TestThrowAway(t *testing.T) {
	st, s := openLive(t, nil), schemaOf(t, "mail", withHints)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	keyspace, err := ddl.Keyspace(st.Namespace, s.Name)
	if err != nil {
		t.Fatal(err)
	}
	it := st.session.Query("SELECT table_name, allow_auto_snapshot, incremental_backups FROM system_schema.tables WHERE keyspace_name = ?", keyspace).Iter()
	var table string
	var snapshots, backups bool
	tables := 0
	for ; it.Scan(&table, &snapshots, &backups); tables++ {
		if snapshots || backups {
			t.Errorf("table %s: snapshots %t, backups %t", table, snapshots, backups)
		}
	}
	if err := it.Close(); err != nil || tables == 0 {
		t.Fatal(tables, err)
	}
	c, err := st.Compare(t.Context(), s)
	if err != nil || len(c.Drifts) > 0 {
		t.Errorf("the tables differ from their schema: %+v, %v", c, err)
	}
	if left := st.Left(); left != "" {
		t.Errorf("what Drop leaves: %q", left)
	}
}

// TestLeft: of a version without these options the tables have none, and it is said what
// stays.
func TestLeft(t *testing.T) {
	for _, c := range []struct {
		auto string // the cluster's auto_snapshot, "" if it is not reported
		left bool
	}{{"", true}, {"true", true}, {"false", false}} {
		st := storeOf(&cluster{version: "4.0.1", server: map[string]string{"auto_snapshot": c.auto}}, drivers.Options{})
		if left := st.Admin.Left(); (left != "") != c.left || c.left && !strings.Contains(left, "nodetool clearsnapshot") {
			t.Errorf("auto_snapshot %q: %q", c.auto, left)
		}
	}
	d, err := ddl.Define(schemaOf(t, "mail", withHints), "", ddl.Replication{{Datacenter: "dc1", Factor: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(created(t, d), ";"); strings.Contains(all, "snapshot") || strings.Contains(all, "tablets") {
		t.Errorf("statements of a cluster that has no such options:\n%s", all)
	}
}

// TestDurabilityClass: a class that a cluster does not report is unknown.
func TestDurabilityClass(t *testing.T) {
	for sync, want := range map[string]drivers.Durability{
		"": drivers.DurabilityUnknown, "periodic": drivers.Memory, "batch": drivers.Power, "group": drivers.Power,
	} {
		set, err := readSettings(nil)
		if err != nil {
			t.Fatal(err)
		}
		st := &cluster{settings: set, replication: ddl.Replication{{Datacenter: "dc1", Factor: 1}}, server: map[string]string{}}
		if sync != "" {
			st.server["commitlog_sync"] = sync
		}
		if got := st.durabilityClass(); got != want {
			t.Errorf("commitlog_sync %q gives %s, want %s", sync, got, want)
		}
	}
}
