package modeltest

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// noting runs the rules that apply to the model. It fails the test if rules run a pattern that
// no rule for real engines runs.
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
	t.Cleanup(func() { // after parallel rules
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

// noted has the patterns that the rules for real engines have run (onEngines), and those that
// the others have run (inProcess).
type noted struct {
	mu    sync.Mutex
	rules int // number of rules that began
	run   [2]map[string]bool
}

// by returns an opener of stores whose sessions note which patterns are run.
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
