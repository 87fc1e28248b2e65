package modeltest

import (
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

// TestAnswers: the reference has all operations, whose random calls are the contract. checkAudit compares audits.
func TestAnswers(t *testing.T) {
	for _, op := range operations {
		if answers[op.name] == nil {
			t.Errorf("the reference has no answer to %s", op.name)
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
	suites[len(suites)-1].onShared(t, st).run(t)
}
