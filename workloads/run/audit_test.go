package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/elasticinbox"
	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/results"
)

const changes = `
  - measure:
      clients: 4
      operations: 1000
      mix: {deliver: 30, list: 10, open: 10, flag: 10, move: 20, delete: 20}
`

// dataConfig keeps what a run leaves in a folder.
func dataConfig(t *testing.T, d *fake, phases string) Config {
	c := config(t, d, phases)
	c.DataDir = filepath.Join(t.TempDir(), "data")
	return c
}

func auditOf(t *testing.T, r *results.Run) results.Audit {
	t.Helper()
	for _, c := range r.Cells {
		if c.Verdict == results.Failed {
			t.Fatalf("%s: %s", c.Phase, why(c))
		}
	}
	if len(r.Audits) != 1 {
		t.Fatalf("%d audits, want one", len(r.Audits))
	}
	return r.Audits[0]
}

func TestAuditOfAWholeStore(t *testing.T) {
	for _, noRaw := range []bool{false, true} {
		t.Run(fmt.Sprintf("noRaw=%v", noRaw), func(t *testing.T) {
			d := newFake()
			d.noRaw = noRaw
			c := config(t, d, changes)
			c.Audit = AuditAfter
			a := auditOf(t, runOK(t, c))
			if a.Delivered < 400 || a.Deleted < 150 || a.Verified != a.Delivered-a.Deleted || a.Messages != a.Verified {
				t.Errorf("audit = %+v", a)
			}
			if a.Lost+a.Corrupt+a.Resurrected+a.Unknown > 0 || len(a.Notes) > 0 {
				t.Errorf("false alarm: %+v", a)
			}
		})
	}
}

// The messages of a large folder are checked by several workers, each once. Any damage is found.
func TestAuditOfALargeFolder(t *testing.T) {
	d := newFake()
	c := dataConfig(t, d, "  - measure: {clients: 1, operations: 1, mix: {list: 1}}\n")
	var err error
	if c.Workload, err = workloads.Parse("large.yaml", c.Workload.Source, "population={users: 1, messages: 1500}"); err != nil {
		t.Fatal(err)
	}
	c.Audit = AuditAfter
	if a := auditOf(t, runOK(t, c)); a.Verified != 1500 || a.Lost+a.Corrupt > 0 || len(a.Notes) > 0 {
		t.Errorf("%+v", a)
	}
	for _, f := range d.folders {
		if len(f) == 1500 {
			for _, i := range []int{0, 700, 1499} {
				f[i].raw[5] ^= 1
			}
		}
	}
	c.Audit = AuditOnly
	if a := auditOf(t, runOK(t, c)); a.Verified != 1497 || a.Corrupt != 3 || a.Lost > 0 || len(a.Notes) != 3 {
		t.Errorf("%+v", a)
	}
}

