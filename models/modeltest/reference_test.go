package modeltest

import (
	"context"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/conversation"
	"github.com/mailbench/mailbench/models/datastax"
	"github.com/mailbench/mailbench/models/elasticinbox"
	"github.com/mailbench/mailbench/models/james"
	"github.com/mailbench/mailbench/models/oracle"
	"github.com/mailbench/mailbench/schemas"
)

// suites are models to try the suite itself with. A new model need not be here.
var suites = []Suite{
	{Model: elasticinbox.Model(), Traits: Traits{Order: ByDate, OneMessage: true}},
	{Model: james.Model(), Traits: Traits{Order: ByArrival}},
	{Model: datastax.Model(), Traits: Traits{Order: ByDelivery, KeepsBodies: true}},
	{Model: oracle.Model(), Traits: Traits{Order: ByDelivery, WholeRows: true}},
	{
		Model: conversation.Model(), Traits: Traits{Order: ByDelivery, WholeRows: true},
		Races: Races{Always: []Anomaly{Revived, Duplicated, FlagLost, BothDone, Dangling}},
	},
}

// TestReference runs the suite over the reference itself, in the manner of each
// model: where it fails, the suite is wrong.
func TestReference(t *testing.T) {
	for _, s := range suites {
		if offer := offers[s.Model.Name]; offer != nil {
			t.Run(s.Model.Name, func(t *testing.T) {
				s := Suite{Model: referenceModel(s.Traits, offer), Traits: s.Traits}.on(openReference)
				t.Run("bounded memory", func(t *testing.T) { testBoundedMemory(t, s) })
				s.run(t, all())
			})
		}
	}
}

// TestIncomplete: a suite without traits, or without damages, fails.
func TestIncomplete(t *testing.T) {
	whole := suites[0]
	whole.Damages = []Damage{{}}
	if why := incomplete(whole); why != "" {
		t.Errorf("a suite with all it needs: %s", why)
	}
	for part, cut := range map[string]func(*Suite){
		"model":   func(s *Suite) { s.Model = models.Model{} },
		"traits":  func(s *Suite) { s.Traits = Traits{OneMessage: true} },
		"damages": func(s *Suite) { s.Damages = nil },
	} {
		s := whole
		cut(&s)
		if why := incomplete(s); !strings.Contains(why, "no "+part) {
			t.Errorf("a suite without %s: %q", part, why)
		}
	}
}

func incomplete(s Suite) string {
	if err := s.incomplete(); err != nil {
		return err.Error()
	}
	return ""
}

// TestShared runs the suite as it runs on an engine whose tables are shared.
// One model shows that the rules do not get into each other's way.
func TestShared(t *testing.T) {
	st, err := pebble.Engine().Open(t.Context(), drivers.Options{Dir: t.TempDir() + "/data", Durability: drivers.Process})
	if err != nil {
		t.Fatalf("open the embedded engine: %v", err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("close the embedded engine: %v", err)
		}
	})
	suites[len(suites)-1].onShared(t, st).run(t, all())
}

func openReference(testing.TB, *schemas.Schema) drivers.Store { return &referenceStore{} }

// offers hides what a model has not.
var offers = map[string]func(*reference) models.Mailbox{
	"elasticinbox": func(r *reference) models.Mailbox {
		return struct {
			models.Mailbox
			models.Labeler
			models.Purger
		}{r, r, r}
	},
	"james": func(r *reference) models.Mailbox {
		return struct {
			models.Mailbox
			models.UIDs
			models.Subscriber
		}{r, r, r}
	},
	"datastax": func(r *reference) models.Mailbox {
		return struct {
			models.Mailbox
			models.Labeler
		}{r, r}
	},
	"conversation": func(r *reference) models.Mailbox {
		return struct {
			models.Mailbox
			models.SenderSearcher
			models.Slicer
			models.Seer
			models.Poster
			models.RangeReader
		}{r, r, r, r, r, r}
	},
}

func referenceModel(tr Traits, offer func(*reference) models.Mailbox) models.Model {
	return models.Model{
		Name: "reference",
		Schema: func() (*schemas.Schema, error) {
			return &schemas.Schema{Name: "reference", Patterns: []*schemas.Pattern{{Name: "all"}}}, nil
		},
		Bind: func(_ context.Context, p *drivers.Prepared, o models.Options) (models.Bound, error) {
			st, err := p.Get("all")
			if err != nil {
				return nil, err
			}
			// Whoever binds the same store finds the same mail in it.
			s := st.(*referenceStatement).referenceStore
			if s.ref == nil {
				s.ref = newReference(tr, o.Now)
			}
			mb := offer(s.ref)
			_, s.ref.posts = mb.(models.Poster)
			return boundReference{mb}, nil
		},
	}
}

type boundReference struct{ mailbox models.Mailbox }

func (b boundReference) Mailbox(drivers.Session) models.Mailbox { return b.mailbox }

// referenceStore is the store of the reference, which needs none.
type referenceStore struct {
	drivers.Store
	ref *reference
}

func (s *referenceStore) Capabilities() drivers.Capabilities { return drivers.Capabilities{} }

func (s *referenceStore) Prepare(_ context.Context, p *schemas.Pattern) (drivers.Statement, error) {
	return &referenceStatement{referenceStore: s, pattern: p}, nil
}

// referenceStatement leads to its store.
type referenceStatement struct {
	drivers.Emulation
	*referenceStore
	pattern *schemas.Pattern
}

func (s *referenceStatement) Pattern() *schemas.Pattern { return s.pattern }

func (s *referenceStore) Session() (drivers.Session, error) { return referenceSession{}, nil }

type referenceSession struct{ drivers.Session }

func (referenceSession) Close() error { return nil }
