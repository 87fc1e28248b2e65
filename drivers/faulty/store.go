package faulty

import (
	"context"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Fault is one way of breaking the contract of a store.
type Fault struct {
	Name string
	Doc  string // a sentence that says what the faulty store does
	hooks
}

// hooks are what a store breaks. Each that is set breaks one thing.
type hooks struct {
	// rewrite changes the copy of a declared pattern that is prepared instead. The copy may take fewer arguments, the
	// filter's, the limit or the last ones.
	rewrite func(p *schemas.Pattern)
	// extra returns patterns that are prepared together with the declared one. They run before each of its
	// writes, or with instead, the first of them in its place.
	extra   func(p *schemas.Pattern) []*schemas.Pattern
	instead bool
	// emulates: the engine keeps no indexes over plain columns; Prepare prepares the fallback
	// of a pattern through one, and does not say so.
	emulates bool
	// applies: Apply takes any schema over any other.
	applies bool
	// inspect changes the schema that Inspect returns.
	inspect func(s *schemas.Schema)

	endless  bool // calls go on under a context that is done
	argument func(v drivers.Value) drivers.Value
	// read makes a read by calling with.
	read func(p *schemas.Pattern, args []drivers.Value, with readFunc, next yield) error
	// loses and doubles say which writes are never made, and which twice. All are acknowledged.
	loses   func(s *session, p *schemas.Pattern, args []drivers.Value) bool
	doubles func(p *schemas.Pattern) bool
	// holds: a write is made at the session's next call, from arguments kept without a copy. With copies it is
	// made from a copy, at the next write.
	holds  func(p *schemas.Pattern) bool
	copies bool
	// result changes the result of a write.
	result func(s *session, p *schemas.Pattern, r *drivers.Result)
	// batches returns the batches that are sent for one.
	batches func(parts []drivers.Call) [][]drivers.Call
	// cost changes what the session counted: of so many parts of batches after the first, and rows returned.
	cost func(c *drivers.Cost, parts, returned int64)
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
	at, drop int                 // position and number of the arguments to leave out
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
		s.fault.rewrite(&changed)
		all, taken := p.Args(), changed.Args()
		st.drop = len(all) - len(taken)
		for st.at < len(taken) && all[st.at].Name == taken[st.at].Name {
			st.at++
		}
	}
	return st, &changed
}

// Session implements drivers.Store.
func (s *store) Session() (drivers.Session, error) {
	inner, err := s.Store.Session()
	if err != nil {
		return nil, err
	}
	return &session{Session: inner, hooks: s.fault.hooks}, nil
}

func ignoreLimit(p *schemas.Pattern) { p.Limit, p.LimitArg = 0, false }

func reverseDesc(p *schemas.Pattern) {
	next := len(p.By)
	if p.In != nil {
		next++
	}
	desc := false
	if key := p.Table.Key(); p.Index == nil && next < len(key) {
		desc = key[next].Desc
	} else if p.Index != nil && next < len(p.Index.Columns) {
		desc = p.Index.Columns[next].Desc
	}
	if p.Kind == schemas.Slice && desc {
		p.Reverse = !p.Reverse
	}
}

func repeatAfter(p *schemas.Pattern) {
	if len(p.After) != 1 || p.From != nil || p.To != nil || p.Index != nil {
		return
	}
	bound := &schemas.Bound{Column: p.After[0]}
	if p.After[0].Desc == p.Reverse {
		p.From = bound
	} else {
		p.To = bound
	}
	p.After = nil
}

func closeBounds(p *schemas.Pattern) {
	for _, b := range []**schemas.Bound{&p.From, &p.To} {
		if *b != nil {
			*b = &schemas.Bound{Column: (*b).Column}
		}
	}
}

// withoutFilter drops the filter and appends its columns to those that the read yields.
func withoutFilter(p *schemas.Pattern) { p.Columns, p.Filter = slices.Concat(p.Columns, p.Filter), nil }

func withoutCondition(p *schemas.Pattern) {
	if p.Kind == schemas.PutIf {
		p.Kind, p.If, p.Absent = schemas.Put, nil, false
	}
	p.Present = false
}

func shortenPrefix(p *schemas.Pattern) {
	if p.Kind != schemas.Delete || p.Scope != schemas.ScopePrefix {
		return
	}
	last := len(p.By) - 1
	if p.By = p.By[:last]; last == len(p.Table.Partition) {
		p.Scope = schemas.ScopePartition
	}
}

// rowDelete returns the delete of the row of a put of some columns.
func rowDelete(p *schemas.Pattern) []*schemas.Pattern {
	if p.Kind != schemas.Put || p.Static || len(p.Columns) == len(p.Table.Columns) {
		return nil
	}
	return []*schemas.Pattern{{Name: p.Name, Kind: schemas.Delete, Table: p.Table, By: p.Table.Key()}}
}

// asAppend returns the append of the collections that a put would replace.
func asAppend(p *schemas.Pattern) []*schemas.Pattern {
	plain := func(c *schemas.Column) bool { return !c.Type.Collection() }
	if p.Kind != schemas.Put || len(p.Columns) == 0 || slices.ContainsFunc(p.Columns, plain) {
		return nil
	}
	return []*schemas.Pattern{{Name: p.Name, Kind: schemas.Append, Table: p.Table, By: p.By, Columns: p.Columns}}
}

// childDeletes returns the deletes of the rows that are nested below a row.
func childDeletes(p *schemas.Pattern) []*schemas.Pattern {
	if p.Kind != schemas.Delete || p.Scope != schemas.ScopeRow {
		return nil
	}
	var below []*schemas.Pattern
	for _, t := range p.Table.Children {
		if !t.Header() {
			below = append(below, &schemas.Pattern{
				Name: p.Name, Kind: schemas.Delete, Table: t,
				By: p.By, Scope: schemas.ScopePrefix,
			})
		}
	}
	return below
}