// An audit finds errors of a store that the runner did not see.
func TestAuditFinds(t *testing.T) {
	cases := []struct {
		name  string
		noRaw bool
		harm  func(d *fake, f *models.Folder)
		want  results.Audit // of Lost, Corrupt, Resurrected
		note  string
	}{
		{"a lost message", false, func(d *fake, f *models.Folder) {
			d.folders[f] = d.folders[f][1:]
		}, results.Audit{Lost: 1}, "cannot be found"},
		{"a lost account", false, func(d *fake, f *models.Folder) {
			for _, f := range f.Account.Folders {
				d.folders[f] = d.folders[f][:1]
			}
			delete(d.accounts, f.Account.Address)
		}, results.Audit{Lost: 30}, "cannot be found"},
		{"a changed byte", false, func(d *fake, f *models.Folder) {
			d.folders[f][0].raw[5] ^= 1
		}, results.Audit{Corrupt: 1}, "differs from the delivered message"},
		{"a changed body", true, func(d *fake, f *models.Folder) {
			d.folders[f][0].body[5] ^= 1
		}, results.Audit{Corrupt: 1}, "differs from the delivered message"},
		{"a changed attachment", true, func(d *fake, f *models.Folder) {
			for _, l := range d.folders[f] {
				for _, a := range l.attachments {
					a[0] ^= 1
					return
				}
			}
		}, results.Audit{Corrupt: 1}, "differs from the delivered message"},
		{"a lost attachment", true, func(d *fake, f *models.Folder) {
			for _, l := range d.folders[f] {
				for name := range l.attachments {
					delete(l.attachments, name)
					return
				}
			}
		}, results.Audit{Corrupt: 1}, "differs from the delivered message"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newFake()
			d.noRaw = c.noRaw
			cfg := dataConfig(t, d, "  - measure: {clients: 1, operations: 1, mix: {list: 1}}\n")
			runOK(t, cfg)
			c.harm(d, d.accounts[plan.Address(1)].Folders[0])
			cfg.Audit = AuditOnly
			a := auditOf(t, runOK(t, cfg))
			if a.Lost != c.want.Lost || a.Corrupt != c.want.Corrupt || a.Resurrected != c.want.Resurrected {
				t.Errorf("lost %d, corrupt %d, resurrected %d; want %d, %d, %d", a.Lost, a.Corrupt, a.Resurrected, c.want.Lost, c.want.Corrupt, c.want.Resurrected)
			}
			if a.Verified != 150-c.want.Lost-c.want.Corrupt {
				t.Errorf("verified %d", a.Verified)
			}
			if !slices.ContainsFunc(a.Notes, func(n string) bool { return strings.Contains(n, c.note) }) {
				t.Errorf("notes %q, want one with %q", a.Notes, c.note)
			}
		})
	}
}

// TestReadsThatFail: a read that failed says nothing of the message, deleted or not. Many end the audit.
func TestReadsThatFail(t *testing.T) {
	for most, want := range map[int64]string{3: "3 could not be read", 1 << 30: "INTERRUPTED after 0 of "} {
		d := newFake()
		c := dataConfig(t, d, changes)
		runOK(t, c)
		var n atomic.Int64
		d.before = func(call string) error {
			if call == "raw" && n.Add(1) <= most {
				return &os.PathError{Op: "read", Path: "000012.sst", Err: syscall.EIO}
			}
			return nil
		}
		c.Audit = AuditOnly
		r := runOK(t, c)
		if len(r.Audits) != 1 {
			t.Fatalf("%d audits", len(r.Audits))
		}
		a := &r.Audits[0]
		text := reports.AuditSummary(a)
		if a.Wrong() || !a.Incomplete() || a.Unread == 0 || !strings.Contains(text, want) || strings.Contains(text, "nothing lost") {
			t.Errorf("%s; %+v; want %q, and nothing wrong", text, a, want)
		}
		if len(a.Notes) == 0 || !strings.Contains(a.Notes[0], "cannot be read: ") || !strings.Contains(a.Notes[0], "input/output error") {
			t.Errorf("notes %q", a.Notes)
		}
	}
}

// A counter of UIDs that jumps ahead for a while, and then goes on where it was,
// gives none twice.
func TestUIDsThatGoBack(t *testing.T) {
	d := newFake()
	c := config(t, d, changes)
	c.Audit = AuditAfter
	const jump = 1 << 20
	jumped := false
	d.before = func(string) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		switch {
		case d.last > 400 && !jumped:
			d.last, jumped = d.last+jump, true
		case d.last > jump+500:
			d.last -= jump
		}
		return nil
	}
	a := auditOf(t, runOK(t, c))
	if a.BadUIDs == 0 || !a.Wrong() || !strings.Contains(a.Notes[0], "is below that of a message") {
		t.Errorf("the counter went back from above %d; audit %+v", jump, a)
	}
}

