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
	seen            drivers.Cost // rows and bytes of the caller's calls
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
	own, caller := st.(*statement), next
	next = func(row []drivers.Value) error {
		s.seen.RowsRead++
		s.seen.BytesRead += sizeOf(row)
		return caller(row)
	}
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

func (s *session) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (drivers.Result, error) {
	r, err := s.write(ctx, st, args)
	if err == nil && r.Applied {
		s.wrote(args)
	}
	return r, err
}

func (s *session) write(ctx context.Context, st drivers.Statement, args []drivers.Value) (r drivers.Result, err error) {
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
	for _, c := range parts {
		s.wrote(c.Args)
	}
	return nil
}

func (s *session) wrote(args []drivers.Value) {
	s.seen.RowsWritten++
	s.seen.BytesWritten += sizeOf(args)
}

func sizeOf(values []drivers.Value) (n int64) {
	for _, v := range values {
		n += int64(v.Size())
	}
	return n
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

// Take implements drivers.Session. Rows and bytes are those of the caller's calls: they must not give a fault away.
func (s *session) Take() drivers.Cost {
	c := s.Session.Take()
	c.RowsRead, c.BytesRead = s.seen.RowsRead, s.seen.BytesRead+c.BlobBytesRead
	c.RowsWritten, c.BytesWritten = s.seen.RowsWritten, s.seen.BytesWritten+c.BlobBytesWritten
	s.seen = drivers.Cost{}
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
	if st.drop == 0 || len(args) != len(st.declared.Args()) {
		return args
	}
	return slices.Concat(args[:st.at], args[st.at+st.drop:])
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

// everySecondBlob loses every second put of a blob.
func everySecondBlob(s *session, p *schemas.Pattern, args []drivers.Value) bool {
	blob := func(v drivers.Value) bool { return v.Kind() == schemas.Blob && len(v.Raw()) > 0 }
	if p.Kind != schemas.Put || !slices.ContainsFunc(args[len(p.By):], blob) {
		return false
	}
	s.n++
	return s.n%2 == 0
}

// afterDelete loses a put whose session's last write was the delete of its row.
func afterDelete(s *session, p *schemas.Pattern, args []drivers.Value) bool {
	key := args[:len(p.By)]
	tied := p.Kind == schemas.Put && p.Table == s.deleted && slices.EqualFunc(s.last, key, drivers.Value.Equal)
	s.deleted = nil
	if p.Kind == schemas.Delete && p.Scope == schemas.ScopeRow {
		s.deleted, s.last = p.Table, clone(args)
	}
	return tied
}

func clone(args []drivers.Value) []drivers.Value { return drivers.ListOf(args).Clone().Elems() }

// repeatNew returns from every second add the row of the add before it.
func repeatNew(s *session, p *schemas.Pattern, r *drivers.Result) {
	if p.Kind != schemas.Add || !p.ReturnsNew {
		return
	}
	if s.n++; s.n%2 == 0 {
		r.Row = s.last
	} else {
		s.last = clone(r.Row)
	}
}
