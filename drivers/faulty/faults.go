// Package faulty breaks a store on purpose. [Wrap] gives any [drivers.Store] one
// named fault of [Faults]. A contract suite that does not fail on the store has a
// hole. The faults are ones that real drivers had: a fetch size taken for a limit,
// a reversed scan with its bounds swapped, a batch sent as single writes, an
// increment sent twice.
//
// It is for tests only: nothing that measures imports it.
package faulty

import (
	"bytes"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

type (
	pattern = schemas.Pattern
	values  = []drivers.Value
)

// Faults returns the faults that contract suites must find.
func Faults() []Fault { return slices.Concat(rewrites, reads, writes, calls, stores) }

// rewrites run another pattern than the declared one.
var rewrites = []Fault{
	{"ignores-limit", "Reads yield all rows, whatever their limit.", hooks{
		rewrite: func(p *pattern) { p.Limit, p.LimitArg = 0, false },
	}},
	{"reverses-desc", "Slices of a table or through an index with a DESC column run in the opposite direction.", hooks{
		rewrite: func(p *pattern) {
			desc := slices.ContainsFunc(p.Table.Key(), func(c *schemas.Column) bool { return c.Desc })
			if p.Index != nil {
				desc = slices.ContainsFunc(p.Index.Columns, func(c schemas.IndexColumn) bool { return c.Desc })
			}
			p.Reverse = p.Reverse != (desc && p.Kind == schemas.Slice)
		},
	}},
	{"repeats-after", "Pages begin with the row they should go on after.", hooks{
		rewrite: func(p *pattern) {
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
		},
	}},
	{"closes-open-bounds", "The rows at the open ends of a range belong to it.", hooks{
		rewrite: func(p *pattern) {
			for _, b := range []**schemas.Bound{&p.From, &p.To} {
				if *b != nil {
					*b = &schemas.Bound{Column: (*b).Column}
				}
			}
		},
	}},
	{"filters-late", "A limit counts the rows that a filter drops.", hooks{
		// The columns of the filter are among those that the read yields, and are compared only here.
		rewrite: func(p *pattern) { p.Columns, p.Filter = slices.Concat(p.Columns, p.Filter), nil },
		read: func(p *pattern, args values, with readFunc, next yield) error {
			if len(p.Filter) == 0 {
				return with(args, next)
			}
			want := args[p.ArgLayout().Filter:][:len(p.Filter)]
			return with(args, func(row values) error {
				n := len(p.Columns)
				for i := range want {
					if !row[n+i].Equal(want[i]) {
						return nil
					}
				}
				return next(row[:n])
			})
		},
	}},
	{"prefix-too-short", "The delete of a key prefix ignores the last column of it.", hooks{
		rewrite: func(p *pattern) {
			if p.Kind != schemas.Delete || p.Scope != schemas.ScopePrefix {
				return
			}
			last := len(p.By) - 1
			if p.By = p.By[:last]; last == len(p.Table.Partition) {
				p.Scope = schemas.ScopePartition
			}
		},
	}},
	{"put-if-always", "A put-if is a put, and a delete has no condition.", hooks{
		rewrite: func(p *pattern) {
			if p.Kind == schemas.PutIf {
				p.Kind, p.If, p.Absent = schemas.Put, nil, false
			}
			p.Present = false
		},
	}},
	{"replaces-rows", "A put of some columns wipes the others.", hooks{
		extra: func(p *pattern) []*pattern {
			if p.Kind != schemas.Put || p.Static || len(p.Columns) == len(p.Table.Columns) {
				return nil
			}
			return []*pattern{{Name: p.Name, Kind: schemas.Delete, Table: p.Table, By: p.Table.Key()}}
		},
	}},
	{"put-merges", "A put of collections adds to the stored ones.", hooks{
		instead: true,
		extra: func(p *pattern) []*pattern {
			plain := func(c *schemas.Column) bool { return !c.Type.Collection() }
			if p.Kind != schemas.Put || len(p.Columns) == 0 || slices.ContainsFunc(p.Columns, plain) {
				return nil
			}
			return []*pattern{{Name: p.Name, Kind: schemas.Append, Table: p.Table, By: p.By, Columns: p.Columns}}
		},
	}},
	{"deletes-children", "The delete of a row takes the rows of nested tables below it.", hooks{
		extra: func(p *pattern) (below []*pattern) {
			for _, t := range p.Table.Children {
				if p.Kind == schemas.Delete && p.Scope == schemas.ScopeRow && !t.Header() {
					below = append(below, &pattern{
						Name: p.Name, Kind: schemas.Delete, Table: t, By: p.By, Scope: schemas.ScopePrefix,
					})
				}
			}
			return below
		},
	}},
}

var reads = []Fault{
	{"skips-row", "A read of several rows misses the second.", hooks{
		read: func(_ *pattern, args values, with readFunc, next yield) error {
			n := 0
			return with(args, func(row values) error {
				if n++; n == 2 {
					return nil
				}
				return next(row)
			})
		},
	}},
	{"ignores-list-order", "A multi-get yields its rows in the opposite order of its list.", hooks{
		read: func(p *pattern, args values, with readFunc, next yield) error {
			if p.In != nil {
				args = slices.Clone(args)
				args[len(p.By)] = reversed(nil, args[len(p.By)])
			}
			return with(args, next)
		},
	}},
	{"late-rows", "A row is yielded after the next was read into its buffer.", hooks{
		read: func(_ *pattern, args values, with readFunc, next yield) error {
			var held values
			err := with(args, func(row values) error {
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
		},
	}},
	{"swallows-errors", "An error of yield ends the read, and the read returns nil.", hooks{
		read: func(_ *pattern, args values, with readFunc, next yield) error {
			var stopped error
			err := with(args, func(row values) error {
				stopped = next(row)
				return stopped
			})
			if stopped != nil {
				return nil
			}
			return err
		},
	}},
	{"empty-is-null", "Empty texts and blobs come back as null.", hooks{
		read: eachValue(func(c *schemas.Column, v drivers.Value) drivers.Value {
			if (v.Kind() == schemas.Text || v.Kind() == schemas.Blob) && len(v.Raw()) == 0 && c.Role == schemas.Plain {
				return drivers.Value{}
			}
			return v
		}),
	}},
	{"reverses-lists", "Lists come back newest element first.", hooks{read: eachValue(reversed)}},
}

// eachValue returns a read that changes the values of rows.
func eachValue(change func(*schemas.Column, drivers.Value) drivers.Value) readHook {
	return func(p *pattern, args values, with readFunc, next yield) error {
		return with(args, func(row values) error {
			changed := slices.Clone(row)
			for i, c := range p.Columns {
				changed[i] = change(c, row[i])
			}
			return next(changed)
		})
	}
}

func reversed(_ *schemas.Column, v drivers.Value) drivers.Value {
	if v.Kind() != schemas.List {
		return v
	}
	elems := slices.Clone(v.Elems())
	slices.Reverse(elems)
	return drivers.ListOf(elems)
}

var writes = []Fault{
	{"loses-write", "Every fifth write of a session is acknowledged and never made.", hooks{
		loses: func(s *session, _ *pattern, _ values) bool { s.n++; return s.n%5 == 0 },
	}},
	{"loses-second-family", "Writes to nested tables are acknowledged and never made.", hooks{
		loses: func(_ *session, p *pattern, _ values) bool { return p.Table.Parent != nil },
	}},
	{"loses-statics", "Writes of static columns are acknowledged and never made.", hooks{
		loses: func(_ *session, p *pattern, _ values) bool { return p.Static },
	}},
	{"drops-chunk", "Every second put of a blob is acknowledged and never made.", hooks{
		loses: func(s *session, p *pattern, args values) bool {
			blob := func(v drivers.Value) bool { return v.Kind() == schemas.Blob && len(v.Raw()) > 0 }
			if p.Kind != schemas.Put || !slices.ContainsFunc(args[len(p.By):], blob) {
				return false
			}
			s.n++
			return s.n%2 == 0
		},
	}},
	{"delete-wins-ties", "A put right after the delete of its row is lost, as when both get one timestamp.", hooks{
		loses: func(s *session, p *pattern, args values) bool {
			key := args[:len(p.By)]
			tied := p.Kind == schemas.Put && p.Table == s.deleted && slices.EqualFunc(s.last, key, drivers.Value.Equal)
			s.deleted = nil
			if p.Kind == schemas.Delete && p.Scope == schemas.ScopeRow {
				s.deleted, s.last = p.Table, clone(args)
			}
			return tied
		},
	}},
	{"truncates", "Texts and blobs over 64 KiB are cut there.", hooks{
		argument: func(v drivers.Value) drivers.Value {
			if b := v.Raw(); len(b) > 64<<10 {
				return drivers.Bytes(v.Kind(), b[:64<<10])
			}
			return v
		},
	}},
	{"cuts-at-nul", "Texts end at their first NUL, in keys as well.", hooks{
		argument: func(v drivers.Value) drivers.Value {
			if v.Kind() != schemas.Text {
				return v
			}
			before, _, _ := bytes.Cut(v.Raw(), []byte{0})
			return drivers.TextBytes(before)
		},
	}},
	{"keeps-arguments", "A write is made at the session's next call, from arguments kept without a copy.", hooks{
		holds: func(p *pattern) bool { return p.Kind != schemas.PutIf && !p.ReturnsNew },
	}},
	{"retries-adds", "Adds and appends are sent twice, as after a timeout.", hooks{
		doubles: func(p *pattern) bool {
			return (p.Kind == schemas.Add || p.Kind == schemas.Append) && !p.ReturnsNew
		},
	}},
	{"stale-counters", "An add is acknowledged before it is made, at the session's next write.", hooks{
		holds: func(p *pattern) bool { return p.Kind == schemas.Add && !p.ReturnsNew }, copies: true,
	}},
	{"returns-old", "Every second add that returns the new value returns that of the add before it.", hooks{
		result: func(s *session, p *pattern, r *drivers.Result) {
			if p.Kind != schemas.Add || !p.ReturnsNew {
				return
			}
			if s.n++; s.n%2 == 0 {
				r.Row = s.last
			} else {
				s.last = clone(r.Row)
			}
		},
	}},
	{"claims-applied", "A put-if that was not applied says that it was.", hooks{
		result: func(_ *session, _ *pattern, r *drivers.Result) { r.Applied = true },
	}},
}

// calls are batches, counts and contexts.
var calls = []Fault{
	{"halves-batches", "Only the first half of a batch is applied, and the batch is acknowledged.", hooks{
		batches: func(all []drivers.Call) [][]drivers.Call { return [][]drivers.Call{all[:(len(all)+1)/2]} },
	}},
	{"tears-batches", "The parts of an atomic batch are sent one by one. If one fails, those before it stay applied.", hooks{
		batches: func(all []drivers.Call) [][]drivers.Call { return slices.Collect(slices.Chunk(all, 1)) },
	}},
	{"counts-parts", "Each part of a batch is counted as a request.", hooks{
		cost: func(c *drivers.Cost, parts, _ int64) { c.Requests += parts },
	}},
	{"counts-returned", "Rows that a filter drops are not counted as examined.", hooks{
		cost: func(c *drivers.Cost, _, returned int64) { c.RowsScanned = returned },
	}},
	{"ignores-contexts", "Calls go on under a context that is done.", hooks{endless: true}},
}

var stores = []Fault{
	{"emulates-in-silence", "A fallback runs, and the engine says that it ran what was declared.", hooks{emulates: true}},
	{"applies-anything", "Apply accepts a schema that differs from the applied one.", hooks{applies: true}},
	{"inspects-no-order", "Inspect says that all columns of a key ascend.", hooks{inspect: func(t *schemas.Table) {
		for _, c := range t.Clustering {
			c.Desc = false
		}
	}}},
	{"inspects-too-little", "Inspect misses a column.", hooks{inspect: func(t *schemas.Table) {
		if n := len(t.Columns); n > 1 {
			t.Columns = t.Columns[:n-1]
		}
	}}},
	{"inspects-no-index", "Inspect returns no indexes.", hooks{inspect: func(t *schemas.Table) { t.Indexes = nil }}},
}
