// Package faulty breaks a store on purpose. [Wrap] gives any [drivers.Store] one
// named fault of [Faults]. A contract suite that does not fail on the store has a
// hole. The faults are ones that real drivers had: a fetch size taken for a limit,
// a reversed scan with its bounds swapped, a batch sent as single writes, an
// increment sent twice.
//
// It is for tests only: nothing that measures imports it.
package faulty

import (
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Faults returns the faults that contract suites must find.
func Faults() []Fault {
	type (
		pattern = schemas.Pattern
		values  = []drivers.Value
	)
	return []Fault{
		// Reads.
		{"ignores-limit", "Reads yield all rows, whatever their limit.", hooks{rewrite: ignoreLimit}},
		{"reverses-desc", "Slices over a DESC column of a key or an index run in the opposite direction.", hooks{
			rewrite: reverseDesc,
		}},
		{"repeats-after", "Pages begin with the row they should go on after.", hooks{rewrite: repeatAfter}},
		{"closes-open-bounds", "The rows at the open ends of a range belong to it.", hooks{rewrite: closeBounds}},
		{"filters-late", "A limit counts the rows that a filter drops.", hooks{rewrite: withoutFilter, read: filterLate}},
		{"skips-row", "A read of several rows misses the second.", hooks{read: skipRow}},
		{"ignores-list-order", "A multi-get yields its rows in the opposite order of its list.", hooks{read: reverseList}},
		{"late-rows", "A row is yielded after the next was read into its buffer.", hooks{read: readAhead}},
		{"swallows-errors", "An error of yield ends the read, and the read returns nil.", hooks{read: swallowErrors}},
		{"empty-is-null", "Empty texts and blobs come back as null.", hooks{read: eachValue(emptyIsNull)}},
		{"reverses-lists", "Lists come back newest element first.", hooks{read: eachValue(reversed)}},

		// Writes.
		{"loses-write", "Every fifth write of a session is acknowledged and never made.", hooks{
			loses: func(s *session, _ *pattern, _ values) bool { s.n++; return s.n%5 == 0 },
		}},
		{"loses-second-family", "Writes to nested tables are acknowledged and never made.", hooks{
			loses: func(_ *session, p *pattern, _ values) bool { return p.Table.Parent != nil },
		}},
		{"loses-statics", "Writes of static columns are acknowledged and never made.", hooks{
			loses: func(_ *session, p *pattern, _ values) bool { return p.Static },
		}},
		{"drops-chunk", "Every second put of a blob is acknowledged and never made.", hooks{loses: everySecondBlob}},
		{"delete-wins-ties", "A put right after the delete of its row is lost, as when both get one timestamp.", hooks{
			loses: afterDelete,
		}},
		{"truncates", "Texts and blobs over 64 KiB are cut there.", hooks{argument: truncate}},
		{"cuts-at-nul", "Texts end at their first NUL, in keys as well.", hooks{argument: cutAtNUL}},
		{"keeps-arguments", "A write is made at the session's next call, from arguments kept without a copy.", hooks{
			holds: func(p *pattern) bool { return p.Kind != schemas.PutIf && !p.ReturnsNew },
		}},
		{"replaces-rows", "A put of some columns wipes the others.", hooks{extra: rowDelete}},
		{"put-merges", "A put of collections adds to the stored ones.", hooks{extra: asAppend, instead: true}},
		{"deletes-children", "The delete of a row takes the rows of nested tables below it.", hooks{extra: childDeletes}},
		{"prefix-too-short", "The delete of a key prefix ignores the last column of it.", hooks{rewrite: shortenPrefix}},

		// Counters and conditions.
		{"retries-adds", "Adds and appends are sent twice, as after a timeout.", hooks{
			doubles: func(p *pattern) bool {
				return (p.Kind == schemas.Add || p.Kind == schemas.Append) && !p.ReturnsNew
			},
		}},
		{"stale-counters", "An add is acknowledged before it is made, at the session's next write.", hooks{
			holds: func(p *pattern) bool { return p.Kind == schemas.Add && !p.ReturnsNew }, copies: true,
		}},
		{"returns-old", "Every second add that returns the new value returns that of the add before it.", hooks{
			result: repeatNew,
		}},
		{"put-if-always", "A put-if is a put, and a delete has no condition.", hooks{rewrite: withoutCondition}},
		{"claims-applied", "A put-if that was not applied says that it was.", hooks{
			result: func(_ *session, _ *pattern, r *drivers.Result) { r.Applied = true },
		}},

		// Batches.
		{"halves-batches", "Only the first half of a batch is applied, and the batch is acknowledged.", hooks{
			batches: func(all []drivers.Call) [][]drivers.Call { return [][]drivers.Call{all[:(len(all)+1)/2]} },
		}},
		{"tears-batches", "The parts of an atomic batch are sent one by one. If one fails, those before it stay applied.", hooks{
			batches: func(all []drivers.Call) [][]drivers.Call { return slices.Collect(slices.Chunk(all, 1)) },
		}},

		// Counts.
		{"counts-parts", "Each part of a batch is counted as a request.", hooks{
			cost: func(c *drivers.Cost, parts, _ int64) { c.Calls += parts },
		}},
		{"counts-returned", "Rows that a filter drops are not counted as examined.", hooks{
			cost: func(c *drivers.Cost, _, returned int64) { c.RowsExamined = returned },
		}},

		// The store.
		{"ignores-contexts", "Calls go on under a context that is done.", hooks{endless: true}},
		{"emulates-in-silence", "A fallback runs, and the engine says that it ran what was declared.", hooks{emulates: true}},
		{"applies-anything", "Apply accepts a schema that differs from the applied one.", hooks{applies: true}},
		{"inspects-no-order", "Inspect says that all columns of a key ascend.", hooks{inspect: func(s *schemas.Schema) {
			for _, t := range s.Tables {
				for _, c := range t.Clustering {
					c.Desc = false
				}
			}
		}}},
		{"inspects-too-little", "Inspect misses a column.", hooks{inspect: func(s *schemas.Schema) {
			for _, t := range s.Tables {
				if n := len(t.Columns); n > 1 {
					t.Columns = t.Columns[:n-1]
				}
			}
		}}},
		{"inspects-no-index", "Inspect returns no indexes.", hooks{inspect: func(s *schemas.Schema) {
			for _, t := range s.Tables {
				t.Indexes = nil
			}
		}}},
	}
}
