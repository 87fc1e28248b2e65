package run

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/oracle"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/subject"
)

// growing is a workload with that population and phases.
func growing(t testing.TB, users, folders, messages int) *workloads.Workload {
	t.Helper()
	w, err := workloads.Parse("growing.yaml", fmt.Appendf(nil, `
version: 1
name: growing
mail: {body: {uniform: {min: 50, max: 700}}, attachments: {share: 0.1, size: {constant: 200}}}
population: {users: %d, folders: %d, messages: %d}
phases:
  - load: {}
  - measure: {clients: 1, operations: 5, mix: {list: 1}}
`, users, folders, messages))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// dataSet is a data set of one model on the embedded engine, in a test.
type dataSet struct {
	*subject.Target
	t       testing.TB
	loaders int
}

// openDataSet opens the data set in a folder for a workload.
func openDataSet(t testing.TB, m models.Model, e drivers.Engine, dir string, w *workloads.Workload) (*dataSet, error) {
	t.Helper()
	census, err := plan.NewCensus(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := subject.Open(t.Context(), subject.Config{
		Workload: w, Census: census, Mail: messages.NewGenerator(w), Model: m, Engine: e,
		Dir: dir, EngineOptions: drivers.Options{Durability: drivers.Memory}, Keep: true, Ledger: true, Workers: 4,
	})
	return &dataSet{opened, t, 4}, err
}

// mustOpen opens a data set that can be opened, and loads what it lacks.
func mustOpen(t testing.TB, m models.Model, dir string, w *workloads.Workload, most int64) (*dataSet, string) {
	t.Helper()
	return mustOpenWith(t, m, dir, w, most, 4)
}

// mustOpenWith does so with so many loaders. One alone delivers in the order of the load.
func mustOpenWith(t testing.TB, m models.Model, dir string, w *workloads.Workload, most int64, loaders int) (*dataSet, string) {
	t.Helper()
	d, err := openDataSet(t, m, embedded(), dir, w)
	if err != nil {
		t.Fatal(err)
	}
	load, err := d.Populate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.loaders = loaders
	return d, d.deliver(load, most)
}

// deliver delivers a load and returns its note; with a positive most it is interrupted after so many messages.
func (d *dataSet) deliver(load *subject.Load, most int64) string {
	d.t.Helper()
	if load == nil {
		return ""
	}
	ctx, stop := context.WithCancel(d.t.Context())
	defer stop()
	s := &counted{Stream: load.Stream, stop: stop}
	s.left.Store(most)
	var m results.Cell
	err := drive.Drive(ctx, d.Target, drive.Spec{
		Cell:  &m,
		Phase: workloads.Phase{Kind: workloads.Load, Name: "load"}, Stream: s, Workers: d.loaders, Total: load.Messages,
	})
	if err != nil {
		d.t.Fatal(err)
	}
	if most > 0 {
		return load.Note
	}
	if got := m.Ops["deliver"].Count; got != load.Messages {
		d.t.Errorf("%d deliveries, and the load said %d", got, load.Messages)
	}
	if err := d.Loaded(); err != nil {
		d.t.Fatal(err)
	}
	return load.Note
}

// counted ends a load when no operation is left.
type counted struct {
	plan.Stream
	left atomic.Int64
	stop func()
}

func (c *counted) Next(now time.Duration, o *plan.Operation) (due time.Duration, ok bool) {
	due, ok = c.Stream.Next(now, o)
	if c.left.Add(-1) == 0 {
		c.stop()
	}
	return due, ok
}

func (d *dataSet) close() {
	d.t.Helper()
	if err := d.Close(context.Background()); err != nil {
		d.t.Fatal(err)
	}
}

// clean audits the data set: nothing may be wrong, and so many messages there.
func (d *dataSet) clean(want int64) {
	d.t.Helper()
	a, err := d.Audit(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	if a.Verified != want || a.Messages != want || a.Lost+a.Corrupt+a.Resurrected+a.Unknown > 0 ||
		a.Dangling+a.Duplicated+a.BrokenBodies+a.CounterDrift+a.BadUIDs+a.Unreferenced > 0 || len(a.Notes) > 0 {
		d.t.Errorf("audit: %+v, want %d messages", a, want)
	}
}

// folders has, for each folder, the number of messages that it lists and that the model counts.
func (d *dataSet) folders() []string {
	d.t.Helper()
	s, err := d.Store.Session()
	if err != nil {
		d.t.Fatal(err)
	}
	defer s.Close()
	mb := d.Bound.Mailbox(s)
	var all []string
	for u := range d.Census.Users() {
		a, err := mb.Login(d.t.Context(), plan.Address(u))
		if err != nil {
			d.t.Fatal(err)
		}
		for _, f := range a.Folders {
			listed := 0
			if err := mb.List(d.t.Context(), f, models.Handle{}, 10_000, func(*models.Entry) error { listed++; return nil }); err != nil {
				d.t.Fatal(err)
			}
			stats, err := mb.Stats(d.t.Context(), f)
			if err != nil {
				d.t.Fatal(err)
			}
			all = append(all, fmt.Sprintf("%s %s: %d listed, %d counted, %d unread, live %d", a.Address, f.Name, listed,
				stats.Messages, stats.Unread, d.Live.Accounts[u].Folders[len(all)%d.Census.FolderCount(u)].Len()))
		}
	}
	return all
}

// texts are the messages of the only folder, newest first.
func (d *dataSet) texts() []string {
	d.t.Helper()
	s, err := d.Store.Session()
	if err != nil {
		d.t.Fatal(err)
	}
	defer s.Close()
	mb, f := d.Bound.Mailbox(s), d.Live.Accounts[0].Folders[0]
	var all []string
	var o models.Opened
	for rank := range f.Len() {
		h, _ := f.Read(rank)
		f.Release(h)
		if err := mb.Open(d.t.Context(), f.Ref, h, &o); err != nil {
			d.t.Fatal(err)
		}
		all = append(all, string(o.Body))
	}
	return all
}

// A data set that grew in a later run has the content of one that was loaded in one run.
func TestGrow(t *testing.T) {
	for _, m := range bundledModels() {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			small, large := growing(t, 1, 1, 200), growing(t, 2, 2, 500)
			fresh, note := mustOpen(t, m, filepath.Join(t.TempDir(), "fresh"), large, 0)
			if note != "" {
				t.Errorf("a new data set: %q", note)
			}
			want := fresh.folders()
			fresh.close()

			dir := filepath.Join(t.TempDir(), "later")
			first, _ := mustOpen(t, m, dir, small, 0)
			first.clean(200)
			first.close()
			later, note := mustOpen(t, m, dir, large, 0)
			if note != "grows from 200 to 2000 messages" {
				t.Errorf("note %q", note)
			}
			later.clean(2000)
			if got := later.folders(); !slices.Equal(got, want) {
				t.Errorf("grown later: %q\nat once: %q", got, want)
			}
			later.close()
			again, note := mustOpen(t, m, dir, large, 0)
			if note != "" || again.Live.Messages() != 2000 {
				t.Errorf("the same population again: %q, %d live", note, again.Live.Messages())
			}
			again.close()
		})
	}
}

// The messages of the only folder are the same, one by one, however it came to them.
func TestGrowTheSameMessages(t *testing.T) {
	m := oracle.Model()
	load := func(name string, sizes ...int) []string {
		dir := filepath.Join(t.TempDir(), name)
		var d *dataSet
		for i, n := range sizes {
			if i > 0 {
				d.close()
			}
			d, _ = mustOpenWith(t, m, dir, growing(t, 1, 1, n), 0, 1)
		}
		defer d.close()
		return d.texts()
	}
	want := load("once", 120)
	if got := load("grown", 30, 60, 120); !slices.Equal(got, want) {
		t.Error("the messages of a folder that grew are others than those of one that was loaded at once")
	}
}

// A load and a growth that are interrupted continue where they were.
func TestGrowGoesOn(t *testing.T) {
	for _, m := range bundledModels() {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			dir, small, large := filepath.Join(t.TempDir(), "data"), growing(t, 1, 2, 50), growing(t, 2, 2, 100)
			for _, step := range []struct {
				to    *workloads.Workload
				most  int64
				note  string
				count int64 // if it came to the end
			}{
				{small, 40, "", 0},
				{small, 20, "continues a load that was interrupted, with", 0},
				{small, 0, "continues a load that was interrupted, with", 100},
				{large, 150, "grows from 100 to 400 messages", 0},
				{large, 10, "continues a load that was interrupted, with", 0},
				{large, 0, "continues a load that was interrupted, with", 400},
			} {
				d, note := mustOpen(t, m, dir, step.to, step.most)
				if !strings.HasPrefix(note, step.note) || step.note == "" && note != "" {
					t.Errorf("note %q, want %q", note, step.note)
				}
				if d.Dataset.Complete != (step.count > 0) {
					t.Errorf("complete: %v", d.Dataset.Complete)
				}
				if step.count > 0 {
					d.clean(step.count)
				}
				d.close()
			}
		})
	}
}

