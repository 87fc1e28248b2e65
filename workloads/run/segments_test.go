package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/james"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads/merge"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/results"
)

// hub is an engine over a network that several load generators share: the embedded one,
// with namespaces as folders. It refuses clients that create the same tables together.
type hub struct {
	t   *testing.T
	dir string

	mu     sync.Mutex
	stores map[string]*hubStore
}

type hubStore struct {
	drivers.Store
	hub       *hub
	namespace string
	users     int
	gone      bool
	made      map[string]bool // schemas: being made (false), or there (true)
}

func newHub(t *testing.T) *hub {
	return &hub{t: t, dir: t.TempDir(), stores: map[string]*hubStore{}}
}

func (h *hub) engine() drivers.Engine {
	return drivers.Engine{Name: "hub", Doc: "for tests", Remote: true, Open: h.open}
}

func (h *hub) open(ctx context.Context, o drivers.Options) (drivers.Store, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o.Namespace == "" {
		return &hubStore{Store: fakeStore{}, hub: h}, nil
	}
	s := h.stores[o.Namespace]
	if s == nil {
		inner, err := embedded().Open(ctx, drivers.Options{Dir: filepath.Join(h.dir, o.Namespace)})
		if err != nil {
			return nil, err
		}
		s = &hubStore{Store: inner, hub: h, namespace: o.Namespace, made: map[string]bool{}}
		h.stores[o.Namespace] = s
	}
	s.users++
	return s, nil
}

// Capabilities implements drivers.Store: segments have it in common.
func (s *hubStore) Capabilities() drivers.Capabilities {
	c := s.Store.Capabilities()
	c.InProcess = false
	return c
}

// Apply implements drivers.Store. Tables take a while.
func (s *hubStore) Apply(ctx context.Context, schema *schemas.Schema) error {
	s.hub.mu.Lock()
	there, begun := s.made[schema.Name]
	s.made[schema.Name] = there
	s.hub.mu.Unlock()
	if begun && !there {
		return errors.New("another client makes the same tables")
	}
	time.Sleep(20 * time.Millisecond)
	err := s.Store.Apply(ctx, schema)
	s.hub.mu.Lock()
	s.made[schema.Name] = true
	s.hub.mu.Unlock()
	return err
}

// Namespaces implements drivers.Admin.
func (s *hubStore) Namespaces(context.Context) (all []drivers.Namespace, err error) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	for name := range s.hub.stores {
		all = append(all, drivers.Namespace{Name: name})
	}
	return all, nil
}

// Drop implements drivers.Admin.
func (s *hubStore) Drop(context.Context) (string, error) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.gone = true
	delete(s.hub.stores, s.namespace)
	return "", nil
}

// Session implements drivers.Store. After a drop no client may use the store.
func (s *hubStore) Session() (drivers.Session, error) {
	s.hub.mu.Lock()
	gone := s.gone
	s.hub.mu.Unlock()
	if gone {
		return nil, errors.New("its namespace was dropped")
	}
	return s.Store.Session()
}

// Close implements drivers.Store.
func (s *hubStore) Close() error {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.users--; s.users > 0 || s.namespace == "" {
		return nil
	}
	if !s.gone {
		delete(s.hub.stores, s.namespace)
	}
	return s.Store.Close()
}

