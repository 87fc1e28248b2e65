// Package oracle is Oracle's "An Email Application Using a NoSQL Repository"
// (https://blogs.oracle.com/developers/email-application-using-nosql-repository): users, their folders and their
// messages are nested tables. All rows of one user are on one shard, so moves and deletes are atomic.
//
// A message is one row, which includes the body. A page of an inbox reads 25 such
// rows, and a move writes the row again. The application reads an inbox by arrival.
// The primary key does not sort by arrival, so a local index does. Three variants are its
// controls: oracle@headers reads only what a list shows, oracle@sort reads the folder and sorts
// it, and oracle@no-arrival reads by messageIds that sort by arrival.
//
// # Interruptions
//
// The model stores nothing that could disagree with a row. Recipients
// are on different shards, so an interrupted delivery to many reaches some of
// them. An interrupted creation leaves a user without some of the folders.
//
// HBase is atomic within one row only. There a move puts and then deletes one
// message after another. If it is interrupted, some messages have moved and one
// may be in both folders (an audit counts it as duplicated), but every message is
// in one of them. An interrupted delete of several messages deletes some.
//
// # Two clients
//
// A move and a delete are applied only if their messages are still there, in the same request; so is a
// flag. Of two clients that move or delete one message, one gets ErrNotFound. On Cassandra these are
// lightweight transactions. HBase checks one row only: there a flag has the condition, but a move or a delete
// reads first, and two clients can duplicate a message or bring a deleted one back. On every engine, a move
// that read the message before another client flagged it writes the old flag.
package oracle

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"sync/atomic"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// Model returns the model's entry for the list of models.
func Model() models.Model {
	return models.Bundled("oracle",
		"nested tables, a message is one row with its body; atomic moves within a user's shard", bind)
}

// statements are those of the patterns that the model runs: see models.Fill.
type statements struct {
	InsertUser, UserByAddress           drivers.Statement
	PutFolders, InsertFolder, Folders   drivers.Statement
	Nested                              drivers.Statement
	Deliver, Inbox, Message, Attachment drivers.Statement
	SetRead, Numbers                    drivers.Statement
	Existing, WholeMessages             drivers.Statement
	Move, Delete                        drivers.Statement
	Accounts                            drivers.Statement
}

// The parts of the schema's batches, by position.
const (
	movePut, moveDelete = 0, 1
	only                = 0 // the part of batches with one part
)

type bound struct {
	do  statements
	now func() time.Time
	ids *models.TimeUUIDs
	row models.RowLimit
	// afterDate and afterID are the positions of the arguments after which a page begins.
	afterDate, afterID int
	// sorts: ids have no order, and List sorts the folder (the variant oracle@sort).
	sorts bool
	last  atomic.Int64 // createdDate of the last delivery, if ids have no order
}

func bind(_ context.Context, p *drivers.Prepared, o models.Options) (models.Bound, error) {
	b := &bound{now: o.Clock(), ids: models.NewTimeUUIDs(o.Node), row: models.NewRowLimit(p.Capabilities())}
	if err := models.Fill(p, &b.do); err != nil {
		return nil, err
	}
	b.sorts = !b.do.Inbox.Pattern().LimitArg
	b.afterDate, b.afterID = p.Arg("inbox", "createdDate"), p.Arg("inbox", "messageId")
	return b, nil
}

// Mailbox implements models.Bound.
func (b *bound) Mailbox(s drivers.Session) models.Mailbox {
	m := &mailbox{bound: b, WholeRow: models.WholeRow{RowLimit: b.row}}
	m.Start("oracle", m, s)
	return m
}

// mailbox is the mailbox of one worker. Each operation reuses its buffers.
type mailbox struct {
	*bound
	models.Caller[mailbox]
	models.NoRaw
	models.WholeRow

	text []byte // recipients of the message being delivered

	yield  func(*models.Entry) error
	entry  models.Entry
	folder *folder        // the folder being listed
	sorted []models.Entry // its messages, if List sorts them
	stats  models.Stats

	moving moving
}

var (
	_ models.Holder = (*mailbox)(nil)
	_ models.Nester = (*mailbox)(nil)
)

// A handle holds a message's primary key without the user's id: the messageId as 16 bytes,
// createdDate in microseconds, and the number that is its folderId. The functions below make and read handles.

// messageID returns the messageId of a handle, in the arena. A handle of another folder names nothing in f.
func (m *mailbox) messageID(f *folder, h models.Handle) drivers.Value {
	if binary.BigEndian.Uint32(h[24:]) != f.number {
		return drivers.Value{}
	}
	var text [32]byte
	hex.Encode(text[:], h[:16])
	return drivers.TextBytes(m.Arena.Bytes(text[:]))
}

func createdOf(h models.Handle) drivers.Value {
	return drivers.Timestamp(int64(binary.BigEndian.Uint64(h[16:])))
}

func handleOf(id [16]byte, created int64, f *folder) (h models.Handle) {
	copy(h[:], id[:])
	binary.BigEndian.PutUint64(h[16:], uint64(created))
	binary.BigEndian.PutUint32(h[24:], f.number)
	return h
}

// Identity implements models.Identifier.
func (*mailbox) Identity(h models.Handle) [16]byte { return [16]byte(h[:16]) }

// newMessage returns the id and the createdDate of a message that arrives at t.
func (b *bound) newMessage(t time.Time) (id [16]byte, created int64) {
	id, created = b.newID(t), t.UnixMicro()
	if !b.sorts {
		return id, created
	}
	// An id that says nothing of its time. Two messages do not arrive in one microsecond.
	sum := sha256.Sum256(id[:])
	for {
		last := b.last.Load()
		if created = max(created, last+1); b.last.CompareAndSwap(last, created) {
			return [16]byte(sum[:16]), created
		}
	}
}

// newID returns a TimeUUID in the byte order of RFC 9562's version 6. These bytes and
// their text sort by time and then by delivery. The index sorts by this text among
// equal createdDates.
func (b *bound) newID(t time.Time) [16]byte {
	u := b.ids.Next(t)
	ticks := models.TicksOf(u)
	binary.BigEndian.PutUint64(u[:], ticks>>12<<16|0x6000|ticks&0x0fff)
	return u
}
