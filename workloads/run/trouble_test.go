package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/results"
)

var errRefused = errors.New("connection refused")

// breaksAfter makes an engine that is well for some calls, out of order for a
// time, and then well again.
func (s *server) breaksAfter(calls int64, broken time.Duration, err error) {
	var n atomic.Int64
	var until atomic.Int64
	s.breaks(func(bool) (error, bool) {
		if n.Add(1) < calls {
			return nil, true
		}
		until.CompareAndSwap(0, time.Now().Add(broken).UnixNano())
		if time.Now().UnixNano() < until.Load() {
			return err, false
		}
		return nil, true
	})
}

// A node that dies and comes back does not end the run: what failed is counted,
// by second and by error, and the gap is where it was.
func TestNodeDiesInAnOpenLoop(t *testing.T) {
	s := newServer(t)
	c := remoteConfig(t, s, "  - measure: {rate: 400/s, duration: 6s, mix: {list: 1}}\n")
	var started atomic.Bool
	c.Progress = func(p Progress) {
		if p.Phase == "measure" && p.OK > 0 && started.CompareAndSwap(false, true) {
			s.breaksAfter(200, 2*time.Second, errRefused)
		}
	}
	m := phaseOf(t, runOK(t, c), "measure")
	o := m.Ops["list"]
	if m.Verdict == results.Failed || o.Count+o.Failed != 2400 || o.Failed < 300 || o.Failed > 1200 {
		t.Errorf("%s %s: %d ok and %d failed, want 2400 in all, 800 failed", m.Verdict, why(m), o.Count, o.Failed)
	}
	if len(o.Errors) != 1 || o.Errors[0].Count != o.Failed || !strings.Contains(o.Errors[0].Text, "connection refused") {
		t.Errorf("errors %+v, want one text, %d times", o.Errors, o.Failed)
	}
	if m.Gap == nil || m.Gap.Seconds < 1.3 || m.Gap.At < 0.4 || m.Gap.At+m.Gap.Seconds > m.Seconds {
		t.Fatalf("gap %+v in %v s, want the 2 s, once 200 were ok", m.Gap, m.Seconds)
	}
	var ok, failed int64
	dead := 0
	for i, in := range m.Timeline {
		ok, failed = ok+in.OK, failed+in.Failed
		if in.OK == 0 && in.Failed > 0 {
			dead++
		}
		if in.OK > 0 && in.At > m.Gap.At && in.At+in.Seconds < m.Gap.At+m.Gap.Seconds {
			t.Errorf("interval %+v has operations that were ok, within the gap %+v", in, m.Gap)
		}
		if i > 0 && (in.At < m.Timeline[i-1].At || in.OK > 0 && in.P99 == 0) {
			t.Errorf("interval %+v after %+v", in, m.Timeline[i-1])
		}
	}
	if ok != o.Count || failed != o.Failed || dead < 2 {
		t.Errorf("the timeline has %d ok, %d failed, %d intervals without ok: %+v", ok, failed, dead, m.Timeline)
	}
}

// An engine that refuses immediately does not get as many requests as the processors can.
func TestClosedLoopBacksOff(t *testing.T) {
	s := newServer(t)
	c := remoteConfig(t, s, "  - measure: {clients: 4, duration: 2s, mix: {list: 1}}\n")
	c.Progress = func(p Progress) {
		if p.Phase == "measure" && p.OK+p.Failed == 0 && !p.Finished {
			s.breaksAfter(0, 800*time.Millisecond, errRefused)
		}
	}
	m := phaseOf(t, runOK(t, c), "measure")
	// 4 clients that pause for 1, 2, 4 … 64 and then 100 ms: 14 times each.
	if o := m.Ops["list"]; o.Failed < 20 || o.Failed > 100 || o.Count == 0 {
		t.Errorf("%d operations failed within 0.8 s, want some 56, and %d were ok", o.Failed, o.Count)
	}
	// The pauses are not the generator's own work. A busy machine may delay it.
	if m.Verdict != results.OK && m.Reason.Code != "client-delays" {
		t.Errorf("%s: %s", m.Verdict, why(m))
	}
}