// Segments that load one engine together execute together exactly the operations of
// one load generator; none loses a message, and they leave nothing on the engine.
func TestSegmentsTogether(t *testing.T) {
	const of = 3
	h := newHub(t)
	w := parse(t, `
  - settle: {}
  - measure: {operations: 300, rate: 1000/s, mix: {deliver: 30, list: 10, open: 10, flag: 10, move: 10, delete: 10}}
`)
	start := time.Now()
	var sources [of]merge.Source
	var wg sync.WaitGroup
	for i := range of {
		wg.Go(func() {
			var log bytes.Buffer
			c := Config{
				Workload: w, Mail: source(), Workers: 4, Models: []models.Model{james.Model()}, Engines: []drivers.Engine{h.engine()},
				Audit: AuditAfter, LatencyLog: &log, Segment: plan.Segment{Index: i + 1, Of: of}, Start: start,
			}
			r, err := Run(t.Context(), c)
			if err != nil {
				t.Errorf("segment %d: %v", i+1, err)
				return
			}
			sources[i] = merge.Source{Name: "segment", Run: r, Log: &log}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	merged, err := merge.Merge(sources[:])
	if err != nil {
		t.Fatal(err)
	}
	r := merged.Run
	for _, c := range r.Cells {
		if c.Error != "" {
			t.Errorf("%s: %s", c.Key, c.Error)
		}
	}
	census := must(plan.NewCensus(t.Context(), w))
	ended := map[string]int64{}
	for _, c := range r.Cells {
		for _, o := range c.Ops {
			ended[c.Phase] += o.Count + o.NotFound + o.Failed + o.Unknown + o.Dropped + o.NoTarget
		}
	}
	if ended["load"] != int64(census.Messages()) || ended["measure"] != 300 {
		t.Errorf("the segments carried out %v operations; expected %d and 300", ended, census.Messages())
	}
	a := r.Audits[0]
	if len(r.Audits) != 1 || a.Wrong() || a.Delivered < int64(census.Messages()) || a.Accounts != int64(census.Users()) {
		t.Errorf("audits: %+v", r.Audits)
	}
	if left := must((&hubStore{hub: h}).Namespaces(t.Context())); len(left) > 0 || len(r.Left) > 0 {
		t.Errorf("left on the engine: %v %v", left, r.Left)
	}
}

// A segment that cannot go on does not leave the others waiting.
func TestSegmentGivesUp(t *testing.T) {
	h := newHub(t)
	w := parse(t, "  - measure: {operations: 100, rate: 1000/s, mix: {list: 1}}\n")
	start := time.Now()
	var found [2]*results.Run
	var wg sync.WaitGroup
	for i := range found {
		wg.Go(func() {
			m := james.Model()
			if i == 1 {
				bind := m.Bind
				m.Bind = func(ctx context.Context, p *drivers.Prepared, o models.Options) (models.Bound, error) {
					_, err := bind(ctx, p, o)
					return nil, errors.Join(err, errors.New("the disk is full"))
				}
			}
			c := Config{
				Workload: w, Mail: source(), Models: []models.Model{m}, Engines: []drivers.Engine{h.engine()},
				Segment: plan.Segment{Index: i + 1, Of: 2}, Start: start,
			}
			r, err := Run(t.Context(), c)
			if err != nil {
				t.Errorf("segment %d: %v", i+1, err)
			}
			found[i] = r
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	if c := found[0].Cells[0]; !strings.Contains(c.Error, "segment 2: ") || !strings.Contains(c.Error, "the disk is full") {
		t.Errorf("segment 1 ended with %q", c.Error)
	}
	if left := must((&hubStore{hub: h}).Namespaces(t.Context())); len(left) > 0 {
		t.Errorf("left on the engine: %v", left)
	}
}

// TestSegmentDiesInTheLastPhase: a segment that is interrupted in the last measured phase is no success
// for the others, whichever it is.
func TestSegmentDiesInTheLastPhase(t *testing.T) {
	w := parse(t, "  - measure: {operations: 300, rate: 100/s, mix: {list: 1}}\n")
	for dies := range 3 {
		t.Run(fmt.Sprintf("segment %d", dies+1), func(t *testing.T) {
			t.Parallel()
			h, start := newHub(t), time.Now()
			var found [3]*results.Run
			var wg sync.WaitGroup
			for i := range found {
				wg.Go(func() {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					c := Config{
						Workload: w, Mail: source(), Models: []models.Model{james.Model()}, Engines: []drivers.Engine{h.engine()},
						Segment: plan.Segment{Index: i + 1, Of: 3}, Start: start,
						Progress: func(p Progress) {
							if i == dies && p.Phase == "measure" && p.OK > 0 {
								cancel()
							}
						},
					}
					r, err := Run(ctx, c)
					if err != nil {
						t.Errorf("segment %d: %v", i+1, err)
					}
					found[i] = r
				})
			}
			wg.Wait()
			for i, r := range found {
				if i == dies || r == nil {
					continue
				}
				last := r.Cells[len(r.Cells)-1]
				// The other one may have ended for the same reason, and be seen first.
				names := func(n int) bool { return n != i && strings.Contains(last.Error, fmt.Sprintf("segment %d", n+1)) }
				if last.Verdict != results.Failed || !slices.ContainsFunc([]int{0, 1, 2}, names) {
					t.Errorf("segment %d ended with %s: %q", i+1, last.Verdict, last.Error)
				}
				if m := phaseOf(t, r, "measure"); m.Verdict == results.Failed || m.Ops["list"].Count == 0 {
					t.Errorf("segment %d: what it measured is %s: %+v", i+1, m.Verdict, m.Ops)
				}
			}
		})
	}
}

// Settings that segments do not support are refused before anything is made.
func TestSegmentRefused(t *testing.T) {
	w := parse(t, "  - measure: {operations: 100, rate: 1000/s, mix: {list: 1}}\n")
	for text, change := range map[string]func(*Config){
		"a start":                func(c *Config) { c.Start = time.Time{} },
		"more than 6h0m0s ago":   func(c *Config) { c.Start = time.Now().Add(-7 * time.Hour) },
		"one load generator":     func(c *Config) { c.FindMax = &results.FindMax{} },
		"5 users for 6 segments": func(c *Config) { c.Segment.Of = 6 },
	} {
		c := Config{
			Workload: w, Mail: source(), Models: []models.Model{james.Model()}, Engines: []drivers.Engine{embedded()},
			Segment: plan.Segment{Index: 1, Of: 2}, Start: time.Now(),
		}
		change(&c)
		if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v; expected %q", err, text)
		}
	}
}