func TestAuditFindsTheResurrected(t *testing.T) {
	d := newFake()
	c := dataConfig(t, d, changes)
	d.before = func(call string) error {
		if call == "delete" {
			d.mu.Lock() // of all folders, a copy from before the first deletion
			defer d.mu.Unlock()
			d.before = nil
			d.backup = map[*models.Folder][]*fakeMessage{}
			for f, ls := range d.folders {
				d.backup[f] = slices.Clone(ls)
			}
		}
		return nil
	}
	c.Workload.Phases[1].Clients = 1
	runOK(t, c)
	d.folders = d.backup
	c.Audit = AuditOnly
	if a := auditOf(t, runOK(t, c)); a.Resurrected == 0 || a.Lost == 0 {
		t.Errorf("of a store that went back in time: %+v", a)
	}
}

// A deletion or delivery of unknown outcome is right either way.
func TestUnknownOutcomes(t *testing.T) {
	for _, applied := range []bool{true, false} {
		t.Run(fmt.Sprintf("applied=%v", applied), func(t *testing.T) {
			d := newFake()
			d.unknown = func(call string) (lost, done bool) {
				d.mu.Lock()
				defer d.mu.Unlock()
				return call == "delete" || call == "deliver" && d.last > 200, applied
			}
			c := dataConfig(t, d, "  - measure: {clients: 1, operations: 300, mix: {deliver: 70, delete: 20, open: 10}}\n")
			r := runOK(t, c)
			m := phaseOf(t, r, "measure")
			if m.Ops["delete"].Unknown == 0 || m.Ops["delete"].Count > 0 || m.Ops["open"].NotFound > 0 {
				t.Errorf("delete %+v, open %+v", m.Ops["delete"], m.Ops["open"])
			}
			c.Audit = AuditOnly
			a := auditOf(t, runOK(t, c))
			if a.Lost+a.Corrupt+a.Resurrected > 0 || a.Unknown != m.Ops["delete"].Unknown+m.Ops["deliver"].Unknown {
				t.Errorf("audit = %+v, want %d unknown", a, m.Ops["delete"].Unknown+m.Ops["deliver"].Unknown)
			}
		})
	}
}

// A data set is used again by a run that wants the same, with all its live
// messages, and by no other.
func TestDataIsUsedAgain(t *testing.T) {
	d := newFake()
	c := dataConfig(t, d, changes)
	runOK(t, c)
	delivered := d.last
	c.Workload = parse(t, "  - measure: {clients: 1, operations: 200, mix: {open: 70, attachment: 10, delete: 20}}\n")
	r := runOK(t, c)
	for name, o := range phaseOf(t, r, "measure").Ops {
		if o.Count == 0 || o.NotFound+o.Failed+o.Dropped > 0 {
			t.Errorf("%s on a data set used again: %+v", name, o)
		}
	}
	if d.last != delivered {
		t.Error("the second run loaded its own data set")
	}
	c.Audit = AuditOnly
	if a := auditOf(t, runOK(t, c)); a.Lost+a.Corrupt+a.Resurrected > 0 || a.Verified == 0 {
		t.Errorf("audit after two runs: %+v", a)
	}
	c.Audit = NoAudit
	c.Workload.Seed++
	if r := runOK(t, c); r.Cells[0].Verdict != results.Failed || !strings.Contains(why(r.Cells[0]), "seed (it was 1, now 2)") {
		t.Errorf("with another seed: %+v", r.Cells)
	}
}

