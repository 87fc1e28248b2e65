package modeltest

import (
	"crypto/rand"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/engines"
	"github.com/mailbench/mailbench/drivers/launch/live"
)

// RunLive runs, on each engine that is reached over the network, the rules that a real engine
// can break. Each engine has a namespace for it. Tests that call RunLive have Live in their
// names.
func (s Suite) RunLive(t *testing.T) {
	s.complete(t)
	s.Damages = findable(s.Damages)
	for _, e := range remote() {
		t.Run(e.Name, func(t *testing.T) {
			st := drivertest.OpenLive(t, e, drivers.Options{
				Contact:   []string{live.Contact(t, e.Name)},
				Namespace: newNamespace(),
			})
			shared := s.onShared(t, st)
			t.Run("bounded memory", func(t *testing.T) { testBoundedMemory(t, shared) })
			t.Parallel() // engines run at once from here on, since no heap is measured any more
			shared.run(t, rulesOn(onEngines))
			shared.runDamages(t)
		})
	}
}

// RunValuesLive is RunValues on each engine that is reached over the network.
func (s Suite) RunValuesLive(t *testing.T) {
	s.complete(t)
	for _, e := range remote() {
		t.Run(e.Name, func(t *testing.T) {
			st := drivertest.OpenLive(t, e, drivers.Options{
				Contact:   []string{live.Contact(t, e.Name)},
				Namespace: newNamespace(),
			})
			t.Parallel()
			s.onShared(t, st).run(t, rulesOn(onEngines))
		})
	}
}

// findable returns one damage for each distinct list of findings of a check against the
// schema. Engines differ in how they read rows, but audits are the same on all.
func findable(all []Damage) []Damage {
	var some []Damage
	for _, d := range all {
		same := func(o Damage) bool { return slices.Equal(o.Finds, d.Finds) }
		if len(d.Finds) > 0 && !slices.ContainsFunc(some, same) {
			some = append(some, d)
		}
	}
	return some
}

// remote returns the engines that are reached over the network.
func remote() []drivers.Engine {
	return slices.DeleteFunc(engines.All(), func(e drivers.Engine) bool { return !e.Remote })
}

func newNamespace() string { return "m" + strings.ToLower(rand.Text()[:15]) }
