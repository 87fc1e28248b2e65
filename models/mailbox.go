package models

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
)

// The errors that callers of a Mailbox tell apart. Errors of the store come
// through wrapped, drivers.ErrUnknown and drivers.ErrTooLarge among them.
var (
	// ErrNotFound: the message, folder or account is not there (any more).
	ErrNotFound = errors.New("not found")
	// ErrExists: the account or folder is already there.
	ErrExists = errors.New("already exists")
	// ErrNotOffered: the model has no place for what was asked (n/a in reports).
	ErrNotOffered = errors.New("not offered by this model")
)

// Model is one entry of the list of models.
type Model struct {
	Name   string
	Doc    string                          // one line for the list of models
	Schema func() (*schemas.Schema, error) // its bundled schema file
	// Bind gives the model its statements, as prepared on one store.
	Bind func(ctx context.Context, p *drivers.Prepared, o Options) (Bound, error)
}

// Options are what a model can be told. The zero Options are the documents' own
// values and the real clock.
type Options struct {
	// Now returns the time of delivery, deletion and seeing; nil is time.Now.
	Now func() time.Time
	// Node seeds the node and clock-sequence bits of TimeUUIDs, so that
	// processes sharing a store do not collide; 0 takes random bits.
	Node uint64
	// ChunkSize in bytes for chunked bodies; 0 is the model's own (128 KiB
	// elasticinbox, 1 MiB james, 1,024,000 datastax).
	ChunkSize int
	// OverflowAfter is how many messages one folder label takes before
	// deliveries go to an overflow label (datastax); 0 is its default.
	OverflowAfter int
}

// Clock returns Now, or time.Now if that is nil.
func (o Options) Clock() func() time.Time {
	if o.Now != nil {
		return o.Now
	}
	return time.Now
}

// Bound is a model on a store. Mailbox returns the mailbox of one worker, which
// runs its calls on the session given.
type Bound interface {
	Mailbox(s drivers.Session) Mailbox
}

// Mailbox is what every model can do. One goroutine uses it at a time; it owns
// its buffers. What only some models can do are the small interfaces below,
// which a caller asks for by type assertion.
//
// Rules that hold for every model, and that modeltest checks:
//
//   - A delivery that returned nil is listed, opened and streamed byte for byte
//     until it is deleted; one that returned an error other than ErrUnknown is
//     nowhere.
//   - A list is newest first in the model's own order (elasticinbox: message
//     date; james: UID; others: delivery time), nothing twice, nothing missed,
//     also while deliveries go on.
//   - A handle stays good until its message is moved or deleted. Calls with a
//     stale one return ErrNotFound and change nothing (no counter either).
//   - Flag is idempotent. Move and Delete of several messages are all or
//     nothing where the engine's atomicity allows it; a missing message makes
//     the whole call ErrNotFound.
//   - Folders and accounts of others are never touched.
//   - An error from a yield ends the call. The call returns it wrapped, so that a
//     caller compares with errors.Is. The optional interfaces below do the same.
type Mailbox interface {
	// CreateUser creates an account with the folders named, the first of them
	// its inbox. ErrExists if the address is taken, where the engine can tell.
	// With no folder it is an error, but for a Poster.
	CreateUser(ctx context.Context, address string, folders []string) (*Account, error)
	// CreateFolder adds a folder to an account. ErrExists if the name is taken.
	CreateFolder(ctx context.Context, a *Account, name string) (*Folder, error)
	// Login finds an account by its address, with its folders. ErrNotFound.
	Login(ctx context.Context, address string) (*Account, error)
	// Folders yields the account's folders with the numbers the model keeps.
	Folders(ctx context.Context, a *Account, yield func(FolderInfo) error) error
	// Deliver stores the message once in each of the folders (of different
	// accounts, as a rule) and sets handles[i] for to[i]. It is acknowledged,
	// by returning nil, when body, index and counters are written. The same
	// folder must not be named twice.
	Deliver(ctx context.Context, m *mail.Message, to []*Folder, handles []Handle) error
	// List yields up to limit entries after the one named (the zero Handle:
	// from the newest). An entry is valid until yield returns. The message
	// named need not be there any more.
	List(ctx context.Context, f *Folder, after Handle, limit int, yield func(*Entry) error) error
	// Open reads metadata and text body into o, reusing its buffers.
	Open(ctx context.Context, f *Folder, h Handle, o *Opened) error
	// Raw writes the whole message to w in bounded memory and returns its
	// size. ErrNotOffered where the model does not keep it.
	Raw(ctx context.Context, f *Folder, h Handle, w io.Writer) (int64, error)
	// Attachment writes the decoded attachment of that name to w.
	Attachment(ctx context.Context, f *Folder, h Handle, name string, w io.Writer) (int64, error)
	// Flag sets or clears a flag. ErrNotOffered for flags the model has no
	// place for; every model has Seen.
	Flag(ctx context.Context, f *Folder, h Handle, flag Flag, on bool) error
	// Move takes messages to another folder of the same account and sets
	// handles[i] to the new handle of hs[i].
	Move(ctx context.Context, from, to *Folder, hs []Handle, handles []Handle) error
	// Delete removes messages from a folder. Where the model keeps deleted
	// messages it is a Purger.
	Delete(ctx context.Context, f *Folder, hs []Handle) error
	// Stats returns the folder's numbers as the model's own clients get them:
	// from counters, or by scanning.
	Stats(ctx context.Context, f *Folder) (Stats, error)
	// Audit reads everything the model stores, through declared patterns, and
	// counts what breaks its invariants.
	Audit(ctx context.Context) (Audit, error)
}

