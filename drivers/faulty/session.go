package faulty

import (
	"context"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

type (
	yield    = func(row []drivers.Value) error
	readFunc = func(args []drivers.Value, next yield) error
	readHook = func(p *schemas.Pattern, args []drivers.Value, with readFunc, next yield) error
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
	// inspect changes the tables that Inspect returns.
	inspect func(t *schemas.Table)

	endless  bool // calls go on under a context that is done
	argument func(v drivers.Value) drivers.Value
	// read makes a read by calling with.
	read readHook
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
	if err != nil || s.fault.inspect == nil {
		return sch, err
	}
	for _, t := range sch.Tables {
		s.fault.inspect(t)
	}
	return sch, nil
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

// session passes calls on to the store's own session, without the arguments that the
// rewritten patterns do not take.
type session struct {
	drivers.Session
	hooks
	held            *statement
	args            []drivers.Value // of held
	parts, returned int64           // since the last Take
	n               int             // writes of the kind that loses or result is about
	last            []drivers.Value // key of the row that the last write deleted, or row of the last add
	deleted         *schemas.Table
}

// begin returns the context and the arguments of a call.
func (s *session) begin(ctx context.Context, args []drivers.Value) (context.Context, []drivers.Value) {
	if s.endless {
		ctx = context.WithoutCancel(ctx)
	}
	if s.argument != nil {
		args = slices.Clone(args)
		for i, v := range args {
			args[i] = s.argument(v)
		}
	}
	return ctx, args
}

// flush makes the write that is held back.
func (s *session) flush() error {
	st := s.held
	if st == nil {
		return nil
	}
	s.held = nil
	_, err := s.Session.Write(context.Background(), st.Statement, s.args)
	return err
}

func (s *session) Read(ctx context.Context, st drivers.Statement, args []drivers.Value, next yield) error {
	if !s.copies {
		if err := s.flush(); err != nil {
			return err
		}
	}
	ctx, args = s.begin(ctx, args)
	own := st.(*statement)
	with := func(args []drivers.Value, next yield) error {
		return s.Session.Read(ctx, own.Statement, own.taken(args), func(row []drivers.Value) error {
			s.returned++
			return next(row)
		})
	}
	if s.read != nil {
		return s.read(own.declared, args, with, next)
	}
	return with(args, next)
}

func (s *session) Write(
	ctx context.Context, st drivers.Statement, args []drivers.Value,
) (r drivers.Result, err error) {
	if err := s.flush(); err != nil {
		return drivers.Result{}, err
	}
	ctx, args = s.begin(ctx, args)
	own := st.(*statement)
	p, extra := own.declared, own.extra
	if s.instead && len(extra) > 0 && !slices.ContainsFunc(args, drivers.Value.IsNull) { // an append takes no null
		return s.Session.Write(ctx, extra[0], args)
	}
	for i := 0; !s.instead && i < len(extra); i++ {
		if _, err := s.Session.Write(ctx, extra[i], args[:len(p.By)]); err != nil {
			return drivers.Result{}, err
		}
	}
	r = drivers.Result{Applied: true}
	if s.holds != nil && s.holds(p) {
		if s.held, s.args = own, args; s.copies {
			s.args = clone(args)
		}
		return r, nil
	}
	for range s.times(p, args) {
		if r, err = s.Session.Write(ctx, own.Statement, own.taken(args)); err != nil {
			return r, err
		}
	}
	if s.result != nil {
		s.result(s, p, &r)
	}
	return r, nil
}

func (s *session) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	if err := s.flush(); err != nil {
		return err
	}
	own := st.(*statement)
	var calls []drivers.Call
	for _, c := range parts {
		part := own.parts[c.Part]
		times := s.times(part.declared, c.Args)
		var args []drivers.Value
		ctx, args = s.begin(ctx, c.Args)
		for range times {
			calls = append(calls, drivers.Call{Part: c.Part, Args: part.taken(args)})
		}
	}
	all := [][]drivers.Call{calls}
	if s.batches != nil {
		all = s.batches(calls)
	}
	s.parts += int64(max(len(parts)-1, 0))
	for _, calls := range all {
		if err := s.Session.Batch(ctx, own.Statement, calls); err != nil {
			return err
		}
	}
	return nil
}

// times returns how often a write is made that is acknowledged once.
func (s *session) times(p *schemas.Pattern, args []drivers.Value) int {
	switch {
	case s.loses != nil && s.loses(s, p, args):
		return 0
	case s.doubles != nil && s.doubles(p):
		return 2
	}
	return 1
}

// Take implements drivers.Session.
func (s *session) Take() drivers.Cost {
	c := s.Session.Take()
	if s.cost != nil {
		s.cost(&c, s.parts, s.returned)
	}
	s.parts, s.returned = 0, 0
	return c
}

// taken returns the arguments that the prepared pattern takes.
func (st *statement) taken(args []drivers.Value) []drivers.Value {
	if st.drop == 0 || len(args) != len(st.declared.Args()) {
		return args
	}
	return slices.Concat(args[:st.at], args[st.at+st.drop:])
}

func clone(args []drivers.Value) []drivers.Value { return drivers.ListOf(args).Clone().Elems() }
