package cmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers/launch/live"
)

// A data set on a real engine is kept, used again, audited, and cleaned away; a
// run without a data folder leaves nothing.
func TestClusterLive(t *testing.T) {
	for engine, contact := range map[string]func(testing.TB) string{"cassandra": live.Cassandra, "hbase": live.HBase} {
		t.Run(engine, func(t *testing.T) {
			contact := contact(t)
			data := filepath.Join(t.TempDir(), "data")
			mailbench := func(want int, args ...string) string {
				t.Helper()
				var out, errs bytes.Buffer
				if got := execute(bundled(), append(args, "--contact", contact), &out, &errs); got != want {
					t.Fatalf("mailbench %s: status %d, want %d\n%s%s", strings.Join(args, " "), got, want, out.String(), errs.String())
				}
				return out.String() + errs.String()
			}
			namespaces := func() []string { return strings.Fields(mailbench(exitOK, "engine", "clean", engine)) }
			tiny := append([]string{"run", "-m", "conversation", "-e", engine, "-o", filepath.Join(t.TempDir(), "results")}, small...)
			kept := append(slices.Clone(tiny), "--data", data)

			out := mailbench(exitOK, tiny...)
			// How often HBase's data is kept is between it and its file system.
			copies := map[string]string{"cassandra": "replication ", "hbase": "wal "}[engine]
			for _, said := range []string{"engine    " + engine + ": ", copies, "shared machine"} {
				if !strings.Contains(out, said) {
					t.Errorf("the result does not say %q:\n%s", said, out)
				}
			}
			kept[6] = filepath.Join(t.TempDir(), "kept")
			mailbench(exitOK, kept...)
			var noted struct{ Namespace string }
			b, err := os.ReadFile(filepath.Join(data, "conversation-"+engine, "dataset.json"))
			if err == nil {
				err = json.Unmarshal(b, &noted)
			}
			if err != nil || !slices.Contains(namespaces(), noted.Namespace) {
				t.Fatalf("namespace %q of %v, err = %v", noted.Namespace, namespaces(), err)
			}
			kept[6] = filepath.Join(t.TempDir(), "again")
			if out := mailbench(exitOK, append(kept, "--audit")...); !strings.Contains(out, "nothing lost") || strings.Contains(out, "LOAD") {
				t.Errorf("used again:\n%s", out)
			}
			if out := mailbench(exitOK, "engine", "clean", engine, noted.Namespace); !strings.Contains(out, "dropped "+noted.Namespace) {
				t.Errorf("cleaned: %s", out)
			}
			mailbench(exitUsage, "engine", "clean", engine, noted.Namespace)
			kept[6] = filepath.Join(t.TempDir(), "gone")
			if out := mailbench(exitFailed, append(kept, "--audit=only")...); !strings.Contains(out, "is in namespace "+noted.Namespace+", which this") {
				t.Errorf("audit of what was cleaned away: %s", out)
			}
		})
	}
}