// A load tries a delivery again that failed, and does not if the message may be
// there.
func TestLoadOverANetwork(t *testing.T) {
	const nothing = "  - measure: {clients: 1, operations: 5, mix: {list: 1}}\n"
	load := func(t *testing.T, fault func(n int64) (error, bool)) (*server, *results.Run) {
		s := newServer(t)
		c := remoteConfig(t, s, nothing)
		c.Audit = AuditAfter
		c.Workers = 1 // so that what takes back a refused delivery is not refused too
		var n atomic.Int64
		c.Progress = func(p Progress) {
			if p.Phase == "measure" {
				s.breaks(nil)
			}
		}
		// Accounts are made by few writes; faults begin after them.
		const accounts = 40
		s.breaks(func(write bool) (error, bool) {
			if !write {
				return nil, true
			}
			if k := n.Add(1) - accounts; k > 0 {
				return fault(k)
			}
			return nil, true
		})
		return s, runOK(t, c)
	}
	t.Run("refused for a moment", func(t *testing.T) {
		_, r := load(t, func(n int64) (error, bool) { return map[bool]error{true: errRefused}[n%10 == 0], n%10 != 0 })
		l := phaseOf(t, r, "load")
		if o := l.Ops["deliver"]; o.Count != 150 || o.Failed == 0 || l.Verdict != results.OK {
			t.Errorf("%s: %+v, want all 150 delivered after some failures", l.Verdict, o)
		}
		if a := auditOf(t, r); a.Verified != 150 {
			t.Errorf("audit %+v", a)
		}
	})
	t.Run("a few of unknown outcome", func(t *testing.T) {
		_, r := load(t, func(n int64) (error, bool) {
			return map[bool]error{true: fmt.Errorf("timed out: %w", drivers.ErrUnknown)}[n%60 == 0], true
		})
		l := phaseOf(t, r, "load")
		o := l.Ops["deliver"]
		if o.Unknown == 0 || o.Count+o.Unknown != 150 || l.Verdict != results.OK {
			t.Errorf("%s: %+v, want 150 with some of unknown outcome", l.Verdict, o)
		}
		want := fmt.Sprintf("incomplete: %d of 150 messages of the load could not be delivered", o.Unknown)
		if !slices.ContainsFunc(l.Doubts, func(d results.Doubt) bool { return d.String() == want }) {
			t.Errorf("doubts %v, want %q", l.Doubts, want)
		}
		if a := auditOf(t, r); a.Verified != o.Count || a.Lost > 0 || a.Unknown != o.Unknown || a.Wrong() {
			t.Errorf("audit %+v", a)
		}
	})
	t.Run("too many", func(t *testing.T) {
		s, r := load(t, func(n int64) (error, bool) { return drivers.ErrUnknown, false })
		cell := phaseOf(t, r, "load")
		if cell.Verdict != results.Failed || cell.Ops["deliver"].Unknown < 10 || !strings.Contains(why(cell), "no more than 10 messages may be missing") {
			t.Errorf("%s %s: %s", cell.Phase, cell.Verdict, why(cell))
		}
		if left := s.namespaces(); len(left) > 0 {
			t.Errorf("left on the server: %v", left)
		}
	})
}

// TestEngineVanishes: an engine that refuses or swallows everything in the midst of a load ends
// it soon, whatever the load's size. Measured values are kept, and the namespace is gone or named.
func TestEngineVanishes(t *testing.T) {
	before := drive.SilenceMost
	drive.SilenceMost = 2 * time.Second
	t.Cleanup(func() { drive.SilenceMost = before })
	for _, x := range []struct {
		name      string
		swallowed bool
		stuck     error // of the drop
	}{{"refuses", false, nil}, {"refuses, and cannot drop", false, errRefused}, {"swallows", true, nil}} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			c := remoteConfig(t, s, briefly)
			var err error
			if c.Workload, err = workloads.Parse("vast.yaml", c.Workload.Source, "population.messages=20000"); err != nil {
				t.Fatal(err)
			}
			c.Progress = func(p Progress) {
				switch {
				case p.Phase != "load" || p.OK < 50:
				case x.swallowed:
					s.hole.Store(true)
				default:
					s.breaks(func(bool) (error, bool) { return errRefused, false })
				}
			}
			s.stuck = x.stuck
			began := time.Now()
			r := runOK(t, c)
			cell := r.Cells[0]
			if cell.Verdict != results.Failed || cell.Ops["deliver"].Count < 50 ||
				!strings.Contains(why(cell), "server has acknowledged nothing for 2s, after ") {
				t.Errorf("%s %s: %s, %+v", cell.Phase, cell.Verdict, why(cell), cell.Ops["deliver"])
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
			left := strings.Join(r.Left, "\n")
			if got := s.namespaces(); (len(got) == 0) != (x.stuck == nil) || (left == "") != (x.stuck == nil) ||
				len(got) > 0 && !strings.Contains(left, `"mailbench engine clean server `+got[0]) {
				t.Errorf("left on the server: %v; the run says %q", got, left)
			}
		})
	}
}

