//go:build campaigns

package campaigns

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mailbench/mailbench/drivers/launch/live"
)

// TestTwoClients: two mailbench use one data set at a time, from a data folder and from a copy of it.
// Neither knows what the other deletes, so their audits may miss that; they say so and are not
// clean, and no UID is given twice. See docs/internals/reliability.md.
func TestTwoClients(t *testing.T) {
	ownNetwork(t)
	in := live.CassandraDatacenters(t)
	data, twin := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "data")
	run := func(data, lasts string) *child {
		return startRun(t, faultsWorkload, "-m", "james", "-e", "cassandra", "--data", data, "--verify", "--no-overhead",
			"--contact", in.Contact()[0], "--set", "engines.cassandra.replication=dc1:2,dc2:1", "--set", "engines.cassandra.local_dc=dc1",
			"--set", "engines.cassandra.consistency=LOCAL_QUORUM", "--set", "phases.measure.duration="+lasts)
	}
	run(data, "1s").end(exitOK)
	if err := os.CopyFS(twin, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{twin, filepath.Join(twin, "james-cassandra")} {
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	both := []*child{run(data, "20s"), run(twin, "20s")}
	for i, p := range both {
		status := p.finish()
		a, unaudited := audited(t, p)
		t.Logf("client %d: status %d, %d of %d verified, %d lost, %d deleted but still there %s", i+1, status, a.Verified, a.Delivered,
			a.Lost, a.Resurrected, unaudited)
		if unaudited != "" || a.BadUIDs > 0 || a.Wrong() != (status == exitData) {
			t.Errorf("client %d: status %d, audit %+v %s\n%s", i+1, status, a, unaudited, p.printed("stderr"))
		}
	}
}
