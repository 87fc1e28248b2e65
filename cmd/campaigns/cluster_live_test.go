//go:build campaigns && unix

package campaigns

import (
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/workloads/results"
)

// small are flags of run for a small load.
var small = []string{
	"--set", "population={users: 2, folders: 2, messages: 2}",
	"--set", "phases.warmup.duration=50ms", "--set", "phases.measure.duration=50ms", "--no-overhead", "--quiet",
	"--fail-on=failed", // other tests run concurrently
}

// A data set on a real engine is kept, used again, audited, and cleaned away; a
// run without a data folder leaves nothing.
func TestClusterLive(t *testing.T) {
	for _, engine := range []string{"cassandra", "hbase", "oraclenosql"} {
		t.Run(engine, func(t *testing.T) {
			contact := live.Contact(t, engine)
			data := filepath.Join(t.TempDir(), "data")
			mailbench := func(want int, args ...string) string {
				t.Helper()
				return mailbenchIn(t, want, append(args, "--contact", contact)...)
			}
			namespaces := func() []string { return strings.Fields(mailbench(exitOK, "engine", "clean", engine)) }
			tiny := append([]string{"run", "-m", "conversation", "-e", engine, "-o", filepath.Join(t.TempDir(), "results")}, small...)
			tiny = append(tiny, "--fail-on=failed") // a busy machine may be overloaded
			kept := append(slices.Clone(tiny), "--data", data)

			if engine == "cassandra" { // it makes tables faster, and nothing here depends on the engine
				hungUp(t, append(slices.Clone(tiny), "--contact", contact), namespaces)
			}
			out := mailbench(exitOK, append(slices.Clone(tiny), "--full")...)
			// How often HBase's data is kept is between it and its file system.
			copies := map[string]string{"cassandra": "replication ", "hbase": "wal ", "oraclenosql": "replication unknown"}[engine]
			flat := strings.Join(strings.Fields(out), " ")
			for _, said := range []string{"engine: " + engine + " ", copies, "shared machine"} {
				if !strings.Contains(flat, said) {
					t.Errorf("the result does not say %q:\n%s", said, out)
				}
			}
			kept[6] = filepath.Join(t.TempDir(), "kept")
			mailbench(exitOK, kept...)
			noted := notedNamespace(t, filepath.Join(data, "conversation-"+engine, "dataset.json"))
			if !slices.Contains(namespaces(), noted) {
				t.Fatalf("namespace %q of %v", noted, namespaces())
			}
			if out := mailbench(exitOK, "schema", "diff", "conversation", "-e", engine, "--data", data); !strings.Contains(out, "no difference") {
				t.Errorf("the tables that the run made: %s", out)
			}
			kept[6] = filepath.Join(t.TempDir(), "again")
			if out := mailbench(exitOK, append(kept, "--verify", "--full")...); !strings.Contains(out, "nothing lost") || strings.Contains(out, "LOAD: ") {
				t.Errorf("used again:\n%s", out)
			}
			refusedWhileUsed(t, data, append(kept, "--contact", contact))
			if out := mailbench(exitOK, "engine", "clean", engine, noted); !strings.Contains(out, "dropped "+noted) {
				t.Errorf("cleaned: %s", out)
			}
			mailbench(exitUsage, "engine", "clean", engine, noted)
			kept[6] = filepath.Join(t.TempDir(), "gone")
			if out := mailbench(exitFailed, append(kept, "--verify=only")...); !strings.Contains(out, "is in namespace "+noted+", which this") {
				t.Errorf("audit of what was cleaned away: %s", out)
			}
		})
	}
}

// hungUp checks that a run whose terminal is closed saves what it measured, drops its namespace
// and removes its temporary data.
func hungUp(t *testing.T, args []string, namespaces func() []string) {
	t.Helper()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	heard := make(chan os.Signal, 1) // tests that run under nohup would pass on that they ignore it
	signal.Notify(heard, syscall.SIGHUP)
	defer signal.Stop(heard)
	run := startRun(t, endless(args)...)
	run.await("its measured phase", func() bool { return run.done("warmup") })
	notes, err := filepath.Glob(filepath.Join(temp, "mailbench-*", "*", "dataset.json"))
	if err != nil || len(notes) != 1 {
		t.Fatalf("data sets %q, %v", notes, err)
	}
	name := notedNamespace(t, notes[0])
	if !slices.Contains(namespaces(), name) {
		t.Fatalf("namespace %s is not there while its run goes on: %q", name, namespaces())
	}
	if err := run.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	run.end(exitInterrupted)
	if slices.Contains(namespaces(), name) {
		t.Errorf("namespace %s is left", name)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left in TMPDIR: %v, %v", left, err)
	}
	if r, err := results.Open(run.path("out")); err != nil || !r.Interrupted || len(r.Cells) == 0 {
		t.Errorf("the results: %+v, %v", r, err)
	}
}

// endless are the arguments of a run, without the first and its output folder, that goes on
// until it is ended.
func endless(args []string) []string {
	return append(withoutOutput(args), "--set", "phases.measure.duration=10m", "--quiet=false")
}

// withoutOutput are the arguments of a run that startRun takes: without the first, run, and
// its output folder.
func withoutOutput(args []string) []string {
	args = slices.Clone(args[1:])
	i := slices.Index(args, "-o")
	return slices.Delete(args, i, i+2)
}

func notedNamespace(t *testing.T, file string) string {
	t.Helper()
	var noted struct{ Namespace string }
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &noted)
	}
	if err != nil || noted.Namespace == "" {
		t.Fatalf("no namespace is noted in %s: %v", file, err)
	}
	return noted.Namespace
}

// refusedWhileUsed checks that a run on a data set which another process uses is
// refused, and that the other one goes on and loses nothing by it.
func refusedWhileUsed(t *testing.T, data string, args []string) {
	t.Helper()
	first := startRun(t, endless(args)...)
	first.await("its measured phase", func() bool { return first.done("warmup") })

	second := startRun(t, withoutOutput(args)...)
	if got := second.finish(); got != exitFailed {
		t.Errorf("a second process on %s: status %d", data, got)
	}
	if says := second.printed("stderr"); !strings.Contains(says, "data folder "+data) || !strings.Contains(says, "wait for the other run") {
		t.Errorf("a second process on %s: %s", data, says)
	}
	if err := first.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	first.end(exitInterrupted)
	after := startRun(t, append(withoutOutput(args), "--verify=only")...)
	if got := after.finish(); got != exitOK || !strings.Contains(after.printed("stdout"), "nothing lost") {
		t.Errorf("audit after both: status %d\n%s%s", got, after.printed("stdout"), after.printed("stderr"))
	}
}
