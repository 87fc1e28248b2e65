// Package james is the Apache James mailbox on HBase
// (https://james.apache.org/mailbox/mailbox-hbase.html). A message is
// one row. Its key is the UUID of the mailbox and then the UID, newest first. One
// column family holds metadata, another holds the message in chunks. UIDs come from
// an atomic increment on the mailbox's row.
//
// Operations that are slow in the original are slow here: a login scans all
// mailboxes to find those of one user, the unread count scans metadata, a body is
// stored once for each recipient, and a move writes it again.
//
// # Interruptions
//
// A delivery takes a UID and counts the message, in one increment where the engine has that, then
// writes the chunks, then the metadata that makes the message visible. With compare-and-set it
// counts last. If its process is killed in between, it leaves chunks
// without metadata, which an audit counts as orphaned, or a wrong count (drift),
// or an unused UID. A killed creation leaves a name without its mailbox
// (orphaned). That name stays taken.
//
// HBase is atomic within a row, and a message is one row: a delivery of one chunk
// and a delete of one message are all or nothing. A move or a delete of many
// messages is not. Oracle NoSQL is atomic within a mailbox, so only a move is not
// atomic there. A kill leaves
//   - after a move: messages in both mailboxes, but never in none. The audit counts
//     them as drift, since James does not mark copies of a message. Or it leaves
//     chunks without metadata (orphaned);
//   - after a delete or an expunge: some of the messages, the data of one of them
//     without metadata (orphaned), and a wrong count (drift).
package james

import (
	"context"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// uidsAtOnce is how many messages an expunge takes from a scan at a time.
const uidsAtOnce = 500

// Model returns the model's entry for the list of models.
func Model() models.Model {
	return models.Bundled("james",
		"one row per message, newest first, metadata and chunked data in two families, UIDs by increment", bind)
}

// statements are those of the patterns that the model runs: see models.Fill.
type statements struct {
	MailboxesOf, Accounts, Claim, Create            drivers.Statement
	NextUID, Count, Numbers                         drivers.Statement
	Page, Unread, UIDs, Message, Messages           drivers.Statement
	MessagePut, FlagSeen, FlagAnswered, FlagFlagged drivers.Statement
	FlagDeleted, FlagDraft, FlagUser                drivers.Statement
	Chunk, ChunkPut                                 drivers.Statement
	Append, Remove, RemoveMany, Replace             drivers.Statement
	Subscribe, Unsubscribe, Subscriptions           drivers.Statement
}

// The parts of the schema's batches, by position.
const (
	createName, createMailbox               = 0, 1
	appendChunk, appendMessage              = 0, 1
	removeMessage, removeData               = 0, 1
	replaceMessage, replaceOld, replaceData = 0, 1, 2
)

type bound struct {
	do        statements
	now       func() time.Time
	uuids     *models.TimeUUIDs
	chunkSize int
	// casUID and casCount say that compare-and-set changes the number, not an increment.
	casUID, casCount bool
	casFlag          bool // the write of a flag has a condition
	lwt              oneWrite
}

func bind(_ context.Context, p *drivers.Prepared, o models.Options) (models.Bound, error) {
	b := &bound{now: o.Clock(), uuids: models.NewTimeUUIDs(o.Node)}
	err := models.Fill(p, &b.do)
	if err == nil && p.Conditional("message_if") {
		err = models.Fill(p, &b.lwt)
	}
	if err == nil {
		err = o.Parameters(p, map[string]*int{"chunk_size": &b.chunkSize})
	}
	b.casUID, b.casCount = p.Conditional("next_uid"), p.Conditional("count")
	b.casFlag = p.Conditional("flag_seen")
	return b, err
}

// Mailbox implements models.Bound.
func (b *bound) Mailbox(s drivers.Session) models.Mailbox {
	m := &mailbox{bound: b}
	m.Start("james", m, s)
	m.RawMessages = models.NewRawMessages("james", m.beginRaw, m.fetch)
	m.onPage = m.pageRow
	return m
}

// mailbox is the mailbox of one worker. Each operation reuses its buffers.
type mailbox struct {
	*bound
	models.RawMessages
	models.Caller[mailbox]

	recs    []record
	text    []byte           // properties of the message being delivered
	reading [2]drivers.Value // mailbox and UID of the message whose chunks are read
	inline  bool             // that message is in the row of its metadata
	buffer  []byte           // one chunk, of content that is not in memory or of a message that moves
	entry   models.Entry
	yield   func(*models.Entry) error
	onPage  func(row []drivers.Value) error // m.pageRow, bound once: each method value is an allocation
	held    []byte                          // the chunk that is being copied
	unseen  int64                           // unread messages counted so far
}

var (
	_ models.UIDs        = (*mailbox)(nil)
	_ models.Subscriber  = (*mailbox)(nil)
	_ models.UserFlagger = (*mailbox)(nil)
	_ models.RangeReader = (*mailbox)(nil)
	_ models.Holder      = (*mailbox)(nil)
)
