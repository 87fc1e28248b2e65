package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/conversation"
	"github.com/mailbench/mailbench/models/james"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/subject"
)

const briefly = "  - measure: {clients: 2, operations: 60, mix: {list: 2, open: 2, deliver: 2, delete: 1}}\n"

// remoteConfig is a run of one model on a server.
func remoteConfig(t *testing.T, s *server, phases string) Config {
	c := config(t, newFake(), phases)
	c.Models, c.Engines = []models.Model{james.Model()}, []drivers.Engine{s.engine()}
	return c
}

// allOK fails the test for every cell that failed.
func allOK(t *testing.T, r *results.Run) {
	t.Helper()
	for _, c := range r.Cells {
		if c.Verdict == results.Failed {
			t.Errorf("%s on %s, %s: %s", c.Model, c.Engine, c.Phase, why(c))
		}
	}
}

// Each cell has a namespace of its own, and nothing of it is left.
func TestNamespaces(t *testing.T) {
	s := newServer(t)
	c := remoteConfig(t, s, briefly)
	c.Models, c.Trials, c.Audit = append(c.Models, conversation.Model()), 2, AuditAfter
	r := runOK(t, c)
	allOK(t, r)
	if len(r.Audits) != 4 || r.Audits[0].Verified == 0 {
		t.Errorf("audits %+v", r.Audits)
	}
	seen := map[string]bool{}
	for _, o := range s.opened[1:] { // the first looks whether there is a server
		if !regexp.MustCompile(`^[a-z0-9]{8,16}$`).MatchString(o.Namespace) || seen[o.Namespace] {
			t.Errorf("namespace %q after %v", o.Namespace, seen)
		}
		seen[o.Namespace] = true
	}
	if s.opened[0].Namespace != "" || len(seen) != 4 {
		t.Errorf("opened %+v", s.opened)
	}
	if left := s.namespaces(); len(left) > 0 || len(r.Left) > 0 {
		t.Errorf("left on the server: %v, %q", left, r.Left)
	}
}

// The workload's config of an engine reaches the engine and the result.
func TestEngineSection(t *testing.T) {
	s := newServer(t)
	c := remoteConfig(t, s, briefly+"engines: {server: {contact: [a, 'b:1'], level: ONE}, other: {level: TWO}}\n")
	r := runOK(t, c)
	for _, o := range s.opened {
		if strings.Join(o.Contact, " ") != "a b:1" || len(o.Settings) != 1 || o.Settings["level"] != "ONE" {
			t.Errorf("opened with %+v", o)
		}
	}
	if r.Settings["server.contact"] != "a,b:1" || r.Settings["server.level"] != "ONE" || r.Settings["other.level"] != "" {
		t.Errorf("settings of the result: %v", r.Settings)
	}
}

// A data set on a server is found again through the folder of its run.
func TestKeptOnTheServer(t *testing.T) {
	s := newServer(t)
	c := remoteConfig(t, s, briefly)
	c.DataDir = filepath.Join(t.TempDir(), "data")
	allOK(t, runOK(t, c))
	kept := s.namespaces()
	if len(kept) != 1 {
		t.Fatalf("on the server: %v", kept)
	}
	c.Audit = AuditAfter
	if a := auditOf(t, runOK(t, c)); a.Delivered < 160 || a.Lost > 0 {
		t.Errorf("after using it again: %+v", a)
	}
	c.Audit = AuditOnly
	if a := auditOf(t, runOK(t, c)); a.Verified < 100 || a.Lost > 0 {
		t.Errorf("audit of what was left: %+v", a)
	}
	if now := s.namespaces(); len(now) != 1 || now[0] != kept[0] {
		t.Errorf("on the server: %v, want still %v", now, kept)
	}

	t.Run("another seed", func(t *testing.T) {
		c := c
		c.Audit, c.Workload = NoAudit, parse(t, briefly+"seed: 7\n")
		cell := runOK(t, c).Cells[0]
		if want := `remove that folder (after "mailbench engine clean server ` + kept[0] + `")`; !strings.Contains(why(cell), want) {
			t.Errorf("reason %q, want it to say how: %q", why(cell), want)
		}
	})
	t.Run("another cluster", func(t *testing.T) {
		c, elsewhere := c, newServer(t)
		c.Engines = []drivers.Engine{elsewhere.engine()}
		cell := runOK(t, c).Cells[0]
		if cell.Verdict != results.Failed || !strings.Contains(why(cell), "is in namespace "+kept[0]+", which this server does not have") {
			t.Errorf("%s: %q", cell.Verdict, why(cell))
		}
	})
	if now := s.namespaces(); len(now) != 1 || now[0] != kept[0] {
		t.Errorf("on the server: %v, want still %v", now, kept)
	}
}