// RangeReader reads n bytes of the raw message from off on without reading
// what lies before (more than one chunk away). A range past the end is cut.
type RangeReader interface {
	RawRange(ctx context.Context, f *Folder, h Handle, off, n int64, w io.Writer) (int64, error)
}

// Labeler lets one message be shown by several folders (elasticinbox,
// datastax). The handle stays the same but for the folder it belongs to: it is
// returned. Taking the last label off a message does not delete it.
type Labeler interface {
	Label(ctx context.Context, f *Folder, h Handle, label *Folder, on bool) (Handle, error)
}

// Purger keeps deleted messages until they are purged (elasticinbox).
type Purger interface {
	// Restore brings a deleted message back into the labels it had. The handle
	// is the one it had in any of them. ErrNotFound if it is not deleted.
	Restore(ctx context.Context, a *Account, h Handle) error
	// Purge removes for good what was deleted before t, and says how many
	// messages that were.
	Purge(ctx context.Context, a *Account, before time.Time) (int, error)
}

// UIDs are IMAP UIDs (james): unique in a folder, ascending, never used again.
type UIDs interface {
	UID(h Handle) uint64
	// Expunge deletes the messages with from <= UID <= to (0: all) and says how
	// many rows went.
	Expunge(ctx context.Context, f *Folder, from, to uint64) (int, error)
}

// Subscriber keeps which folders an account has subscribed to (james).
type Subscriber interface {
	Subscribe(ctx context.Context, a *Account, folder string, on bool) error
	Subscriptions(ctx context.Context, a *Account, yield func(folder string) error) error
}

// SenderSearcher finds messages by their sender's address (conversation).
type SenderSearcher interface {
	// BySender yields the folder's messages from that sender, newest first; a
	// nil folder asks every folder of every account, in no order.
	BySender(ctx context.Context, f *Folder, sender string, limit int, yield func(*Entry) error) error
}

// Slicer yields the messages whose id lies within the times (conversation):
// id > minTimeuuid(from) and id < maxTimeuuid(to), newest first.
type Slicer interface {
	Slice(ctx context.Context, f *Folder, from, to time.Time, limit int, yield func(*Entry) error) error
}

// Seer keeps who has seen a message, in the order of seeing (conversation).
type Seer interface {
	Seen(ctx context.Context, f *Folder, h Handle, who string) error
	SeenBy(ctx context.Context, f *Folder, h Handle, yield func(who string) error) error
}

// Poster shares one folder among many accounts: Join makes f one of the
// folders of a (conversation). An account may be created without folders, and
// then join one.
type Poster interface {
	Join(ctx context.Context, a *Account, f *Folder) (*Folder, error)
}

// Recounter computes an account's counters anew from its indexes and stores
// them (elasticinbox).
type Recounter interface {
	Recount(ctx context.Context, a *Account) error
}
