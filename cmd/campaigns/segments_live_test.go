//go:build campaigns && unix

package campaigns

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/workloads/results"
)

// Four segments of one run, each a process of its own, load one Cassandra together. Merged,
// they executed the whole run, and nothing is left on the engine.
func TestSegmentsLive(t *testing.T) {
	contact := live.Contact(t, "cassandra")
	const of = 4
	workload := filepath.Join(t.TempDir(), "divided.yaml")
	if err := os.WriteFile(workload, []byte(`
version: 1
name: divided
mail: {body: 1KB}
population: {users: 8, folders: 2, messages: 2}
phases:
  - load: {}
  - measure: {operations: 60, rate: 60/s, mix: {list: 3, open: 2, deliver: 1}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	start := time.Now().UTC().Format(time.RFC3339Nano)
	args := func(index int) []string {
		return []string{
			workload, "-m", "conversation", "-e", "cassandra", "--contact", contact, "--no-overhead",
			"--segment", strconv.Itoa(index) + "/" + strconv.Itoa(of), "--start", start,
		}
	}
	segments := make([]*child, of)
	for i := range segments {
		segments[i] = startRun(t, args(i+1)...)
	}
	endAll(t, segments)
	merge := []string{"merge", "--fail-on=failed", "-o", filepath.Join(t.TempDir(), "whole")}
	for _, p := range segments {
		merge = append(merge, p.path("out"))
	}
	mailbenchIn(t, exitOK, merge...)
	whole := filepath.Join(filepath.Dir(merge[3]), "whole")
	if err := fitsSchema(filepath.Join(whole, results.RunFile)); err != nil {
		t.Error(err)
	}
	r, err := results.Open(whole)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Cells) != 2 {
		t.Fatalf("%d cells; expected a load and a measured phase", len(r.Cells))
	}
	load, measure := r.Cells[0], r.Cells[1]
	if n := load.Ops["deliver"].Count + load.Evidence.Missed; n != 8*2*2 {
		t.Errorf("the segments loaded %d messages; expected 32", n)
	}
	ended := int64(0)
	for _, o := range measure.Ops {
		ended += o.Count + o.NotFound + o.Failed + o.Unknown + o.Dropped + o.NoTarget
	}
	if ended != 60 {
		t.Errorf("the segments carried out %d operations; expected 60", ended)
	}
	if len(r.Left) > 0 {
		t.Errorf("left on the engine: %q", r.Left)
	}
}

// A segment that is killed says nothing. The other waits for it, but not forever: what it
// measured is there, with who did not come, and nothing stays on the engine.
func TestSegmentKilledLive(t *testing.T) {
	contact := live.Contact(t, "cassandra")
	t.Parallel()
	for _, after := range []string{"load", "first"} { // in the last phase, too
		t.Run("after "+after, func(t *testing.T) {
			t.Parallel()
			segmentKilled(t, contact, after)
		})
	}
}

// segmentKilled kills the second of two segments when it has done a phase.
func segmentKilled(t *testing.T, contact, after string) {
	workload := filepath.Join(t.TempDir(), "killed.yaml")
	if err := os.WriteFile(workload, []byte(`
version: 1
name: killed
mail: {body: 1KB}
population: {users: 4, folders: 1, messages: 2}
phases:
  - load: {}
  - measure: {name: first, duration: 2s, rate: 20/s, mix: {list: 1}}
  - measure: {name: second, duration: 2s, rate: 20/s, mix: {list: 1}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	start := time.Now().UTC().Format(time.RFC3339Nano)
	args := func(segment string) []string {
		return []string{
			workload, "-m", "conversation", "-e", "cassandra", "--contact", contact, "--no-overhead",
			"--segment", segment, "--start", start, "--segment-timeout", "30s",
		}
	}
	first, second := startRun(t, args("1/2")...), startRun(t, args("2/2")...)
	second.await("its "+after, func() bool { return second.done(after) })
	if err := second.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r := first.end(exitFailed)
	failed := r.Cells[len(r.Cells)-1]
	if !strings.Contains(failed.Error, "segment 2 has not come within 30s") || r.Cells[0].Phase != "load" || r.Cells[0].Error != "" {
		t.Fatalf("the load ended with %q, and %s with %q", r.Cells[0].Error, failed.Phase, failed.Error)
	}
	if len(r.Left) > 0 {
		t.Errorf("left on the engine: %q", r.Left)
	}
}
