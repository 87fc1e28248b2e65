package modeltest

import (
	"testing"

	"github.com/mailbench/mailbench/schemas"
)

// Patterns checks that a model asks for every pattern that its schema declares, and for no
// other. Asking for a pattern covers its parts and its fallback.
func Patterns(t testing.TB, s *schemas.Schema, asked []string) {
	t.Helper()
	reached := map[string]bool{}
	var reach func(p *schemas.Pattern)
	reach = func(p *schemas.Pattern) {
		reached[p.Name] = true
		for _, part := range p.Parts {
			reach(part.Pattern)
		}
		if p.Fallback != nil {
			reach(p.Fallback)
		}
	}
	for _, name := range asked {
		p := s.Pattern(name)
		if p == nil {
			t.Errorf("the model asks for pattern %s, which schema %s does not declare", name, s.Name)
			continue
		}
		reach(p)
	}
	for _, p := range s.Patterns {
		if !reached[p.Name] {
			t.Errorf("%s:%d: pattern %s is run by nothing", s.File, p.Pos.Line, p.Name)
		}
	}
}
