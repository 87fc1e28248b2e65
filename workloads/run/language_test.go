package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/subject"
)

// spy notes how the operations of a workload call a mailbox.
type spy struct {
	*fake
	lock  sync.Mutex
	notes map[string]map[int]int // what, and how often it had which value
}

func (s *spy) note(what string, value int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.notes[what] == nil {
		s.notes[what] = map[int]int{}
	}
	s.notes[what][value]++
}

// values are the values that were noted.
func (s *spy) values(what string) []int { return slices.Sorted(maps.Keys(s.notes[what])) }

func (s *spy) Mailbox(d drivers.Session) models.Mailbox {
	return spyMailbox{s.fake.Mailbox(d).(fakeMailbox), s}
}

type spyMailbox struct {
	fakeMailbox
	s *spy
}

func (b spyMailbox) List(ctx context.Context, f *models.Folder, after models.Handle, limit int, yield func(*models.Entry) error) error {
	if limit < 100 { // more is the audit's
		b.s.note("page", limit)
	}
	first := 0
	if !after.IsZero() {
		first = 1
	}
	b.s.note("list", first)
	return b.fakeMailbox.List(ctx, f, after, limit, yield)
}

func (b spyMailbox) Flag(ctx context.Context, f *models.Folder, h models.Handle, flag models.Flag, on bool) error {
	if flag == models.Answered {
		return models.ErrNotOffered
	}
	if h.IsZero() {
		return models.ErrNotFound
	}
	b.s.note("flag", int(flag))
	return b.fakeMailbox.Flag(ctx, f, h, flag, on)
}

func (b spyMailbox) Move(ctx context.Context, from, to *models.Folder, hs, handles []models.Handle) error {
	b.s.note("move", len(hs))
	return b.fakeMailbox.Move(ctx, from, to, hs, handles)
}

func (b spyMailbox) Delete(ctx context.Context, f *models.Folder, hs []models.Handle) error {
	b.s.note("delete", len(hs))
	return b.fakeMailbox.Delete(ctx, f, hs)
}

// The settings of operations reach the model: pages, how many messages,
// flags. A flag that the model does not store is left out. All of it can be audited.
func TestHowOperationsAreDone(t *testing.T) {
	s := &spy{fake: newFake(), notes: map[string]map[int]int{}}
	c := config(t, s.fake, `
  - measure:
      operations: 400
      streams:
        - rate: 2000/s
          mix:
            list: {weight: 10, page: 7}
            delete: {weight: 1, messages: 5}
            move: {weight: 1, messages: 3}
            flag: {weight: 10, messages: 2, flags: [seen, answered, flagged]}
            deliver: 12
        - rate: 500/s
          think_time: 1ms
          session: [{list: {times: 3, page: 4}}, open]`)
	c.Models[0].Bind = func(context.Context, *drivers.Prepared, models.Options) (models.Bound, error) { return s, nil }
	c.Audit = AuditAfter
	r := runOK(t, c)
	cell := r.Cells[len(r.Cells)-1]
	for what, want := range map[string][]int{"page": {4, 7}, "flag": {int(models.Seen), int(models.Flagged)}, "list": {0, 1}} {
		if got := s.values(what); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	for what, want := range map[string]int{"delete": 5, "move": 3} {
		if got := s.values(what); len(got) == 0 || slices.Max(got) != want {
			t.Errorf("%s of %v messages, want %d", what, got, want)
		}
	}
	if cell.Offered.Skipped == 0 || cell.Ops["flag"].Support != "native" || cell.Ops["flag"].Failed > 0 {
		t.Errorf("a flag that is not stored: offered %+v, %+v", cell.Offered, cell.Ops["flag"])
	}
	deleted := 0
	for n, times := range s.notes["delete"] {
		deleted += n * times
	}
	if a := auditOf(t, r); a.Wrong() || int(a.Deleted) != deleted {
		t.Errorf("%d were deleted, and the audit says %+v", deleted, a)
	}
}

// An operation that takes longer than its timeout has an unknown outcome. Others are
// not touched by that.
func TestTimeouts(t *testing.T) {
	d := newFake()
	c := config(t, d, `
  - measure: {clients: 2, operations: 40, mix: {open: {weight: 1, timeout: 5ms}, counters: 1}}`)
	d.before = pause(20*time.Millisecond, "open", "stats")
	r := runOK(t, c)
	ops := r.Cells[len(r.Cells)-1].Ops
	if o := ops["open"]; o.Count != 0 || o.Unknown == 0 {
		t.Errorf("open: %+v", o)
	}
	if o := ops["counters"]; o.Count == 0 || o.Unknown != 0 {
		t.Errorf("counters: %+v", o)
	}
}

// Clients that think send less.
func TestThinkTime(t *testing.T) {
	c := config(t, newFake(), `
  - measure: {clients: 2, operations: 20, think_time: 20ms, mix: {counters: 1}}`)
	r := runOK(t, c)
	cell := r.Cells[len(r.Cells)-1]
	if cell.Seconds < 0.18 || cell.Ops["counters"].Count != 20 {
		t.Errorf("20 operations of 2 clients took %g s with 20 ms before each", cell.Seconds)
	}
	if e := cell.Evidence; e.Own > int64(cell.Seconds*1e9)/4 {
		t.Errorf("thinking counts as the client's own work: %v", time.Duration(e.Own))
	}
}

// A trace is replayed from its file, and its sizes are those of the messages.
func TestReplayedTrace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trace.jsonl")
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, `{"time": %g, "user": "u%d", "op": "deliver", "size": 9000}`+"\n", float64(i)/10, i%5)
		fmt.Fprintf(&b, `{"time": %g, "user": "u%d", "op": "list"}`+"\n", float64(i)/10, i%5)
	}
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newFake()
	c := config(t, d, "  - measure: {replay: {trace: "+name+", speed: 10}}")
	r := runOK(t, c)
	cell := r.Cells[len(r.Cells)-1]
	if cell.Ops["deliver"].Count != 50 || cell.Ops["list"].Count != 50 || cell.Offered.Span < 0.48 || cell.Offered.Span > 0.52 {
		t.Errorf("replayed %+v of %+v", cell.Offered, cell.Ops)
	}
	if p := r.Phases[len(r.Phases)-1]; p.Trace != subject.Digest([]byte(b.String())) {
		t.Errorf("the phase %+v has not the digest of its trace", p)
	}
	sized := 0
	for _, folder := range d.folders {
		for _, m := range folder {
			if n := len(m.raw); n > 8800 && n < 9200 {
				sized++
			}
		}
	}
	if sized < 50 {
		t.Errorf("%d messages have the size of the trace", sized)
	}
	c.Workload.Phases[1].Replay.Trace += ".not"
	if _, err := Run(t.Context(), c); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a trace that is not there: %v", err)
	}
}