// TestInterruptedLoad: a load that was interrupted is not ok.
func TestInterruptedLoad(t *testing.T) {
	c := config(t, newFake(), briefly)
	var err error
	if c.Workload, err = workloads.Parse("vast.yaml", c.Workload.Source, "population.messages=20000"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c.Progress = func(p Progress) {
		if p.Phase == "load" && p.OK > 0 {
			cancel()
		}
	}
	r, err := Run(ctx, c)
	if err != nil || !r.Interrupted {
		t.Fatalf("interrupted %v, %v", r, err)
	}
	if cell := r.Cells[0]; cell.Verdict != results.Failed || cell.Reason.Code != "unfinished" {
		t.Errorf("%s is %s: %s", cell.Phase, cell.Verdict, why(cell))
	}
}

// In every model, whether time-outs leave an operation applied or not: nothing that was
// acknowledged is lost or wrong, and what was not is not counted as that.
func TestAuditAfterUnknownOutcomes(t *testing.T) {
	for _, m := range bundledModels() {
		for _, applied := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, applied=%v", m.Name, applied), func(t *testing.T) {
				s := newServer(t)
				c := remoteConfig(t, s, "  - measure: {clients: 4, operations: 300, mix: {deliver: 30, move: 20, delete: 20, flag: 10, restore: 5, label: 5, list: 10}}\n")
				c.Models, c.DataDir = []models.Model{m}, filepath.Join(t.TempDir(), "data")
				var n atomic.Int64
				c.Progress = func(p Progress) {
					switch {
					case p.Phase == "measure" && p.Finished:
						s.breaks(nil)
					case p.Phase == "measure":
						s.breaks(func(write bool) (error, bool) {
							if write && n.Add(1)%9 == 0 {
								return drivers.ErrUnknown, applied
							}
							return nil, true
						})
					}
				}
				r := runOK(t, c)
				measured := phaseOf(t, r, "measure")
				var unknown int64
				for _, o := range measured.Ops {
					unknown += o.Unknown
					if o.Failed > 0 {
						t.Errorf("failed: %+v", o.Errors)
					}
				}
				if measured.Verdict == results.Failed || unknown < 15 {
					t.Errorf("%s %s, %d of unknown outcome", measured.Verdict, why(measured), unknown)
				}
				c.Audit = AuditOnly
				if a := auditOf(t, runOK(t, c)); a.Verified < 60 || a.Unknown == 0 || !a.Interrupted || a.Wrong() {
					t.Errorf("audit %+v", a)
				}
			})
		}
	}
}

// An audit tries again where the engine does not answer, and times out where that lasts.
// It reports no silence as a loss.
func TestAuditOfAnEngineInTrouble(t *testing.T) {
	d := newFake()
	d.noRaw = true // so that an audit opens each message
	c := dataConfig(t, d, briefly)
	runOK(t, c)
	history := must(ledger.ReadHistory(filepath.Join(c.DataDir, "fake-memory", "ledger")))
	audit := func(t *testing.T, remote bool, broken time.Duration, calls ...string) (found results.Audit, err error) {
		synctest.Test(t, func(t *testing.T) {
			until := time.Now().Add(broken)
			d.before = func(call string) error {
				if slices.Contains(calls, call) && time.Now().Before(until) {
					return errRefused
				}
				return nil
			}
			a := ledger.Auditor{
				Mailbox: d.Mailbox(nil), Promise: models.Promise{Attachments: true}, History: history, Remote: remote,
				Rows: func(context.Context) (models.Audit, error) { return models.Audit{}, nil },
			}
			err = a.Audit(t.Context())
			found = a.Found
		})
		return found, err
	}
	whole := history.Delivered - history.Deleted
	if a, err := audit(t, true, 0); err != nil || a.Verified != whole {
		t.Errorf("of an engine that is well: %+v, err = %v", a, err)
	}
	if a, err := audit(t, true, 20*time.Second, "list", "open"); err != nil || a.Verified != whole || a.Lost+a.Corrupt+a.Unread > 0 {
		t.Errorf("of one that answers after 20 s: %+v, err = %v", a, err)
	}
	for _, call := range []string{"list", "open"} {
		a, err := audit(t, true, time.Hour, call)
		if !errors.Is(err, errRefused) || a.Wrong() || (a.Unread > 10) != (call == "open") {
			t.Errorf("of one that does not answer to %s: %+v, err = %v", call, a, err)
		}
	}
	if _, err := audit(t, false, 20*time.Second, "list"); !errors.Is(err, errRefused) {
		t.Errorf("of an embedded one, which is not asked again: err = %v", err)
	}
}
