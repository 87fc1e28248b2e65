// Package faulty breaks a store on purpose. [Wrap] gives any [drivers.Store] one
// named fault of [Faults]. A contract suite that does not fail on the store has a
// hole. The faults are ones that real drivers had: a fetch size taken for a limit,
// a reversed scan with its bounds swapped, a batch sent as single writes, an
// increment sent twice.
//
// It is for tests only: nothing that measures imports it.
package faulty

import (
	"context"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Faults returns the faults that contract suites must find.
func Faults() []Fault {
	return []Fault{
		// Reads.
		{Name: "ignores-limit", Doc: "Reads yield all rows, whatever their limit.", rewrite: ignoreLimit},
		{
			Name: "reverses-desc", Doc: "Slices over a DESC column of a key or an index run in the opposite direction.",
			rewrite: reverseDesc,
		},
		{Name: "repeats-after", Doc: "Pages begin with the row they should go on after.", rewrite: repeatAfter},
		{Name: "closes-open-bounds", Doc: "The rows at the open ends of a range belong to it.", rewrite: closeBounds},
		{
			Name: "filters-late", Doc: "A limit counts the rows that a filter drops.",
			rewrite: withoutFilter, session: func(s *session) drivers.Session { return &filtersLate{session: s} },
		},
		{
			Name: "skips-row", Doc: "A read of several rows misses the second.",
			session: func(s *session) drivers.Session { return &skipsRow{s} },
		},
		{
			Name: "ignores-list-order", Doc: "A multi-get yields its rows in the opposite order of its list.",
			session: func(s *session) drivers.Session { return &ignoresListOrder{s} },
		},
		{
			Name: "late-rows", Doc: "A row is yielded after the next was read into its buffer.",
			session: func(s *session) drivers.Session { return &lateRows{s} },
		},
		{
			Name: "swallows-errors", Doc: "An error of yield ends the read, and the read returns nil.",
			session: func(s *session) drivers.Session { return &swallowsErrors{s} },
		},
		{
			Name: "empty-is-null", Doc: "Empty texts and blobs come back as null.",
			session: func(s *session) drivers.Session { return &rewritesValues{s, emptyIsNull} },
		},
		{
			Name: "reverses-lists", Doc: "Lists come back newest element first.",
			session: func(s *session) drivers.Session { return &rewritesValues{s, reverseList} },
		},

		// Writes.
		{
			Name: "loses-write", Doc: "Every fifth write of a session is acknowledged and never made.",
			session: func(s *session) drivers.Session { return &losesWrites{session: s, loses: everyFifth()} },
		},
		{
			Name: "loses-second-family", Doc: "Writes to nested tables are acknowledged and never made.",
			session: func(s *session) drivers.Session { return &losesWrites{session: s, loses: toNested} },
		},
		{
			Name: "loses-statics", Doc: "Writes of static columns are acknowledged and never made.",
			session: func(s *session) drivers.Session { return &losesWrites{session: s, loses: toStatics} },
		},
		{
			Name: "drops-chunk", Doc: "Every second put of a blob is acknowledged and never made.",
			session: func(s *session) drivers.Session { return &losesWrites{session: s, loses: everySecondBlob()} },
		},
		{
			Name: "delete-wins-ties", Doc: "A put right after the delete of its row is lost, as when both get one timestamp.",
			session: func(s *session) drivers.Session { return &losesWrites{session: s, loses: afterDelete()} },
		},
		{
			Name: "truncates", Doc: "Texts and blobs over 64 KiB are cut there.",
			session: func(s *session) drivers.Session { return &rewritesArgs{s, truncate} },
		},
		{
			Name: "cuts-at-nul", Doc: "Texts end at their first NUL, in keys as well.",
			session: func(s *session) drivers.Session { return &rewritesArgs{s, cutAtNUL} },
		},
		{
			Name: "keeps-arguments", Doc: "A write is made at the session's next call, from arguments kept without a copy.",
			session: func(s *session) drivers.Session { return &keepsArguments{session: s} },
		},
		{
			Name: "replaces-rows", Doc: "A put of some columns wipes the others.",
			beside: rowDelete, session: func(s *session) drivers.Session { return &runsBeside{s} },
		},
		{
			Name: "put-merges", Doc: "A put of collections adds to the stored ones.",
			beside: asAppend, session: func(s *session) drivers.Session { return &runsInstead{s} },
		},
		{
			Name: "deletes-children", Doc: "The delete of a row takes the rows of nested tables below it.",
			beside: childDeletes, session: func(s *session) drivers.Session { return &runsBeside{s} },
		},
		{Name: "prefix-too-short", Doc: "The delete of a key prefix ignores the last column of it.", rewrite: shortenPrefix},

		// Counters and conditions.
		{
			Name: "retries-adds", Doc: "Adds and appends are sent twice, as after a timeout.",
			session: func(s *session) drivers.Session { return &retriesAdds{s} },
		},
		{
			Name: "stale-counters", Doc: "An add is acknowledged before it is made, at the session's next write.",
			session: func(s *session) drivers.Session { return &delaysAdds{session: s} },
		},
		{
			Name: "returns-old", Doc: "Every second add that returns the new value returns that of the add before it.",
			session: func(s *session) drivers.Session { return &repeatsNew{session: s} },
		},
		{Name: "put-if-always", Doc: "A put-if is a put, and a delete has no condition.", rewrite: withoutCondition},
		{
			Name: "claims-applied", Doc: "A put-if that was not applied says that it was.",
			session: func(s *session) drivers.Session { return &claimsApplied{s} },
		},

		// Batches.
		{
			Name: "halves-batches", Doc: "Only the first half of a batch is applied, and the batch is acknowledged.",
			session: func(s *session) drivers.Session { return &halvesBatches{s} },
		},
		{
			Name:    "tears-batches",
			Doc:     "The parts of an atomic batch are sent one by one. If one fails, those before it stay applied.",
			session: func(s *session) drivers.Session { return &tearsBatches{s} },
		},

		// Counts.
		{
			Name: "counts-parts", Doc: "Each part of a batch is counted as a request.",
			session: func(s *session) drivers.Session { return &countsParts{session: s} },
		},
		{
			Name: "counts-returned", Doc: "Rows that a filter drops are not counted as examined.",
			session: func(s *session) drivers.Session { return &countsReturned{session: s} },
		},

		// The store.
		{
			Name: "ignores-contexts", Doc: "Calls go on under a context that is done.",
			session: func(s *session) drivers.Session { return &ignoresContexts{s} },
		},
		{
			Name: "emulates-in-silence", Doc: "A fallback runs, and the engine says that it ran what was declared.",
			emulates: true,
		},
		{Name: "applies-anything", Doc: "Apply accepts a schema that differs from the applied one.", applies: true},
		{Name: "inspects-no-order", Doc: "Inspect says that all columns of a key ascend.", inspect: allAscend},
		{Name: "inspects-too-little", Doc: "Inspect misses a column.", inspect: lastMissing},
		{Name: "inspects-no-index", Doc: "Inspect returns no indexes.", inspect: func(s *schemas.Schema) {
			for _, t := range s.Tables {
				t.Indexes = nil
			}
		}},
	}
}

// countsParts counts each part of a batch as a request.
type countsParts struct {
	*session
	more int64
}

func (s *countsParts) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	s.more += int64(max(len(parts)-1, 0))
	return s.session.Batch(ctx, st, parts)
}

func (s *countsParts) Take() drivers.Cost {
	c := s.session.Take()
	c.Calls += s.more
	s.more = 0
	return c
}

// countsReturned says that the rows that a read returns are those that the engine examined.
type countsReturned struct {
	*session
	returned int64
}

func (s *countsReturned) Read(ctx context.Context, st drivers.Statement, args []drivers.Value, next yield) error {
	return s.session.Read(ctx, st, args, func(row []drivers.Value) error {
		s.returned++
		return next(row)
	})
}

func (s *countsReturned) Take() drivers.Cost {
	c := s.session.Take()
	c.RowsExamined, s.returned = s.returned, 0
	return c
}
