package faulty

import (
	"bytes"
	"context"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

type (
	yield    = func(row []drivers.Value) error
	readFunc = func(args []drivers.Value, next yield) error
)

// hooks are what a session breaks. Those that are not set break nothing.
type hooks struct {
	endless  bool // calls go on under a context that is done
	argument func(v drivers.Value) drivers.Value
	// read makes a read by calling with.
	read func(p *schemas.Pattern, args []drivers.Value, with readFunc, next yield) error
	// times says how often a write is made that is acknowledged once.
	times func(p *schemas.Pattern, args []drivers.Value) int
	// holds: a write is made at the session's next call, from arguments kept without a copy. With copies it is
	// made from a copy, at the next write.
	holds  func(p *schemas.Pattern) bool
	copies bool
	// result changes the result of a write.
	result func(p *schemas.Pattern, r *drivers.Result)
	// batches returns the batches that are sent for one.
	batches func(parts []drivers.Call) [][]drivers.Call
	// cost changes what the session counted: of so many parts of batches after the first, and rows returned.
	cost func(c *drivers.Cost, parts, returned int64)
}

// session passes calls on to the store's own session, without the arguments that the
// rewritten patterns do not take.
type session struct {
	drivers.Session
	hooks
	instead         bool // Fault.instead
	held            *statement
	args            []drivers.Value // of held
	parts, returned int64           // since the last Take
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

func (s *session) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (r drivers.Result, err error) {
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
	times := 1
	if s.times != nil {
		times = s.times(p, args)
	}
	for range times {
		if r, err = s.Session.Write(ctx, own.Statement, own.taken(args)); err != nil {
			return r, err
		}
	}
	if s.result != nil {
		s.result(p, &r)
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
		part, times := own.parts[c.Part], 1
		if s.times != nil {
			times = s.times(part.declared, c.Args)
		}
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

func (s *session) Take() drivers.Cost {
	c := s.Session.Take()
	if s.cost != nil {
		s.cost(&c, s.parts, s.returned)
	}
	s.parts, s.returned = 0, 0
	return c
}

func (s *session) Close() error {
	if s.copies {
		if err := s.flush(); err != nil {
			return err
		}
	}
	return s.Session.Close()
}

// taken returns the arguments that the prepared pattern takes.
func (st *statement) taken(args []drivers.Value) []drivers.Value {
	if len(st.drop) == 0 || len(args) != len(st.declared.Args()) {
		return args
	}
	var kept []drivers.Value
	for i, a := range args {
		if !slices.Contains(st.drop, i) {
			kept = append(kept, a)
		}
	}
	return kept
}

// filterLate compares rows only once they have counted towards the limit.
func filterLate(p *schemas.Pattern, args []drivers.Value, with readFunc, next yield) error {
	if len(p.Filter) == 0 {
		return with(args, next)
	}
	want := args[p.ArgLayout().Filter:][:len(p.Filter)]
	return with(args, func(row []drivers.Value) error {
		n := len(p.Columns)
		for i := range want {
			if !row[n+i].Equal(want[i]) {
				return nil
			}
		}
		return next(row[:n])
	})
}

func skipRow(_ *schemas.Pattern, args []drivers.Value, with readFunc, next yield) error {
	n := 0
	return with(args, func(row []drivers.Value) error {
		if n++; n == 2 {
			return nil
		}
		return next(row)
	})
}

func reverseList(p *schemas.Pattern, args []drivers.Value, with readFunc, next yield) error {
	if p.In != nil {
		args = slices.Clone(args)
		args[len(p.By)] = reversed(nil, args[len(p.By)])
	}
	return with(args, next)
}

// readAhead reads one row ahead, into the same buffer.
func readAhead(_ *schemas.Pattern, args []drivers.Value, with readFunc, next yield) error {
	var held []drivers.Value
	err := with(args, func(row []drivers.Value) error {
		first := held == nil
		if held = append(held[:0], row...); first {
			return nil
		}
		return next(held)
	})
	if err == nil && held != nil {
		err = next(held)
	}
	return err
}

func swallowErrors(_ *schemas.Pattern, args []drivers.Value, with readFunc, next yield) error {
	var stopped error
	err := with(args, func(row []drivers.Value) error {
		stopped = next(row)
		return stopped
	})
	if stopped != nil {
		return nil
	}
	return err
}

// eachValue returns a read that changes the values of rows.
func eachValue(change func(c *schemas.Column, v drivers.Value) drivers.Value) func(
	*schemas.Pattern, []drivers.Value, readFunc, yield) error {
	return func(p *schemas.Pattern, args []drivers.Value, with readFunc, next yield) error {
		return with(args, func(row []drivers.Value) error {
			changed := slices.Clone(row)
			for i, c := range p.Columns {
				changed[i] = change(c, row[i])
			}
			return next(changed)
		})
	}
}

func emptyIsNull(c *schemas.Column, v drivers.Value) drivers.Value {
	if (v.Kind() == schemas.Text || v.Kind() == schemas.Blob) && len(v.Raw()) == 0 && c.Role == schemas.Plain {
		return drivers.Value{}
	}
	return v
}

func reversed(_ *schemas.Column, v drivers.Value) drivers.Value {
	if v.Kind() != schemas.List {
		return v
	}
	elems := slices.Clone(v.Elems())
	slices.Reverse(elems)
	return drivers.ListOf(elems)
}

func truncate(v drivers.Value) drivers.Value {
	const most = 64 << 10
	if b := v.Raw(); len(b) > most {
		return drivers.Bytes(v.Kind(), b[:most])
	}
	return v
}

func cutAtNUL(v drivers.Value) drivers.Value {
	if v.Kind() == schemas.Text {
		before, _, _ := bytes.Cut(v.Raw(), []byte{0})
		return drivers.TextBytes(before)
	}
	return v
}

// unless returns how often a write is made that loses decides about.
func unless(loses func(*schemas.Pattern, []drivers.Value) bool) func(*schemas.Pattern, []drivers.Value) int {
	return func(p *schemas.Pattern, args []drivers.Value) int {
		if loses(p, args) {
			return 0
		}
		return 1
	}
}

func everyFifth() func(*schemas.Pattern, []drivers.Value) bool {
	n := 0
	return func(*schemas.Pattern, []drivers.Value) bool {
		n++
		return n%5 == 0
	}
}

func toNested(p *schemas.Pattern, _ []drivers.Value) bool { return p.Table.Parent != nil }

func toStatics(p *schemas.Pattern, _ []drivers.Value) bool { return p.Static }

func everySecondBlob() func(*schemas.Pattern, []drivers.Value) bool {
	n := 0
	return func(p *schemas.Pattern, args []drivers.Value) bool {
		if p.Kind != schemas.Put {
			return false
		}
		for _, v := range args[len(p.By):] {
			if v.Kind() == schemas.Blob && len(v.Raw()) > 0 {
				n++
				return n%2 == 0
			}
		}
		return false
	}
}

// afterDelete loses a put whose session's last write was the delete of its row.
func afterDelete() func(*schemas.Pattern, []drivers.Value) bool {
	var table *schemas.Table
	var key []drivers.Value
	return func(p *schemas.Pattern, args []drivers.Value) bool {
		tied := p.Kind == schemas.Put && p.Table == table && slices.EqualFunc(key, args[:len(p.By)], drivers.Value.Equal)
		table = nil
		if p.Kind == schemas.Delete && p.Scope == schemas.ScopeRow {
			table, key = p.Table, clone(args)
		}
		return tied
	}
}

func clone(args []drivers.Value) []drivers.Value { return drivers.ListOf(args).Clone().Elems() }

// twice sends adds and appends twice.
func twice(p *schemas.Pattern, _ []drivers.Value) int {
	if (p.Kind == schemas.Add || p.Kind == schemas.Append) && !p.ReturnsNew {
		return 2
	}
	return 1
}

func allButConditions(p *schemas.Pattern) bool { return p.Kind != schemas.PutIf && !p.ReturnsNew }

func onlyAdds(p *schemas.Pattern) bool { return p.Kind == schemas.Add && !p.ReturnsNew }

// repeatNew returns from every second add the row of the add before it.
func repeatNew() func(*schemas.Pattern, *drivers.Result) {
	n := 0
	var last []drivers.Value
	return func(p *schemas.Pattern, r *drivers.Result) {
		if p.Kind != schemas.Add || !p.ReturnsNew {
			return
		}
		if n++; n%2 == 0 {
			r.Row = last
		} else {
			last = clone(r.Row)
		}
	}
}

func claimApplied(_ *schemas.Pattern, r *drivers.Result) { r.Applied = true }

func firstHalf(parts []drivers.Call) [][]drivers.Call {
	return [][]drivers.Call{parts[:(len(parts)+1)/2]}
}

func eachAlone(parts []drivers.Call) [][]drivers.Call {
	return slices.Collect(slices.Chunk(parts, 1))
}

func countParts(c *drivers.Cost, parts, _ int64) { c.Calls += parts }

func countReturned(c *drivers.Cost, _, returned int64) { c.RowsExamined = returned }
