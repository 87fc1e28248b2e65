package faulty

import (
	"context"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// made is the acknowledgement of a write.
var made = drivers.Result{Applied: true}

// losesWrites acknowledges the writes that it never makes.
type losesWrites struct {
	*session
	loses func(p *schemas.Pattern, args []drivers.Value) bool
}

func (s *losesWrites) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (drivers.Result, error) {
	if s.loses(st.Pattern(), args) {
		return made, nil
	}
	return s.session.Write(ctx, st, args)
}

func (s *losesWrites) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	var kept []drivers.Call
	for _, c := range parts {
		if !s.loses(st.Pattern().Parts[c.Part].Pattern, c.Args) {
			kept = append(kept, c)
		}
	}
	return s.session.Batch(ctx, st, kept)
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

func clone(args []drivers.Value) []drivers.Value {
	own := make([]drivers.Value, len(args))
	for i, v := range args {
		own[i] = v.Clone()
	}
	return own
}

// keepsArguments makes a write at the session's next call.
type keepsArguments struct {
	*session
	st   drivers.Statement
	args []drivers.Value
}

func (s *keepsArguments) flush() error {
	st := s.st
	if st == nil {
		return nil
	}
	s.st = nil
	_, err := s.session.Write(context.Background(), st, s.args)
	return err
}

func (s *keepsArguments) Read(ctx context.Context, st drivers.Statement, args []drivers.Value, next yield) error {
	if err := s.flush(); err != nil {
		return err
	}
	return s.session.Read(ctx, st, args, next)
}

func (s *keepsArguments) Write(ctx context.Context, st drivers.Statement,
	args []drivers.Value,
) (drivers.Result, error) {
	if err := s.flush(); err != nil {
		return drivers.Result{}, err
	}
	if p := st.Pattern(); p.Kind == schemas.PutIf || p.ReturnsNew {
		return s.session.Write(ctx, st, args)
	}
	s.st, s.args = st, args
	return made, nil
}

func (s *keepsArguments) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	if err := s.flush(); err != nil {
		return err
	}
	return s.session.Batch(ctx, st, parts)
}

// runsBeside runs the statements of Fault.beside before each write.
type runsBeside struct{ *session }

func (s *runsBeside) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (drivers.Result, error) {
	own := st.(*statement)
	for _, b := range own.beside {
		if _, err := s.Session.Write(ctx, b, args[:len(own.declared.By)]); err != nil {
			return drivers.Result{}, err
		}
	}
	return s.session.Write(ctx, st, args)
}

// runsInstead runs the first statement of Fault.beside in place of a put without nulls:
// an append takes no null.
type runsInstead struct{ *session }

func (s *runsInstead) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (drivers.Result, error) {
	if own := st.(*statement); len(own.beside) > 0 && !slices.ContainsFunc(args, drivers.Value.IsNull) {
		return s.Session.Write(ctx, own.beside[0], args)
	}
	return s.session.Write(ctx, st, args)
}

// retriesAdds sends adds and appends twice.
type retriesAdds struct{ *session }

func again(p *schemas.Pattern) bool {
	return (p.Kind == schemas.Add || p.Kind == schemas.Append) && !p.ReturnsNew
}

func (s *retriesAdds) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (drivers.Result, error) {
	if again(st.Pattern()) {
		if r, err := s.session.Write(ctx, st, args); err != nil {
			return r, err
		}
	}
	return s.session.Write(ctx, st, args)
}

func (s *retriesAdds) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	var calls []drivers.Call
	for _, c := range parts {
		calls = append(calls, c)
		if again(st.Pattern().Parts[c.Part].Pattern) {
			calls = append(calls, c)
		}
	}
	return s.session.Batch(ctx, st, calls)
}

// delaysAdds holds one add back until the session writes again.
type delaysAdds struct {
	*session
	st   drivers.Statement
	args []drivers.Value
}

func (s *delaysAdds) flush(ctx context.Context) error {
	st := s.st
	if st == nil {
		return nil
	}
	s.st = nil
	_, err := s.session.Write(ctx, st, s.args)
	return err
}

func (s *delaysAdds) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (drivers.Result, error) {
	if err := s.flush(ctx); err != nil {
		return drivers.Result{}, err
	}
	if p := st.Pattern(); p.Kind == schemas.Add && !p.ReturnsNew {
		s.st, s.args = st, clone(args)
		return made, nil
	}
	return s.session.Write(ctx, st, args)
}