// dryRun prints what a run would do.
func dryRun(t *testing.T, c Config, out io.Writer) error {
	t.Helper()
	p, err := DryRun(t.Context(), c)
	if p != nil {
		p.WriteText(out)
	}
	return err
}

// fitsIn returns why the run does not fit into so much free disk.
func fitsIn(t *testing.T, c *Config, points []point, free float64) error {
	t.Helper()
	p, err := c.plan(t.Context(), points, c.DataDir, free)
	if err != nil {
		t.Fatal(err)
	}
	return p.check()
}

// A dry run counts what the run then does, and a run that does not fit on the disk is
// refused before anything is written.
func TestDryRun(t *testing.T) {
	c := Config{
		Workload: parse(t, "  - measure: {operations: 200, rate: 2000/s, mix: {deliver: 1, list: 3}}\n"),
		Models:   bundledModels()[:2], Engines: []drivers.Engine{embedded()}, DataDir: filepath.Join(t.TempDir(), "data"),
	}
	var b strings.Builder
	if err := dryRun(t, c, &b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"5 users, 15 folders, 150 messages", "load                      150  0s", "measure                   200  100ms", "Time: about", c.Models[1].Name + " embedded"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if _, err := os.Stat(c.DataDir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a dry run made the data folder")
	}
	census, err := plan.NewCensus(t.Context(), c.Workload)
	if err != nil {
		t.Fatal(err)
	}
	points := []point{{workload: c.Workload, census: census, source: source()}}
	e := c.estimate(&points[0], 0)
	p, err := c.plan(t.Context(), points, c.DataDir, 0)
	if err != nil {
		t.Fatal(err)
	}
	need := p.Need
	most := 2 * 6 * (e.Bytes + 2000*float64(e.Messages)) // of two models that keep mail twice, with room to compact
	if need < e.Bytes || need > most {
		t.Errorf("%g bytes of mail need %g of disk, and at most %g", e.Bytes, need, most)
	}
	if err := fitsIn(t, &c, points, need*0.99); !errors.Is(err, ErrDisk) {
		t.Errorf("too small a disk: %v", err)
	}
	if err := fitsIn(t, &c, points, need*1.01); err != nil {
		t.Errorf("a disk that is large enough: %v", err)
	}

	// The disks of an engine over the network are not known.
	remote := embedded()
	remote.Remote = true
	c.Engines = []drivers.Engine{remote}
	if err := fitsIn(t, &c, points, 1); err != nil {
		t.Errorf("an engine's disk that is not known: %v", err)
	}
}
