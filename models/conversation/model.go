// Package conversation is the conversation table of "Deep Dive into CQL"
// (https://speakerdeck.com/rstml/deep-dive-into-cql). A conversation is one partition, newest message first. It
// has the collections of the source design (recipients, attachments, viewers of the message), a static column
// and an index on the sender.
//
// As a mailbox, a conversation is one folder of one user, and a message is posted
// once for each recipient. Join shares a conversation among users. The source design does
// not store the subject, the date or the size of a message.
//
// # Interruptions
//
// A message is one row, and the model stores nothing else that could disagree.
// An interrupted delivery to many reaches some of them. A move posts all messages and
// then deletes all. If it is interrupted, they may be in both conversations (an audit
// counts them as duplicated), but every message is in one of them. HBase is atomic
// within one row only, so an interrupted move posts or deletes some of several messages
// there, and an interrupted delete deletes some. An interrupted creation leaves a user without some of
// the conversations, or a conversation without its title, which no user can join.
package conversation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
)

// Model returns the model's entry for the list of models.
func Model() models.Model {
	return models.Bundled("conversation",
		"one partition per conversation, with collections, time slices, seen-by lists and a sender index", bind)
}

// statements are those of the patterns that the model runs: see models.Fill.
type statements struct {
	Claim, TakeParts, Conversations, AnyConversation drivers.Statement
	Leave                                            drivers.Statement
	PutTitle, Title                                  drivers.Statement
	Posts, Reposts, Newest, Between                  drivers.Statement
	Message, Attachment, Exists                      drivers.Statement
	Existing, WholeMessages                          drivers.Statement
	DeleteMessages                                   drivers.Statement
	Seen, Unseen, SeenBy, Numbers                    drivers.Statement
	BySender                                         drivers.Statement
	Accounts                                         drivers.Statement
}

// only is the part of the schema's batches: they have one each.
const only = 0

type bound struct {
	do         statements
	bySenderIn drivers.Statement // nil: the engine cannot run it
	now        func() time.Time
	ids        *models.TimeUUIDs
	row        models.RowLimit
}

func bind(_ context.Context, p *drivers.Prepared, o models.Options) (models.Bound, error) {
	b := &bound{now: o.Clock(), ids: models.NewTimeUUIDs(o.Node), row: models.NewRowLimit(p.Capabilities())}
	if err := models.Fill(p, &b.do); err != nil {
		return nil, err
	}
	var err error
	if b.bySenderIn, err = p.Get("by_sender_in"); errors.Is(err, drivers.ErrUnsupported) {
		err = nil
	}
	return b, err
}

// searchless is the mailbox on an engine that cannot search a conversation by sender,
// newest first: Cassandra, if messages ascend and have an index on the sender.
type searchless struct {
	models.Mailbox
	models.Slicer
	models.Seer
	models.Poster
	models.Holder
	models.Identifier
}

// Mailbox implements models.Bound.
func (b *bound) Mailbox(s drivers.Session) models.Mailbox {
	m := &mailbox{bound: b, WholeRow: models.WholeRow{RowLimit: b.row}}
	m.Start("conversation", m, s)
	if b.bySenderIn == nil {
		return searchless{m, m, m, m, m, m}
	}
	return m
}

// mailbox is the mailbox of one worker. Each operation reuses its buffers.
type mailbox struct {
	*bound
	models.Caller[mailbox]
	models.NoRaw
	models.WholeRow

	recipients []drivers.Value // of the message being delivered
	who        [1]drivers.Value

	me    string        // user for whom isSeen looks in the lists of viewers
	to    drivers.Value // the conversation to which messages move
	held  int           // bytes of the rows read so far
	yield func(*models.Entry) error
	entry models.Entry
	stats models.Stats
}

var _ models.SenderSearcher = (*mailbox)(nil)

// A handle holds the message_id.
func handleOf(id [16]byte) (h models.Handle) {
	copy(h[:], id[:])
	return h
}

func idOf(h models.Handle) drivers.Value { return drivers.TimeUUID([16]byte(h[:16])) }

// Identity implements models.Identifier.
func (*mailbox) Identity(h models.Handle) [16]byte { return [16]byte(h[:16]) }

// Deliver implements models.Mailbox: a post in each conversation.
func (m *mailbox) Deliver(ctx context.Context, msg *mail.Message, to []*models.Folder, handles []models.Handle) error {
	m.recipients = m.recipients[:0]
	for _, as := range [...][]mail.Address{msg.To, msg.Cc, msg.Bcc} {
		for i := range as {
			m.recipients = append(m.recipients, drivers.Text(as[i].Address))
		}
	}
	arrived := models.Arrival(msg, m.now)
	err := m.Load(msg, schemas.Text)
	if err == nil {
		err = m.Spread(ctx, m.do.Posts, len(to), m.Size, func(i int) {
			id := m.ids.Next(arrived)
			handles[i] = handleOf(id)
			m.Calls.Add(only, ref(to[i]), drivers.TimeUUID(id), drivers.TextBytes(m.Body), drivers.Text(msg.From.Address),
				drivers.SetOf(m.recipients), drivers.MapOf(m.Files), drivers.ListOf(nil), drivers.MapOf(m.Sizes))
		})
	}
	if m.Release() {
		m.Forget()
	}
	if err != nil {
		return fmt.Errorf("conversation: deliver to %d folders: %w", len(to), err)
	}
	return nil
}
