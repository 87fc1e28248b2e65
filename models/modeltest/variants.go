package modeltest

import (
	"bytes"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
)

// RunVariants runs the rules whose calls a variant changes on the embedded engine and on engines
// with the limits of the others, for each bundled variant of the model. A variant that only has
// other hints for engines is the same as the model there, so RunVariants only binds it.
func (s Suite) RunVariants(t *testing.T) {
	s.eachVariant(t, func(t *testing.T, v Suite, same bool) {
		on := v.on(openEmbedded)
		if same {
			on.start(t, models.Options{})
			return
		}
		on.run(t, touched())
		for _, e := range limitedEngines() {
			t.Run("as "+e.name, func(t *testing.T) { v.on(e.open).run(t, touched()) })
		}
	})
}

// RunVariantsLive runs the rules whose calls a variant changes on each real engine. It skips an
// engine that stores a variant as it stores the model. It runs fewer rules on one that stores
// the same tables with other settings or indexes, and more of a variant with patterns of its own.
// Tests that call it have Live in their names.
func (s Suite) RunVariantsLive(t *testing.T) {
	for _, e := range remote() {
		t.Run(e.Name, func(t *testing.T) {
			contact := live.Contact(t, e.Name)
			t.Parallel()
			s.eachVariant(t, func(t *testing.T, v Suite, same bool) {
				st := drivertest.OpenLive(t, e, drivers.Options{Contact: []string{contact}, Namespace: newNamespace()})
				if bytes.Equal(stored(t, st, s.Model), stored(t, st, v.Model)) {
					t.Skip(e.Name + " keeps the variant as it keeps the model")
				}
				few := slices.DeleteFunc(touched(), func(r rule) bool {
					return r.name == "many" && (same || !adds(t, s.Model, v.Model))
				})
				v.onShared(t, st).run(t, few)
			})
		})
	}
}

// adds reports whether a variant has patterns that its model runs for it alone.
func adds(t *testing.T, base, variant models.Model) bool {
	b, err := base.Schema()
	if err != nil {
		t.Fatal(err)
	}
	v, err := variant.Schema()
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(b.Additions, func(name string) bool { return v.Pattern(name) != nil })
}

// stored returns the text of a model's tables as an engine stores them, and of its patterns.
func stored(t *testing.T, st drivers.Store, m models.Model) []byte {
	s, err := m.Schema()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := st.Stored(s)
	if err != nil {
		t.Fatal(err)
	}
	kept.Name, kept.Doc = "", ""
	return append(schemas.Format(kept), shape(t, m)...)
}

// touched are the rules about orders, indexes, flags and batches.
func touched() []rule {
	return slices.DeleteFunc(rules(), func(r rule) bool { return r.name != "many" && r.name != "random" })
}

// eachVariant runs a subtest for each variant. same says that the variant has the model's
// tables and patterns.
func (s Suite) eachVariant(t *testing.T, check func(t *testing.T, v Suite, same bool)) {
	s.complete(t)
	variants, err := s.Model.Variants()
	if err != nil {
		t.Fatal(err)
	}
	if len(variants) == 0 {
		t.Fatalf("%s has no variants", s.Model.Name)
	}
	base := shape(t, s.Model)
	for _, m := range variants {
		t.Run(m.Name, func(t *testing.T) {
			v := s
			v.Model, v.variant = m, true
			check(t, v, bytes.Equal(base, shape(t, m)))
		})
	}
}

// shape returns the text of a model's tables and patterns without hints.
func shape(t *testing.T, m models.Model) []byte {
	s, err := m.Schema()
	if err != nil {
		t.Fatal(err)
	}
	s.Name, s.Doc = "", ""
	for _, table := range s.Tables {
		table.Hints = nil
	}
	return schemas.Format(s)
}