// Half done operations of a killed run on a server are not wrong, also when a later run has used
// the data set again and ended well. Where no run was killed, it is.
func TestLeftoversOfAKilledRun(t *testing.T) {
	for _, killed := range []bool{true, false} {
		s, d := newServer(t), newFake()
		e := s.engine()
		e.Open = func(_ context.Context, o drivers.Options) (drivers.Store, error) {
			return &served{server: s, Store: fakeStore{}, namespace: o.Namespace}, nil
		}
		c := config(t, d, briefly)
		c.Engines, c.DataDir, c.Audit = []drivers.Engine{e}, filepath.Join(t.TempDir(), "data"), AuditAfter
		note := filepath.Join(c.DataDir, "fake-server", "dataset.json")
		var during []byte // what the note says while operations are under way
		c.Progress = func(p Progress) {
			if p.Phase == "measure" && p.Finished {
				during = must(os.ReadFile(note))
			}
		}
		if a := auditOf(t, runOK(t, c)); a.Interrupted || a.Wrong() {
			t.Errorf("the first run: %+v", a)
		}
		if killed {
			if err := os.WriteFile(note, during, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		d.lost = []string{"ann@example.org", "bob@example.org"}
		for run := 2; run <= 3; run++ {
			if a := auditOf(t, runOK(t, c)); a.Interrupted != killed || a.Wrong() == killed || a.Dangling != 2 {
				t.Errorf("run %d, where the first was killed (%v): %+v", run, killed, a)
			}
		}
	}
}

// The namespace is written down before anything is made in it, so that the data
// of a killed run is found; it is not kept where nothing came of it.
func TestNamespaceIsWrittenDownFirst(t *testing.T) {
	s := newServer(t)
	c := remoteConfig(t, s, briefly)
	c.DataDir = filepath.Join(t.TempDir(), "data")
	at := filepath.Join(c.DataDir, "james-server")
	var noted *subject.Dataset
	s.applying = func() error {
		noted = must(subject.ReadDataset(at))
		return errors.New("no room")
	}
	r := runOK(t, c)
	if cell := r.Cells[0]; cell.Verdict != results.Failed || !strings.Contains(why(cell), "no room") {
		t.Errorf("%s: %q", cell.Verdict, why(cell))
	}
	if noted == nil || noted.Namespace == "" || noted.Namespace != s.opened[1].Namespace || noted.Complete {
		t.Errorf("noted before the load: %+v, opened %+v", noted, s.opened)
	}
	if _, err := os.Stat(filepath.Join(at, "dataset.json")); !os.IsNotExist(err) || len(s.namespaces()) > 0 {
		t.Errorf("kept though nothing was loaded: %v, on the server %v", err, s.namespaces())
	}
}

// A store that cannot be made says what it left on the server.
func TestLeftByAnOpenThatFails(t *testing.T) {
	s := newServer(t)
	s.applying = func() error { return errors.New("no room") }
	s.stuck = errors.New("node is down")
	c := remoteConfig(t, s, briefly)
	c.Workload.Engines = map[string]*workloads.Engine{"server": {Contact: []string{"db1:7", "db2"}}}
	cell := runOK(t, c).Cells[0]
	clean := "mailbench engine clean server " + s.opened[1].Namespace + " --contact db1:7,db2\""
	for _, part := range []string{"no room", "could not be dropped (", "node is down", clean} {
		if !strings.Contains(why(cell), part) {
			t.Errorf("reason %q, want it to say %q", why(cell), part)
		}
	}
}

// An interrupted run leaves nothing either.
func TestInterruptedRunDrops(t *testing.T) {
	s := newServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := remoteConfig(t, s, "  - measure: {rate: 100/s, duration: 1h, mix: {list: 1}}\n")
	c.Progress = func(p Progress) {
		if p.Phase == "measure" && p.OK > 0 {
			cancel()
		}
	}
	r, err := Run(ctx, c)
	if err != nil || !r.Interrupted {
		t.Fatalf("err = %v, result %+v", err, r)
	}
	if left := s.namespaces(); len(left) > 0 || len(r.Left) > 0 {
		t.Errorf("left on the server: %v, %q", left, r.Left)
	}
}

func TestWhatCannotBeDropped(t *testing.T) {
	s := newServer(t)
	s.stuck = errors.New("node is down")
	r := runOK(t, remoteConfig(t, s, briefly))
	allOK(t, r)
	left := s.namespaces()
	if len(left) != 1 || len(r.Left) != 1 {
		t.Fatalf("left %v, told %q", left, r.Left)
	}
	for _, part := range []string{left[0], "node is down", "mailbench engine clean server " + left[0]} {
		if !strings.Contains(r.Left[0], part) {
			t.Errorf("told %q, want it to say %q", r.Left[0], part)
		}
	}
}

// An engine that does not answer is found before another is loaded.
func TestUnreachable(t *testing.T) {
	s, d := newServer(t), newFake()
	s.down = true
	c := remoteConfig(t, s, briefly+"engines: {server: {contact: '10.0.0.1:99'}}\n")
	c.Models = []models.Model{d.model("fake")}
	c.Engines = []drivers.Engine{d.engine("memory"), s.engine()}
	_, err := Run(t.Context(), c)
	if !errors.Is(err, drivers.ErrUnreachable) {
		t.Fatalf("err = %v, want %v", err, drivers.ErrUnreachable)
	}
	for _, part := range []string{"server cannot be reached at 10.0.0.1:99", "mailbench engine up server", "--contact"} {
		if first, _, _ := strings.Cut(err.Error(), "\n"); !strings.Contains(first, part) {
			t.Errorf("the first line %q does not say %q", first, part)
		}
	}
	if len(d.accounts) > 0 {
		t.Error("the engine before it was loaded all the same")
	}
}
