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
	for _, engine := range []string{"cassandra", "hbase"} {
		t.Run(engine, func(t *testing.T) {
			contact := live.Contact(t, engine)
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
			tiny = append(tiny, "--no-fail") // a busy machine may be overloaded
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
			if out := mailbench(exitOK, "schema", "diff", "conversation", "-e", engine, "--data", data); !strings.Contains(out, "no difference") {
				t.Errorf("the tables that the run made: %s", out)
			}
			kept[6] = filepath.Join(t.TempDir(), "again")
			if out := mailbench(exitOK, append(kept, "--audit")...); !strings.Contains(out, "nothing lost") || strings.Contains(out, "LOAD") {
				t.Errorf("used again:\n%s", out)
			}
			refusedBeside(t, data, append(kept, "--contact", contact))
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

// refusedBeside checks that a run on a data set which another process uses is
// refused, and that the other one goes on and loses nothing by it.
func refusedBeside(t *testing.T, data string, args []string) {
	t.Helper()
	long := slices.Clone(args[1:]) // without run
	i := slices.Index(long, "-o")
	long = append(slices.Delete(long, i, i+2), "--set", "phases.measure.duration=10m", "--quiet=false")
	first := runBeside(t, long...)
	first.await("its measured phase", func() bool { return first.done("warmup") })

	args = append(slices.Clone(args), "-o", filepath.Join(t.TempDir(), "second"))
	var out, errs bytes.Buffer
	got := execute(bundled(), args, &out, &errs)
	if got != exitFailed || !strings.Contains(errs.String(), "data folder "+data) || !strings.Contains(errs.String(), "wait for the other run") {
		t.Errorf("a second process on %s: status %d, %s", data, got, errs.String())
	}
	if err := first.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	first.end(exitInterrupted)
	args = append(args[:len(args)-1], filepath.Join(t.TempDir(), "after"), "--audit=only")
	out.Reset()
	if got := execute(bundled(), args, &out, &errs); got != exitOK || !strings.Contains(out.String(), "nothing lost") {
		t.Errorf("audit after both: status %d\n%s%s", got, out.String(), errs.String())
	}
}