// A growth that a data set does not allow is refused, and the data set stays as it was.
func TestGrowRefuses(t *testing.T) {
	m, dir := oracle.Model(), filepath.Join(t.TempDir(), "data")
	d, _ := mustOpen(t, m, dir, growing(t, 2, 2, 20), 0)
	d.close()
	seed := growing(t, 2, 2, 30)
	seed.Seed++
	mail := growing(t, 2, 2, 30)
	mail.Mail.HTML = 0.5
	for _, c := range []struct {
		name string
		to   *workloads.Workload
		want string
	}{
		{"fewer messages", growing(t, 2, 2, 19), "can grow, but not shrink: folder Inbox of anna.abe@mailbench.example was loaded with 20 messages, and the workload has 19; remove that folder or name another"},
		{"more users, fewer messages", growing(t, 20, 2, 19), "was loaded with 20 messages"},
		{"fewer users", growing(t, 1, 2, 50), "it has 40 messages in folders which the workload's population does not have; remove that folder"},
		{"more users, fewer folders", growing(t, 5, 1, 50), "which the workload's population does not have"},
		{"another seed", seed, "cannot be used again: the seed (it was 1, now 2) differ; remove that folder or name another"},
		{"other mail", mail, `cannot be used again: the workload's mail (it was loaded by "growing") differ`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := openDataSet(t, m, embedded(), dir, c.to)
			if err == nil {
				_, err = d.Populate(t.Context())
				d.close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("err = %v\nwant %s", err, c.want)
			}
			d, _ = mustOpen(t, m, dir, growing(t, 2, 2, 20), 0)
			defer d.close()
			d.clean(80)
		})
	}
}
