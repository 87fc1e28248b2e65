package cassandra

import (
	"testing"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
)

// recorder records the keyspaces and consistencies of the requests that a policy gets.
type recorder struct {
	gocql.HostSelectionPolicy
	keyspaces     []string
	consistencies []gocql.Consistency
}

// record puts a recorder before a store's policy until the test ends.
func record(t *testing.T, st *Store) *recorder {
	t.Helper()
	policy := st.nodes.HostSelectionPolicy
	to := &recorder{HostSelectionPolicy: policy}
	st.nodes.HostSelectionPolicy = to
	t.Cleanup(func() { st.nodes.HostSelectionPolicy = policy })
	return to
}

func (r *recorder) Pick(q gocql.ExecutableQuery) gocql.NextHost {
	r.keyspaces = append(r.keyspaces, q.Keyspace())
	if l, ok := q.(*located); ok {
		q = l.ExecutableQuery
	}
	if queried, ok := q.(gocql.RetryableQuery); ok {
		r.consistencies = append(r.consistencies, queried.GetConsistency())
	}
	return r.HostSelectionPolicy.Pick(q)
}

// TestBatchesAreRouted: gocql gets the keyspace of batches and of queries that are sent for the
// first time, so that it knows the replicas. The settings have the outcome.
func TestBatchesAreRouted(t *testing.T) {
	st := openLive(t, nil)
	r := run(t, st, schemaOf(t, "flags", flagsBody))
	to := record(t, st)
	row := func(k int32) []drivers.Value {
		return []drivers.Value{drivers.Text("p"), drivers.Int(k), drivers.Blob([]byte("v"))}
	}
	for range 2 {
		if err := r.session.Batch(t.Context(), r.stmt("logged"), []drivers.Call{{Args: row(1)}, {Args: row(2)}}); err != nil {
			t.Fatal(err)
		}
	}
	r.write("log", row(3)...)
	if len(to.keyspaces) != 3 {
		t.Fatalf("%d requests, want 3", len(to.keyspaces))
	}
	for _, k := range to.keyspaces {
		if want := "mailbench_" + st.Namespace + "_flags"; k != want {
			t.Errorf("a request of keyspace %q, want %q", k, want)
		}
	}
	if got := st.Observe().Settings["routing"]; got != "to a replica of the row" {
		t.Errorf("routing: %s", got)
	}
	st.nodes.keyspaces.Store(nil) // as gocql would do alone
	for range 20 {
		if err := r.session.Batch(t.Context(), r.stmt("logged"), []drivers.Call{{Args: row(1)}, {Args: row(2)}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := st.Observe().Settings["routing"]; got == "to a replica of the row" {
		t.Errorf("routing of batches without a keyspace: %s", got)
	}
}
