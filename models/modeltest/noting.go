package modeltest

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// noting runs the rules that apply to the model, and fails the test if a pattern is run
// by none of those that are run on real engines.
func (s *suite) noting(t *testing.T, rules []rule) {
	var n noted
	offered := s.offered(t, rules)
	for _, r := range offered {
		s.each(t, r.name, func(t *testing.T) {
			noting := *s
			noting.open = n.by(r.where, s.open)
			r.check(t, &noting)
		})
	}
	t.Cleanup(func() { // after those that run side by side
		if n.rules < len(offered) || t.Failed() {
			return // -run has left some out
		}
		for _, name := range slices.Sorted(maps.Keys(n.run[inProcess])) {
			if !n.run[onEngines][name] {
				t.Errorf("pattern %s is run by no rule that is run on real engines", name)
			}
		}
	})
}

// noted is which patterns were run by the rules for real engines (onEngines), and by the
// others (inProcess).
type noted struct {
	mu    sync.Mutex
	rules int // how many began
	run   [2]map[string]bool
}

// by returns an opener of stores whose sessions note what is run.
func (n *noted) by(w where, open opener) opener {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rules++
	w = min(w, onEngines)
	if n.run[w] == nil {
		n.run[w] = map[string]bool{}
	}
	return func(t testing.TB, s *schemas.Schema) drivers.Store {
		return &notingStore{open(t, s), func(st drivers.Statement, _ int64) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.run[w][st.Pattern().Name] = true
		}}
	}
}

type notingStore struct {
	drivers.Store
	note func(drivers.Statement, int64)
}

// Session implements drivers.Store.
func (s *notingStore) Session() (drivers.Session, error) {
	session, err := s.Store.Session()
	m := drivers.NewMeter(session)
	m.Trace = s.note
	return m, err
}
