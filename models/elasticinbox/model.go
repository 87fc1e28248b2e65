// Package elasticinbox is ElasticInbox's data model on Cassandra (document 000):
// an account's messages are the super columns of one row, labels are indexes of
// TimeUUIDs made from the messages' dates, raw mail lies in blocks of 128 KiB,
// and counters keep the numbers.
//
// A folder is a label. Every message also carries label 0, all mail. A deleted
// message leaves the label indexes for the purge index and keeps its metadata
// and blocks until a purge.
//
// # Interruptions
//
// An operation is its blocks, then one batch over metadata and indexes, then
// one over counters. A process that is killed in between leaves blocks that
// nothing refers to, or counters that are wrong: an audit counts the one as
// unreferenced, the other as drift, and Recount puts it right. A purge goes the
// other way, metadata and purge entries before blocks, so that metadata never
// leads to a block that is gone: what it leaves are blocks, too (unreferenced).
// A creation that is broken off leaves an account without folders.
//
// HBase and Oracle NoSQL have no batch over several rows. There its parts go
// one by one, and one that is broken off leaves
//   - of a delivery: labels without index entries (dangling), and a body that
//     counts as broken until its last sub-column is there;
//   - of a move or label: a label without its index entry (dangling), or the
//     message in both labels, never in none;
//   - of a delete: index entries that lead to a deleted message, or a deleted
//     message that is not yet in the purge index (dangling);
//   - of a restore: index entries, or one of the purge index, too many (dangling);
//   - of a purge: an entry of the purge index that leads to nothing (dangling),
//     which the next purge removes, and blocks (unreferenced);
//   - and the counters as far as they were written (drift).
//
// A list shows a message where it has both, the label and its index entry.
package elasticinbox

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
)

const (
	// blockSize is the document's.
	blockSize = 128 << 10
	// window is how many blocks are written at once: half a megabyte.
	window = 4
	// maxPage is how many messages one multi-get asks for at most.
	maxPage = 250
	// purgeAtOnce is how many deletions one batch of a purge is about: with the
	// longest of addresses it stays below the 50 KiB that Cassandra takes.
	purgeAtOnce = 64
)

// Model returns the model's entry for the list of models.
func Model() models.Model {
	return models.Model{
		Name:   "elasticinbox",
		Doc:    "labels as time-ordered indexes of super columns, raw mail in blocks, counters",
		Schema: func() (*schemas.Schema, error) { return schemas.Bundled("elasticinbox") },
		Bind:   bind,
	}
}

// statements are the patterns that the model runs, by the schema's names.
type statements struct {
	account, accounts, labelCreate, labelsPut   drivers.Statement
	messages, metadata, columnPut, columnDelete drivers.Statement
	indexPage, purgePage                        drivers.Statement
	block, blocks, blocksPut, blocksDelete      drivers.Statement
	counters, accountCounters, counts           drivers.Statement
	store, relabel, discard, restore, erase     drivers.Statement
}

// The parts of the schema's batches, by position.
const (
	storeColumn, storeParts, storeIndex     = 0, 1, 2
	relabelColumnPut, relabelColumnDelete   = 0, 1
	relabelIndexPut, relabelIndexDelete     = 2, 3
	discardMark, discardPurge, discardIndex = 0, 1, 2
	restoreIndex, restoreMark, restorePurge = 0, 1, 2
	eraseMessage, eraseIndex                = 0, 1
	only                                    = 0 // of batches with one part
)

type bound struct {
	statements
	now       func() time.Time
	uuids     *models.TimeUUIDs
	blockSize int
}

func bind(_ context.Context, p *drivers.Prepared, o models.Options) (models.Bound, error) {
	b := &bound{now: o.Clock(), uuids: models.NewTimeUUIDs(o.Node), blockSize: cmp.Or(o.ChunkSize, blockSize)}
	if err := p.Fill(b.byName()); err != nil {
		return nil, fmt.Errorf("bind elasticinbox: %w", err)
	}
	return b, nil
}

func (s *statements) byName() map[string]*drivers.Statement {
	return map[string]*drivers.Statement{
		"account": &s.account, "accounts": &s.accounts,
		"label_create": &s.labelCreate, "labels_put": &s.labelsPut,
		"messages": &s.messages, "metadata": &s.metadata, "column_put": &s.columnPut, "column_delete": &s.columnDelete,
		"index_page": &s.indexPage, "purge_page": &s.purgePage,
		"block": &s.block, "blocks": &s.blocks, "blocks_put": &s.blocksPut, "blocks_delete": &s.blocksDelete,
		"counters": &s.counters, "account_counters": &s.accountCounters, "counts": &s.counts,
		"store": &s.store, "relabel": &s.relabel, "discard": &s.discard, "restore": &s.restore, "erase": &s.erase,
	}
}

// Mailbox implements models.Bound.
func (b *bound) Mailbox(s drivers.Session) models.Mailbox {
	m := &mailbox{bound: b, s: s}
	// Bound once: a method value made for each call would be an allocation.
	m.onColumn, m.onID, m.onBlock, m.onCounter = m.column, m.id, m.blockRow, m.counter
	m.RawMessages = models.NewRawMessages("elasticinbox", m.beginRaw, m.fetch)
	return m
}

// mailbox is one worker's. Its buffers are used again by each operation.
type mailbox struct {
	*bound
	models.RawMessages
	s drivers.Session

	args    []drivers.Value
	handles models.Handles
	calls   models.Calls
	text    []byte          // keys and values made for one operation
	ids     []drivers.Value // messages to read, or found in an index
	recs    []record
	at      int      // the record whose sub-columns are coming
	tally   []tally  // what an operation counts, label by label
	buffer  []byte   // one window of blocks, of content that is not in memory
	reading [16]byte // the message whose blocks are read
	entry   models.Entry

	onColumn, onID, onBlock, onCounter func(row []drivers.Value) error
}

var (
	_ models.Labeler     = (*mailbox)(nil)
	_ models.Purger      = (*mailbox)(nil)
	_ models.Recounter   = (*mailbox)(nil)
	_ models.RangeReader = (*mailbox)(nil)
)

// reset begins an operation: what the last one made is forgotten.
func (m *mailbox) reset() {
	m.text, m.tally = m.text[:0], m.tally[:0]
	m.calls.Reset()
}

// with returns the arguments of a call in a buffer that the next call reuses.
func (m *mailbox) with(args ...drivers.Value) []drivers.Value {
	m.args = append(m.args[:0], args...)
	return m.args
}

// failed says which operation on whose mail failed.
func failed(op string, a *models.Account, err error) error {
	return fmt.Errorf("elasticinbox: %s of %s: %w", op, a.Address, err)
}
