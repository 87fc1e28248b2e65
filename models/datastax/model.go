// Package datastax is DataStax's "Messaging Data Modeling"
// (https://github.com/DataStax-Academy/data-modeling-messaging-data): four access patterns, one partition each.
//
// An email and its attachments are stored once for all users and labels. A folder
// is a label, and each row of the label shows an email. Attachments are stored in
// chunks of 1000 KB, and each chunk is a partition. When the partition of a label
// is too large, an overflow label follows it. A list begins with the newest label.
// References are not counted: an email that no label shows stays, and an audit counts
// it.
//
// # Interruptions
//
// An operation writes chunks and email, then the rows that show the email, then one counter
// after another. If its process is killed in between, it leaves chunks or an email that no
// label shows (orphaned), or wrong counters (drift). A write of a Cassandra counter cannot
// be repeated safely. A killed creation leaves an account without some of its folders.
//
// The rows that show an email are in several partitions, and the source design has no batch
// log. Cassandra takes them in batches that are not logged, HBase and Oracle NoSQL one by one,
// and rows that show an email come before deletes of such rows. A killed delivery shows the
// email to some of the recipients. A killed move moves some of the emails; both folders may
// show one of them, but at least one folder shows each. Each row that is written without its
// counters adds to the drift. The embedded engine writes the rows together, as Cassandra does
// with the variant datastax@logged.
package datastax

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// Model returns the model's entry for the list of models.
func Model() models.Model {
	return models.Bundled("datastax",
		"emails stored once, shown by labels with overflow; attachments in parallel chunks", bind)
}

// statements are those of the patterns that the model runs: see models.Fill.
type statements struct {
	ClaimFolder, PutFolders, Folders, AnyFolder drivers.Statement
	Unread, UnreadOf                            drivers.Statement
	CurrentLabel, Sizes                         drivers.Statement
	MarkOverflowed, MarkSince, Overflowed       drivers.Statement
	Page                                        drivers.Statement
	PutEmail, Email, AttachmentSize             drivers.Statement
	PutChunks, Chunks                           drivers.Statement
	InFolder, InFolderOf                        drivers.Statement
	SetRead, Index, Counters                    drivers.Statement
	Accounts                                    drivers.Statement
}

// The parts of the schema's batches, by position.
const (
	show, hide             = 0, 1
	addUnread, addMessages = 0, 1
	only                   = 0 // the part of batches with one part
)

type bound struct {
	do     statements
	now    func() time.Time
	ids    *models.TimeUUIDs
	row    models.RowLimit
	chunk  int // bytes of an attachment in one row
	limit  int // emails a label takes
	window int // chunks that are written or read at once
}

func bind(_ context.Context, p *drivers.Prepared, o models.Options) (models.Bound, error) {
	b := &bound{
		now: o.Clock(), ids: models.NewTimeUUIDs(o.Node), row: models.NewRowLimit(p.Capabilities()),
	}
	err := models.Fill(p, &b.do)
	if err == nil {
		err = o.Parameters(p, map[string]*int{
			"chunk_size": &b.chunk, "overflow_after": &b.limit, "parallel": &b.window,
		})
	}
	return b, err
}

// Mailbox implements models.Bound.
func (b *bound) Mailbox(s drivers.Session) models.Mailbox {
	m := &mailbox{bound: b, writing: make([][]byte, b.window)}
	m.Start("datastax", m, s)
	return m
}

// mailbox is the mailbox of one worker. Each operation reuses its buffers.
type mailbox struct {
	*bound
	models.Caller[mailbox]
	models.NoRaw

	hides   models.Calls // deletes of label rows, which come after all other changes
	deltas  []delta
	text    []byte          // text of the body being delivered
	label   []byte          // name of a label
	elems   []drivers.Value // elements of a set or list argument
	files   []drivers.Value // attachments of the message being delivered: name, size, name, size …
	writing [][]byte        // chunks being written, of content that is not in memory

	here, there []sought  // the emails of an operation in its folder, and in the other one
	looking     []*sought // those that look requests
	one         [1]models.Handle

	list  listing
	stats folderStats
}

var (
	_ models.Labeler = (*mailbox)(nil)
	_ models.Keeper  = (*mailbox)(nil)
	_ models.Holder  = (*mailbox)(nil)
)

// A handle holds the email's id and the overflow number of the label that shows it.
func handleOf(id [16]byte, overflow int32) (h models.Handle) {
	copy(h[:], id[:])
	binary.BigEndian.PutUint32(h[16:], uint32(overflow))
	return h
}

func idOf(h models.Handle) [16]byte { return [16]byte(h[:16]) }

// Identity implements models.Identifier.
func (*mailbox) Identity(h models.Handle) [16]byte { return idOf(h) }

func emailOf(h models.Handle) drivers.Value { return drivers.TimeUUID(idOf(h)) }

func overflowOf(h models.Handle) int32 { return int32(binary.BigEndian.Uint32(h[16:])) }
