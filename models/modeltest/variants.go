package modeltest

import (
	"bytes"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
)

// RunVariants runs random sequences on the embedded engine and on engines with the limits of the
// others, for each bundled variant of the model. A variant that only has other hints for engines is
// the same as the model there, so RunVariants only binds it.
func (s Suite) RunVariants(t *testing.T) {
	s.eachVariant(t, func(t *testing.T, v Suite, same bool) {
		if same {
			v.on(openEmbedded).start(t, models.Options{})
			return
		}
		v.everywhere(t, func(t *testing.T, on *suite) { on.run(t, rules()[:1]) })
	})
}

// RunVariantsLive runs random sequences of each variant on each real engine. It skips an
// engine that stores a variant as it stores the model. Tests that call it have Live in their names.
func (s Suite) RunVariantsLive(t *testing.T) {
	s.remotely(t, func(t *testing.T, open func(testing.TB) drivers.Store) {
		t.Parallel()
		s.eachVariant(t, func(t *testing.T, v Suite, _ bool) {
			st := open(t)
			if bytes.Equal(stored(t, st, s.Model), stored(t, st, v.Model)) {
				t.Skip(st.Capabilities().Engine + " keeps the variant as it keeps the model")
			}
			v.onShared(t, st).run(t, rules()[:1])
		})
	})
}

// stored returns the text of a model's tables as an engine stores them, and of its patterns.
func stored(t *testing.T, st drivers.Store, m models.Model) []byte {
	s, err := m.Schema()
	must(t, err)
	kept, err := st.Stored(s)
	must(t, err)
	kept.Name, kept.Doc = "", ""
	return append(schemas.Format(kept), shape(t, m)...)
}

// eachVariant runs a subtest for each variant. same says that the variant has the model's
// tables and patterns.
func (s Suite) eachVariant(t *testing.T, check func(t *testing.T, v Suite, same bool)) {
	s.complete(t)
	variants, err := s.Model.Variants()
	must(t, err)
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
	must(t, err)
	s.Name, s.Doc = "", ""
	for _, table := range s.Tables {
		table.Hints = nil
	}
	return schemas.Format(s)
}