func (s *delaysAdds) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	return s.session.Batch(ctx, st, parts)
}

func (s *delaysAdds) Close() error {
	if err := s.flush(context.Background()); err != nil {
		return err
	}
	return s.session.Close()
}

// repeatsNew returns from every second add the row of the add before it.
type repeatsNew struct {
	*session
	n    int
	last []drivers.Value
}

func (s *repeatsNew) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (drivers.Result, error) {
	r, err := s.session.Write(ctx, st, args)
	if p := st.Pattern(); err != nil || p.Kind != schemas.Add || !p.ReturnsNew {
		return r, err
	}
	if s.n++; s.n%2 == 0 {
		r.Row = s.last
	} else {
		s.last = clone(r.Row)
	}
	return r, nil
}

type claimsApplied struct{ *session }

func (s *claimsApplied) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (drivers.Result, error) {
	r, err := s.session.Write(ctx, st, args)
	r.Applied = err == nil
	return r, err
}

type halvesBatches struct{ *session }

func (s *halvesBatches) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	return s.session.Batch(ctx, st, parts[:(len(parts)+1)/2])
}

type tearsBatches struct{ *session }

func (s *tearsBatches) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	for i := range parts {
		if err := s.session.Batch(ctx, st, parts[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// span lists n positions from at on.
func span(at, n int) []int {
	drop := make([]int, n)
	for i := range drop {
		drop[i] = at + i
	}
	return drop
}

func ignoreLimit(p *schemas.Pattern) []int {
	l := p.ArgLayout()
	arg := p.LimitArg
	p.Limit, p.LimitArg = 0, false
	if arg {
		return span(l.Limit, 1)
	}
	return nil
}

func reverseDesc(p *schemas.Pattern) []int {
	if p.Kind != schemas.Slice {
		return nil
	}
	var desc []bool
	if p.Index != nil {
		for _, c := range p.Index.Columns {
			desc = append(desc, c.Desc)
		}
	} else {
		for _, c := range p.Table.Key() {
			desc = append(desc, c.Desc)
		}
	}
	next := len(p.By)
	if p.In != nil {
		next++
	}
	if next < len(desc) && desc[next] {
		p.Reverse = !p.Reverse
	}
	return nil
}

func repeatAfter(p *schemas.Pattern) []int {
	if len(p.After) != 1 || p.From != nil || p.To != nil || p.Index != nil {
		return nil
	}
	bound := &schemas.Bound{Column: p.After[0]}
	if p.After[0].Desc == p.Reverse {
		p.From = bound
	} else {
		p.To = bound
	}
	p.After = nil
	return nil
}

func closeBounds(p *schemas.Pattern) []int {
	for _, b := range []**schemas.Bound{&p.From, &p.To} {
		if *b != nil {
			*b = &schemas.Bound{Column: (*b).Column}
		}
	}
	return nil
}

// withoutFilter drops the filter and appends its columns to those that the read yields.
func withoutFilter(p *schemas.Pattern) []int {
	if len(p.Filter) == 0 {
		return nil
	}
	drop := span(p.ArgLayout().Filter, len(p.Filter))
	p.Columns = slices.Concat(p.Columns, p.Filter)
	p.Filter = nil
	return drop
}

func withoutCondition(p *schemas.Pattern) []int {
	if p.Kind == schemas.Delete {
		p.Present = false
	}
	if p.Kind != schemas.PutIf {
		return nil
	}
	drop := span(p.ArgLayout().If, len(p.If))
	p.Kind, p.If, p.Absent, p.Present = schemas.Put, nil, false, false
	return drop
}

func shortenPrefix(p *schemas.Pattern) []int {
	if p.Kind != schemas.Delete || p.Scope != schemas.ScopePrefix {
		return nil
	}
	last := len(p.By) - 1
	p.By = p.By[:last]
	p.Scope = wider(p)
	return span(last, 1)
}

// wider returns the scope of a delete whose By has lost its last column.
func wider(p *schemas.Pattern) schemas.Scope {
	if len(p.By) == len(p.Table.Partition) {
		return schemas.ScopePartition
	}
	return schemas.ScopePrefix
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
	if p.Kind != schemas.Put || len(p.Columns) == 0 {
		return nil
	}
	for _, c := range p.Columns {
		if !c.Type.Collection() {
			return nil
		}
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
