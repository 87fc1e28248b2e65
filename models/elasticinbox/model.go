// Package elasticinbox is ElasticInbox's data model on Cassandra
// (https://github.com/elasticinbox/elasticinbox/wiki/Data-Model):
// an account's messages are the super columns of one row, a label is an index of
// TimeUUIDs made from the messages' dates, raw mail is stored in blocks of 128 KiB,
// and counters hold the numbers of each label.
//
// With blob_store: fs-local, messages larger than blob_threshold are files of the client's machine,
// whatever the engine is: package blobs. Smaller ones are in the database.
//
// A folder is a label. Every message also has label 0, all mail. Delete moves a
// message from the label indexes to the purge index. Its metadata and blocks stay
// until a purge.
//
// # Interruptions
//
// An operation writes its blocks or its file, then metadata and index entries, then one batch of counters.
// The source design has no batch log, so metadata and index entries are in several partitions
// and are not written together. On Cassandra they are sent as batches that are not logged, the
// puts first and then the deletes, each in as many parts as the cluster's limit requires. HBase
// and Oracle NoSQL write them one by one, in the same order. A kill leaves
//   - after a delivery: blocks or a file without metadata (orphaned), a file that was not written
//     to its end and that are invisible (interrupted), labels without index entries
//     (a broken reference), and a body that counts as broken until its last sub-column is written;
//   - after a move or a label: a label without its index entry (a broken reference), or the
//     message under both labels, but never under none; of several messages some have moved;
//   - after a delete: index entries of a deleted message, or a deleted message
//     that is missing from the purge index (a broken reference);
//   - after a restore: too many entries in an index or in the purge index (a broken reference);
//   - after a purge: an entry of the purge index without a message (a broken reference),
//     which the next purge removes, and blocks (orphaned): metadata never refers to a
//     missing block;
//   - after any of them: wrong counters (drift), which Recount corrects.
//
// A killed creation leaves an account without folders. The embedded engine writes metadata and
// index entries together. So does Cassandra with the variant elasticinbox@logged, but its batch log
// takes no more than 50 KiB at once.
//
// A list shows a message that has both the label and the index entry.
package elasticinbox

import (
	"context"
	"fmt"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/blobs"
)

const (
	// window is how many blocks are written at once: half a megabyte.
	window = 4
	// maxPage is how many messages one multi-get reads at most.
	maxPage = 250
	// purgeAtOnce is how many deletions one batch of a purge is about: with the
	// longest of addresses it stays below the 50 KiB that Cassandra takes.
	purgeAtOnce = 64
	// removes is the value of the parameter deletes with which a delete keeps nothing.
	removes = 2
)

// Model returns the model's entry for the list of models.
func Model() models.Model {
	return models.Bundled("elasticinbox",
		"labels as time-ordered indexes of super columns, raw mail in blocks, counters", bind)
}

// statements are those of the patterns that the model runs: see models.Fill.
type statements struct {
	Account, Accounts, LabelCreate, LabelsPut   drivers.Statement
	Messages, Metadata, ColumnPut, ColumnDelete drivers.Statement
	IndexPage, PurgePage                        drivers.Statement
	Block, BlocksPut, BlocksDelete              drivers.Statement
	Counters, AccountCounters, Counts           drivers.Statement
	Store, Relabel, Discard, Restore, Erase     drivers.Statement
}

// The parts of the schema's batches, by position.
const (
	storeColumn, storeSize                  = 0, 1
	storeParts, storeIndex                  = 2, 3
	relabelColumnPut, relabelIndexPut       = 0, 1
	relabelIndexDelete, relabelColumnDelete = 2, 3
	discardMark, discardPurge, discardIndex = 0, 1, 2
	restoreIndex, restoreMark, restorePurge = 0, 1, 2
	eraseMessage, eraseIndex                = 0, 1
	only                                    = 0 // the part of batches with one part
)

type bound struct {
	do            statements
	now           func() time.Time
	uuids         *models.TimeUUIDs
	blockSize     int
	deletes       int
	threshold     int          // bytes of the largest message that is in the database whatever is chosen
	outside       *blobs.Store // bodies that are not in the database; nil: there are none
	writesOutside bool         // larger messages go there
}

func bind(_ context.Context, p *drivers.Prepared, o models.Options) (models.Bound, error) {
	b := &bound{now: o.Clock(), uuids: models.NewTimeUUIDs(o.Node)}
	err := models.Fill(p, &b.do)
	store := 0
	if err == nil {
		err = o.Parameters(p, map[string]*int{
			"block_size": &b.blockSize, "deletes": &b.deletes, "blob_threshold": &b.threshold, "blob_store": &store,
		})
	}
	switch { // larger messages go to the store of bodies if blob_store is that
	case err != nil || p.Capabilities().Discards: // nothing is read again
	case o.Blobs != "":
		b.outside, b.writesOutside = blobs.Open(o.Blobs, p.Capabilities().Durability), store > inDatabase
	case store > inDatabase:
		err = fmt.Errorf("blob_store %s: it is a folder of this machine, and there is none; a run in segments, on several "+
			"machines, has its bodies in the database", blobs.FSLocal)
	}
	return b, err
}

// Mailbox implements models.Bound.
func (b *bound) Mailbox(s drivers.Session) models.Mailbox {
	m := &mailbox{bound: b}
	m.Start("elasticinbox", m, s)
	m.RawMessages = models.NewRawMessages("elasticinbox", m.beginRaw, m.fetch)
	if m.deletes == removes {
		return hard{m, m, m, m, m, m, m, m}
	}
	return m
}

// hard is a mailbox that keeps no deleted messages: it is no models.Purger.
type hard struct {
	models.Mailbox
	models.Labeler
	models.AllMailer
	models.Recounter
	models.RangeReader
	models.Holder
	models.Inspector
	models.Identifier
}

// mailbox is the mailbox of one worker. Each operation reuses its buffers.
type mailbox struct {
	*bound
	models.RawMessages
	models.Caller[mailbox]

	text    []byte // keys and values made for one operation
	single  [1]models.Handle
	ids     []drivers.Value // messages to read, or found in an index
	at      int             // in ids: the message whose sub-columns lookup reads
	recs    []record
	tally   []tally // counts of an operation, by label
	buffer  []byte  // one window of blocks, of content that is not in memory
	reading record  // the message whose body is read
	entry   models.Entry
	allMail models.Folder
}

var _ models.Purger = (*mailbox)(nil)

// reset begins an operation and clears the buffers of the one before.
func (m *mailbox) reset() {
	m.text, m.tally = m.text[:0], m.tally[:0]
	m.Calls.Reset()
}
