// Package faulty breaks a store on purpose. [Wrap] gives any [drivers.Store] one
// named fault of [Faults]. A contract suite that does not fail on the store has a
// hole. The faults are ones that real drivers had: a fetch size taken for a limit,
// a reversed scan with its bounds swapped, a batch sent as single writes, an
// increment sent twice.
//
// It is for tests only: nothing that measures imports it.
package faulty

import "github.com/mailbench/mailbench/schemas"

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
			rewrite: withoutFilter, session: func() hooks { return hooks{read: filterLate} },
		},
		{
			Name: "skips-row", Doc: "A read of several rows misses the second.",
			session: func() hooks { return hooks{read: skipRow} },
		},
		{
			Name: "ignores-list-order", Doc: "A multi-get yields its rows in the opposite order of its list.",
			session: func() hooks { return hooks{read: reverseList} },
		},
		{
			Name: "late-rows", Doc: "A row is yielded after the next was read into its buffer.",
			session: func() hooks { return hooks{read: readAhead} },
		},
		{
			Name: "swallows-errors", Doc: "An error of yield ends the read, and the read returns nil.",
			session: func() hooks { return hooks{read: swallowErrors} },
		},
		{
			Name: "empty-is-null", Doc: "Empty texts and blobs come back as null.",
			session: func() hooks { return hooks{read: eachValue(emptyIsNull)} },
		},
		{
			Name: "reverses-lists", Doc: "Lists come back newest element first.",
			session: func() hooks { return hooks{read: eachValue(reversed)} },
		},

		// Writes.
		{
			Name: "loses-write", Doc: "Every fifth write of a session is acknowledged and never made.",
			session: func() hooks { return hooks{times: unless(everyFifth())} },
		},
		{
			Name: "loses-second-family", Doc: "Writes to nested tables are acknowledged and never made.",
			session: func() hooks { return hooks{times: unless(toNested)} },
		},
		{
			Name: "loses-statics", Doc: "Writes of static columns are acknowledged and never made.",
			session: func() hooks { return hooks{times: unless(toStatics)} },
		},
		{
			Name: "drops-chunk", Doc: "Every second put of a blob is acknowledged and never made.",
			session: func() hooks { return hooks{times: unless(everySecondBlob())} },
		},
		{
			Name: "delete-wins-ties", Doc: "A put right after the delete of its row is lost, as when both get one timestamp.",
			session: func() hooks { return hooks{times: unless(afterDelete())} },
		},
		{
			Name: "truncates", Doc: "Texts and blobs over 64 KiB are cut there.",
			session: func() hooks { return hooks{argument: truncate} },
		},
		{
			Name: "cuts-at-nul", Doc: "Texts end at their first NUL, in keys as well.",
			session: func() hooks { return hooks{argument: cutAtNUL} },
		},
		{
			Name: "keeps-arguments", Doc: "A write is made at the session's next call, from arguments kept without a copy.",
			session: func() hooks { return hooks{holds: allButConditions} },
		},
		{
			Name: "replaces-rows", Doc: "A put of some columns wipes the others.",
			extra: rowDelete,
		},
		{
			Name: "put-merges", Doc: "A put of collections adds to the stored ones.",
			extra: asAppend, instead: true,
		},
		{
			Name: "deletes-children", Doc: "The delete of a row takes the rows of nested tables below it.",
			extra: childDeletes,
		},
		{Name: "prefix-too-short", Doc: "The delete of a key prefix ignores the last column of it.", rewrite: shortenPrefix},

		// Counters and conditions.
		{
			Name: "retries-adds", Doc: "Adds and appends are sent twice, as after a timeout.",
			session: func() hooks { return hooks{times: twice} },
		},
		{
			Name: "stale-counters", Doc: "An add is acknowledged before it is made, at the session's next write.",
			session: func() hooks { return hooks{holds: onlyAdds, copies: true} },
		},
		{
			Name: "returns-old", Doc: "Every second add that returns the new value returns that of the add before it.",
			session: func() hooks { return hooks{result: repeatNew()} },
		},
		{Name: "put-if-always", Doc: "A put-if is a put, and a delete has no condition.", rewrite: withoutCondition},
		{
			Name: "claims-applied", Doc: "A put-if that was not applied says that it was.",
			session: func() hooks { return hooks{result: claimApplied} },
		},

		// Batches.
		{
			Name: "halves-batches", Doc: "Only the first half of a batch is applied, and the batch is acknowledged.",
			session: func() hooks { return hooks{batches: firstHalf} },
		},
		{
			Name:    "tears-batches",
			Doc:     "The parts of an atomic batch are sent one by one. If one fails, those before it stay applied.",
			session: func() hooks { return hooks{batches: eachAlone} },
		},

		// Counts.
		{
			Name: "counts-parts", Doc: "Each part of a batch is counted as a request.",
			session: func() hooks { return hooks{cost: countParts} },
		},
		{
			Name: "counts-returned", Doc: "Rows that a filter drops are not counted as examined.",
			session: func() hooks { return hooks{cost: countReturned} },
		},

		// The store.
		{
			Name: "ignores-contexts", Doc: "Calls go on under a context that is done.",
			session: func() hooks { return hooks{endless: true} },
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
