package hbase

import (
	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
)

// writing changes rows for one worker. It keeps its buffers from call to call.
type writing struct {
	*slots
	find  *reading // for what must be found before it is deleted
	edits []edit   // the edits of the current call
	steps []step   // the steps of the current batch

	key    []byte          // row key
	row    []drivers.Value // the row of a result
	hashes []uint64        // hashes of the HBase rows that steps change
	groups [][]step        // the steps of the current wave, as they are sent
	multis []*multi
}

// edit returns w.edits[i], emptied for a row of the table.
func (w *writing) edit(i int, t *table) *edit {
	for len(w.edits) <= i {
		w.edits = append(w.edits, edit{})
	}
	e := &w.edits[i]
	e.reset(t)
	return e
}

// step is one request of a batch that is not atomic. Consecutive parts that write the same
// HBase row share a step if they can share an edit.
type step struct {
	edit       int    // index in the edits
	kinds      uint64 // the members of the batch's parts that it runs, a bit each
	conditions []*pb.Condition
	class      class
	bytes      int

	search *statement // a part that must find what it deletes; nil if the step has an edit
	args   []drivers.Value
}

// class is a group of writes. Only writes of the same class can share an edit.
type class uint8

const (
	writesCells class = iota
	deletesRows       // in one edit, HBase would also delete what other parts write to the row
	addsToCells
	dependsOnCells // the write has a condition, so it shares its edit with no other
)
