package modeltest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
)

// Opener returns a store to which the schema was applied and whose tables are
// empty, and closes it when the test ends. Stores of different tests may be in
// use at once, and may share one server.
type Opener func(t testing.TB, s *schemas.Schema) drivers.Store

// Run runs every rule over one model, each on a store of its own. Rules about
// what only some models can do (models.Labeler and so on) run where the model can.
func Run(t *testing.T, m models.Model, open Opener) {
	run(t, &suite{model: m, traits: traitsOf(m.Name), open: open})
}

// A rule is one subtest. offered is nil for what every model can do.
type rule struct {
	name    string
	offered func(models.Mailbox) bool
	check   func(*testing.T, *suite)
}

// has tells whether a mailbox has the optional interface I.
func has[I any](mb models.Mailbox) bool {
	_, ok := mb.(I)
	return ok
}

func rules() []rule {
	return []rule{
		{"deliver", nil, testDeliver},
		{"bytes", nil, testBytes},
		{"chunk seams", nil, testChunkSeams},
		{"too large", nil, testTooLarge},
		{"odd dates", nil, testOddDates},
		{"odd names", nil, testOddNames},
		{"duplicates", nil, testDuplicates},
		{"delivery fails", nil, testDeliveryFails},
		{"stop early", nil, testStopEarly},
		{"accounts", nil, testAccounts},
		{"neighbours", nil, testNeighbours},
		{"pages", nil, testPages},
		{"pages while delivering", nil, testPagesWhileDelivering},
		{"page after a message gone", nil, testPageAfterGone},
		{"flags", nil, testFlags},
		{"move", nil, testMove},
		{"move and back", nil, testMoveAndBack},
		{"delete", nil, testDelete},
		{"many", nil, testMany},
		{"stale handles", nil, testStaleHandles},
		{"clock stands still", nil, testClockStandsStill},
		{"clock goes back", nil, testClockGoesBack},
		{"bind again", nil, testBindAgain},
		{"cancelled", nil, testCancelled},
		{"workers", nil, testWorkers},
		{"workers on one folder", nil, testWorkersOneFolder},
		{"account race", nil, testAccountRace},
		{"range reads", has[models.RangeReader], testRangeReads},
		{"labels", has[models.Labeler], testLabels},
		{"purge and restore", has[models.Purger], testPurge},
		{"recount", has[models.Recounter], testRecount},
		{"uids", has[models.UIDs], testUIDs},
		{"expunge", has[models.UIDs], testExpunge},
		{"subscriptions", has[models.Subscriber], testSubscriptions},
		{"by sender", has[models.SenderSearcher], testBySender},
		{"slice", has[models.Slicer], testSlice},
		{"seen by", has[models.Seer], testSeenBy},
		{"shared folder", has[models.Poster], testSharedFolder},
		{"random", nil, testRandom},
	}
}

func run(t *testing.T, s *suite) {
	// Alone, because it measures the heap.
	t.Run("bounded memory", func(t *testing.T) { testBoundedMemory(t, s) })
	s.runRules(t)
}

// runRules runs the rules that measure nothing, and damages.
func (s *suite) runRules(t *testing.T) {
	if s.shared {
		t.Parallel() // beside other models; its own rules take turns
	}
	each := func(name string, rule func(*testing.T)) {
		t.Run(name, func(t *testing.T) {
			if !s.shared {
				t.Parallel()
			}
			rule(t)
		})
	}
	for _, r := range s.rules(t) {
		each(r.name, func(t *testing.T) { r.check(t, s) })
	}
	for _, d := range damages(s.model.Name) {
		each("damage/"+d.name, func(t *testing.T) { testDamage(t, s, d) })
	}
}

// rules are those about what the model can do.
func (s *suite) rules(t *testing.T) []rule {
	offered := s.start(t, models.Options{}).mailbox()
	return slices.DeleteFunc(rules(), func(r rule) bool { return r.offered != nil && !r.offered(offered) })
}

// suite is what all rules of one run share.
type suite struct {
	model models.Model
	traits
	open   Opener
	shared bool // open returns one store again and again
	worlds int  // how many there have been on it
}

// domain is where the accounts of a rule have their addresses.
type domain string

func (d domain) at(local string) string { return local + "@" + string(d) }

// fixture is the model on tables that hold nothing else.
type fixture struct {
	t testing.TB
	*suite
	domain
	ctx    context.Context
	schema *schemas.Schema
	store  drivers.Store
	bound  models.Bound
	opts   models.Options
	clock  *clock
}

// patience is how long a rule may take: a call that never ends shall fail its
// rule, and not the whole run. It is far more than any engine needs.
const patience = 3 * time.Minute

// start opens a store and binds the model to it. The clock is the suite's and
// the node is fixed, so that what is stored is the same in every run.
//
// On a shared store each rule has addresses and a node of its own: a counter
// that was deleted cannot be used again on every engine.
func (s *suite) start(t testing.TB, o models.Options) *fixture {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	f := &fixture{t: t, suite: s, domain: "example.org", ctx: ctx, clock: newClock()}
	o.Node = 1
	if s.shared {
		s.worlds++
		f.domain, o.Node = domain(fmt.Sprintf("%d.example.org", s.worlds)), uint64(s.worlds)
	}
	schema, err := s.model.Schema()
	if err != nil {
		t.Fatalf("schema of %s: %v", s.model.Name, err)
	}
	f.schema, f.store = schema, s.open(t, schema)
	o.Now = f.clock.now
	f.opts = o
	f.bound = f.bind(o)
	return f
}

// bind binds the model once more to the same store, as another process would.
func (f *fixture) bind(o models.Options) models.Bound {
	f.t.Helper()
	p, err := drivers.PrepareAll(f.ctx, f.store, f.schema)
	if err != nil {
		f.t.Fatalf("prepare %s: %v", f.model.Name, err)
	}
	b, err := f.model.Bind(f.ctx, p, o)
	if err != nil {
		f.t.Fatalf("bind %s: %v", f.model.Name, err)
	}
	return b
}

// mailbox returns the mailbox of one more worker.
func (f *fixture) mailbox() models.Mailbox { return f.mailboxOf(f.bound) }

func (f *fixture) mailboxOf(b models.Bound) models.Mailbox {
	f.t.Helper()
	s, err := f.store.Session()
	if err != nil {
		f.t.Fatalf("open session: %v", err)
	}
	f.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.t.Errorf("close session: %v", err)
		}
	})
	return b.Mailbox(s)
}
