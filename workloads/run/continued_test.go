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

// A load that is interrupted continues where it was, and the data set is that of a load that was not.
func TestLoadGoesOn(t *testing.T) {
	for _, m := range bundledModels() {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			w := growing(t, 1, 2, 50)
			fresh, note := mustOpen(t, m, filepath.Join(t.TempDir(), "fresh"), w, 0)
			if note != "" {
				t.Errorf("a new data set: %q", note)
			}
			want := fresh.folders()
			fresh.close()
			dir := filepath.Join(t.TempDir(), "data")
			for i, most := range []int64{40, 20, 0, 0} {
				d, note := mustOpen(t, m, dir, w, most)
				if continues := strings.HasPrefix(note, "continues a load that was interrupted, with"); continues != (i == 1 || i == 2) {
					t.Errorf("run %d: note %q", i+1, note)
				}
				if d.Dataset.Complete != (most == 0) {
					t.Errorf("run %d: complete: %v", i+1, d.Dataset.Complete)
				}
				if most == 0 {
					d.clean(100)
					if got := d.folders(); !slices.Equal(got, want) {
						t.Errorf("run %d: %q\nat once: %q", i+1, got, want)
					}
				}
				d.close()
			}
		})
	}
}

// The messages of the only folder are the same, one by one, also if their load was interrupted.
func TestLoadGoesOnTheSame(t *testing.T) {
	m, w := oracle.Model(), growing(t, 1, 1, 120)
	load := func(name string, parts ...int64) []string {
		dir := filepath.Join(t.TempDir(), name)
		for _, most := range parts {
			d, _ := mustOpenWith(t, m, dir, w, most, 1)
			d.close()
		}
		d, _ := mustOpenWith(t, m, dir, w, 0, 1)
		defer d.close()
		return d.texts()
	}
	if want, got := load("once"), load("in parts", 30, 60); len(want) != 120 || !slices.Equal(got, want) {
		t.Error("the messages of a load that was interrupted are others than those of one at once")
	}
}

// Another population, seed or mail is refused, and the data set stays as it was.
func TestOtherDataRefused(t *testing.T) {
	m, dir := oracle.Model(), filepath.Join(t.TempDir(), "data")
	d, _ := mustOpen(t, m, dir, growing(t, 2, 2, 20), 0)
	d.close()
	seed := growing(t, 2, 2, 20)
	seed.Seed++
	mail := growing(t, 2, 2, 20)
	mail.Mail.HTML = 0.5
	for _, c := range []struct {
		name string
		to   *workloads.Workload
		want string
	}{
		{"fewer messages", growing(t, 2, 2, 19), `the workload's mail or population (it was loaded by "growing") differ; remove that folder`},
		{"more messages", growing(t, 2, 2, 21), `the workload's mail or population (it was loaded by "growing") differ; remove that folder`},
		{"another seed", seed, "cannot be used again: the seed (it was 1, now 2) differ; remove that folder or name another"},
		{"other mail", mail, `cannot be used again: the workload's mail or population (it was loaded by "growing") differ`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := openDataSet(t, m, embedded(), dir, c.to); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("err = %v\nwant %s", err, c.want)
			}
			d, _ = mustOpen(t, m, dir, growing(t, 2, 2, 20), 0)
			defer d.close()
			d.clean(80)
		})
	}
}
