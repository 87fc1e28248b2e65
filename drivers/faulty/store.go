package faulty

import (
	"context"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Fault is one way of breaking the contract of a store. Each hook that is set
// breaks one thing.
type Fault struct {
	Name string
	Doc  string // a sentence that says what the faulty store does

	// rewrite changes the copy of a declared pattern that is prepared instead.
	// It returns the positions of the arguments that the copy does not take.
	rewrite func(p *schemas.Pattern) (drop []int)
	// extra returns patterns that are prepared together with the declared one. They run before each of its
	// writes, or with instead, the first of them in its place.
	extra   func(p *schemas.Pattern) []*schemas.Pattern
	instead bool
	// session returns what a session breaks.
	session func() hooks
	// emulates: the engine keeps no indexes over plain columns; Prepare prepares the fallback
	// of a pattern through one, and does not say so.
	emulates bool
	// applies: Apply takes any schema over any other.
	applies bool
	// inspect changes the schema that Inspect returns.
	inspect func(s *schemas.Schema)
}

// Wrap returns the store with the fault. The zero Fault breaks nothing.
func Wrap(s drivers.Store, f Fault) drivers.Store {
	return &store{Store: s, fault: f}
}

type store struct {
	drivers.Store
	fault Fault
}

// statement is a declared pattern with what was prepared instead.
type statement struct {
	drivers.Statement
	declared *schemas.Pattern
	drop     []int               // positions of arguments to leave out
	parts    []*statement        // parts of a batch, without a Statement of their own
	extra    []drivers.Statement // the prepared patterns of Fault.extra
}

// Pattern implements drivers.Statement. It hides the fault's changes.
func (st *statement) Pattern() *schemas.Pattern { return st.declared }

// Apply implements drivers.Store.
func (s *store) Apply(ctx context.Context, sch *schemas.Schema) error {
	err := s.Store.Apply(ctx, sch)
	if s.fault.applies {
		return nil
	}
	return err
}

// Capabilities implements drivers.Store.
func (s *store) Capabilities() drivers.Capabilities {
	c := s.Store.Capabilities()
	if s.fault.emulates {
		c.PlainIndexes, c.EqualIndexes = false, false
	}
	return c
}

// Inspect implements drivers.Store.
func (s *store) Inspect(ctx context.Context, name string) (*schemas.Schema, error) {
	sch, err := s.Store.Inspect(ctx, name)
	if err == nil && s.fault.inspect != nil {
		s.fault.inspect(sch)
	}
	return sch, err
}

// Prepare implements drivers.Store.
func (s *store) Prepare(ctx context.Context, p *schemas.Pattern) (drivers.Statement, error) {
	st, changed := s.change(p)
	var err error
	if s.fault.emulates && p.Index != nil && !p.Index.OverKeys() && p.Fallback != nil {
		changed = p.Fallback
	}
	st.Statement, err = s.Store.Prepare(ctx, changed)
	if err != nil || s.fault.extra == nil || p.Kind == schemas.Batch {
		return st, err
	}
	for _, b := range s.fault.extra(p) {
		inner, err := s.Store.Prepare(ctx, b)
		if err != nil {
			return nil, err
		}
		st.extra = append(st.extra, inner)
	}
	return st, nil
}

// change returns what the fault makes of a pattern. The declared one is not touched.
func (s *store) change(p *schemas.Pattern) (*statement, *schemas.Pattern) {
	st := &statement{declared: p}
	changed := *p
	if p.Kind == schemas.Batch {
		changed.Parts = make([]schemas.Part, len(p.Parts))
		for i, part := range p.Parts {
			member, pattern := s.change(part.Pattern)
			st.parts = append(st.parts, member)
			changed.Parts[i] = schemas.Part{Pattern: pattern, Each: part.Each}
		}
	} else if s.fault.rewrite != nil {
		st.drop = s.fault.rewrite(&changed)
	}
	return st, &changed
}

// Session implements drivers.Store.
func (s *store) Session() (drivers.Session, error) {
	inner, err := s.Store.Session()
	if err != nil {
		return nil, err
	}
	own := &session{Session: inner, instead: s.fault.instead}
	if s.fault.session != nil {
		own.hooks = s.fault.session()
	}
	return own, nil
}

// allAscend makes all clustering columns of a schema ascending.
func allAscend(s *schemas.Schema) {
	for _, t := range s.Tables {
		for _, c := range t.Clustering {
			c.Desc = false
		}
	}
}

// lastMissing leaves the last column out of each table that has several.
func lastMissing(s *schemas.Schema) {
	for _, t := range s.Tables {
		if n := len(t.Columns); n > 1 {
			t.Columns = t.Columns[:n-1]
		}
	}
}