// A ledger that names accounts or folders which the population does not have is refused.
func TestLedgerOfAnotherDataSet(t *testing.T) {
	for _, place := range []ledger.Place{{Account: 1 << 31}, {Account: 5}, {Folder: 3}} {
		d := newFake()
		c := dataConfig(t, d, changes)
		runOK(t, c)
		l, err := ledger.Open(filepath.Join(c.DataDir, "fake-memory", "ledger"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.Write((&ledger.Record{Event: ledger.Delivered, Place: place}).Append(nil)), l.Close()); err != nil {
			t.Fatal(err)
		}
		c.Audit = NoAudit
		cell := runOK(t, c).Cells[0]
		if cell.Verdict != results.Failed || cell.Stack != "" || !strings.Contains(cell.Error, "is not of this data set: it names folder") {
			t.Errorf("%+v: %s %q %s", place, cell.Verdict, cell.Error, cell.Stack)
		}
	}
}

func TestMain(m *testing.M) {
	if dir := os.Getenv("MAILBENCH_TEST_KILLED"); dir != "" {
		_, err := Run(context.Background(), killedConfig(nil, dir))
		fmt.Fprintln(os.Stderr, "was to be killed, but ended:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// killedConfig is a run on the embedded engine that goes on until it is killed.
func killedConfig(t testing.TB, dir string) Config {
	w, err := workloads.Parse("killed.yaml", []byte(`
version: 1
name: killed
mail: {body: 2KB}
population: {users: 5, folders: 3, messages: 10}
phases:
  - load: {}
  - measure: {clients: 4, duration: 1h, mix: {deliver: 40, open: 10, flag: 10, move: 20, delete: 15, restore: 5}}
`))
	if err != nil {
		panic(err)
	}
	return Config{
		Workload: w, DataDir: dir, EngineOptions: drivers.Options{Durability: drivers.Process},
		Models: []models.Model{elasticinbox.Model()}, Engines: []drivers.Engine{embedded()},
	}
}

// A run is killed (kill -9). Another process proves that no acknowledged
// message is lost.
func TestAuditAfterKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "MAILBENCH_TEST_KILLED="+dir)
	var stderr strings.Builder
	child.Stderr = &stderr
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	records := filepath.Join(dir, "elasticinbox-embedded", "ledger")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if info, err := os.Stat(records); err == nil && info.Size() > 3000*64 {
			break
		}
		select {
		case <-ended:
			t.Fatalf("the child ended: %s", stderr.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Error("the child did not come so far within a minute")
			break
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended

	c := killedConfig(t, dir)
	c.Audit = AuditOnly
	a := auditOf(t, runOK(t, c))
	if a.Delivered < 500 || a.Verified < 100 || a.Lost+a.Corrupt+a.Resurrected > 0 {
		t.Errorf("audit = %+v", a)
	}
	// Operations under way may have been half done: counters too low, bodies that
	// nothing refers to yet. But nothing may be broken.
	if a.Dangling+a.Duplicated+a.BrokenBodies > 0 {
		t.Errorf("the model's own audit: %+v", a)
	}
}

// TestAuditsOfTrials: each audit says of which trial it is, also that of an audit by itself.
func TestAuditsOfTrials(t *testing.T) {
	s := newServer(t)
	c := remoteConfig(t, s, briefly)
	c.Trials, c.DataDir = 2, filepath.Join(t.TempDir(), "data")
	for _, c.Audit = range []AuditMode{AuditAfter, AuditOnly} {
		r := runOK(t, c)
		allOK(t, r)
		for i, a := range r.Audits {
			if len(r.Audits) != 2 || a.Trial != i+1 || a.Segment != 1 {
				t.Errorf("%v: audit %d of %d is of trial %d, segment %d", c.Audit, i+1, len(r.Audits), a.Trial, a.Segment)
			}
		}
		for name, write := range map[string]func(io.Writer, *results.Run) error{
			" #2: ": func(w io.Writer, r *results.Run) error {
				return document.Terminal{Width: 200, Full: true}.Write(w, reports.Of(r, ""))
			}, `name="audit #2"`: reports.WriteJUnit,
		} {
			var b strings.Builder
			if err := write(&b, r); err != nil || !strings.Contains(b.String(), name) {
				t.Errorf("%v: no %q: %v\n%s", c.Audit, name, err, &b)
			}
		}
	}
}
