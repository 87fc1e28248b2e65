//go:build campaigns && unix

package campaigns

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/results"
)

const killsWorkload = "testdata/kills.yaml"

// TestKills kills mailbench at random moments of the load and of a mix of
// changes, with every model on the embedded engine, and audits what is left:
// nothing may be wrong. "make check CHECK=kills" does so hundreds of times.
func TestKills(t *testing.T) {
	kills := killsOfModels(t)
	for i, m := range everyModel {
		t.Run(m.Name, func(t *testing.T) {
			var sum audits
			var done int
			for done = 0; done*len(everyModel)+i < kills; done++ {
				sum.add(killAndAudit(t, m.Name))
			}
			t.Logf("%d kills: %v", done, &sum)
		})
	}
}

// killAndAudit kills one run and audits what it leaves.
func killAndAudit(t *testing.T, model string) *results.Audit {
	t.Helper()
	data, err := os.MkdirTemp(t.TempDir(), "data")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(data)
	killRun(t, data, model, "embedded", "--durability", "process")
	return auditOnly(t, data, model, exitOK)
}

// killRun kills a run at a random moment.
func killRun(t *testing.T, data, model, engine string, args ...string) {
	t.Helper()
	args = append([]string{killsWorkload, "-m", model, "-e", engine, "--data", data, "--no-overhead", "--quiet"}, args...)
	p := startRun(t, args...)
	// The load makes about 220 records; the mix writes some 2,000 a second.
	records, delay := rand.Int64N(1500), time.Duration(rand.Int64N(int64(20*time.Millisecond)))
	ledger := filepath.Join(data, model+"-"+engine, "ledger")
	p.await("the ledger to grow", func() bool {
		f, err := os.Stat(ledger)
		return err == nil && f.Size() >= 64*records
	})
	time.Sleep(delay)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if status := p.finish(); status != -1 {
		t.Fatalf("a run that was killed ended with status %d", status)
	}
	t.Logf("killed %v after its ledger had %d records", delay, records)
}

func auditOnly(t *testing.T, data, model string, want int) *results.Audit {
	t.Helper()
	return &startRun(t, "--data", data, "-m", model, "--verify=only").end(want).Audits[0]
}

// removals are rows of which an audit must miss one, by table. Counters are not
// among them: a kill leaves them wrong, too.
var removals = map[string][]removal{
	"elasticinbox": {
		{table: "MessageBlob", message: "message"},
		{table: "IndexLabels", column: "key", ends: ":1", message: "id"},
		{table: "IndexLabels", column: "key", ends: ":0", message: "id"},
		{table: "IndexLabels", column: "key", ends: ":purge", message: "id"},
		{table: "MessageMetadata.columns", column: "name", ends: "subject", message: "message"},
		{table: "MessageMetadata.columns", column: "name", ends: "l:1", message: "message"},
		{table: "Accounts", column: "name", ends: "label:0", message: "key"},
		{table: "Accounts", column: "name", ends: "label:1", message: "key"},
	},
	"james": {
		{table: "JAMES_MESSAGES.data", message: "uid"},
		{table: "JAMES_MESSAGES", message: "uid"},
		{table: "JAMES_MAILBOXES", message: "mailbox"},
		{table: "JAMES_MAILBOX_NAMES", message: "user"},
		{table: "JAMES_MAILBOX_NAMES", column: "name", ends: plan.FolderName(0), message: "user"},
	},
	"datastax": {
		{table: "attachments", message: "email_id"},
		{table: "emails", message: "id", more: true},
		{table: "emails_by_user_folder", message: "id"},
		{table: "folders_by_user", message: "username"},
	},
	"oracle": {
		{table: "users.folder.message", message: "messageId"},
		{table: "users.folder", message: "userID"},
		{table: "users", message: "userID"},
	},
	"conversation": {
		{table: "messages", message: "message_id"},
		{table: "conversations_by_user", message: "user"},
	},
}

type removal struct {
	table        string
	column, ends string // only rows whose column ends so; "" is any row
	message      string // at most one row of each value of this column is removed
	more         bool   // those of unreferenced messages may go: remove as many, and one more
}

// TestRemovals removes rows without mailbench's knowledge from a store that is whole. The store is
// copied for each row; so its messages are smaller than those of the workload.
func TestRemovals(t *testing.T) {
	b, err := os.ReadFile(killsWorkload)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("duration: 10m", "operations: 400", ", purge: 5", "", "max: 3MB", "max: 60KB").Replace(string(b))
	workload := filepath.Join(t.TempDir(), "removals.yaml")
	if err := os.WriteFile(workload, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	models, err := pickModels(slices.Collect(maps.Keys(removals)))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range models {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			r := startRun(t, workload, "-m", m.Name, "--data", data, "--no-overhead", "--quiet", "--verify").end(exitOK)
			for _, x := range removals[m.Name] {
				damaged := filepath.Join(t.TempDir(), "data")
				if err := os.CopyFS(damaged, os.DirFS(data)); err != nil {
					t.Fatal(err)
				}
				n := 1
				if x.more {
					n += int(r.Audits[0].Unreferenced)
				}
				x.from(t, m, filepath.Join(damaged, m.Name+"-embedded", "store"), n)
				a := auditOnly(t, damaged, m.Name, exitData)
				t.Logf("%s %s removed: %d lost, %d corrupt, %d broken references, %d broken",
					x.table, x.ends, a.Lost, a.Corrupt, a.Dangling, a.BrokenBodies)
			}
		})
	}
}

// from removes n rows from a store.
func (x removal) from(t *testing.T, m models.Model, dir string, n int) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("remove %d rows of %s: %v", n, x.table, err)
		}
	}
	st, err := pebble.Engine().Open(t.Context(), drivers.Options{Dir: dir})
	must(err)
	defer func() { must(st.Close()) }()
	schema, err := m.Schema()
	must(err)
	must(st.Apply(t.Context(), schema))
	s, err := st.Session()
	must(err)
	defer s.Close()
	table := schema.Table(x.table)
	scan := schemas.ScanOf(table)
	read, err := st.Prepare(t.Context(), scan)
	must(err)
	remove, err := st.Prepare(t.Context(), &schemas.Pattern{
		Name: "remove", Kind: schemas.Delete, Scope: schemas.ScopeRow, Table: table, By: table.Key(),
	})
	must(err)
	seen := map[string]bool{}
	var keys [][]drivers.Value
	must(s.Read(t.Context(), read, nil, func(row []drivers.Value) error {
		var key []drivers.Value
		matches, message := x.column == "", ""
		for i, c := range scan.Columns {
			if c.Name == x.column {
				matches = strings.HasSuffix(row[i].Str(), x.ends)
			}
			if c.Name == x.message {
				message = fmt.Sprintf("%x %x", row[i].Raw(), row[i].UUIDBytes())
			}
			if i < len(table.Key()) {
				key = append(key, row[i].Clone())
			}
		}
		if matches && !seen[message] && len(keys) < n {
			seen[message] = true
			keys = append(keys, key)
		}
		return nil
	}))
	if len(keys) < n {
		t.Fatalf("%s has %d rows to remove, want %d", x.table, len(keys), n)
	}
	for _, key := range keys {
		_, err := s.Write(t.Context(), remove, key)
		must(err)
	}
}
