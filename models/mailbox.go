package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
)

// Callers of a Mailbox distinguish these errors. A Mailbox also wraps errors of the
// store, for example drivers.ErrUnknown and drivers.ErrTooLarge.
var (
	// ErrNotFound means that the message, folder or account does not exist (any more).
	ErrNotFound = errors.New("not found")
	// ErrExists means that the account or folder exists already.
	ErrExists = errors.New("already exists")
	// ErrNotOffered means that the model cannot do this (n/a in reports).
	ErrNotOffered = errors.New("not offered by this model")
)

// Model is one entry of the list of models.
type Model struct {
	Name   string
	Doc    string                          // one line for the list of models
	Schema func() (*schemas.Schema, error) // its bundled schema file
	// Bind connects the model to the statements that were prepared on one store.
	Bind func(ctx context.Context, p *drivers.Prepared, o Options) (Bound, error)
}

// Bundled returns the model of a schema that mailbench brings along.
func Bundled(name, doc string, bind func(context.Context, *drivers.Prepared, Options) (Bound, error)) Model {
	schema := func() (*schemas.Schema, error) { return schemas.Bundled(name) }
	return Model{Name: name, Doc: doc, Schema: schema, Bind: bind}
}

// With returns the model with other values of the parameters that its schema declares.
func (m Model) With(values map[string]int) Model {
	if schema := m.Schema; len(values) > 0 {
		m.Schema = func() (*schemas.Schema, error) {
			s, err := schema()
			if err != nil {
				return nil, err
			}
			return s.With(values)
		}
	}
	return m
}

// Options configure a model. The zero Options are the values of its schema and the real clock.
type Options struct {
	// Now returns the time of a delivery, unless the message says when it arrived, of a deletion or a
	// view. Nil means time.Now.
	Now func() time.Time
	// Node seeds the node and clock-sequence bits of TimeUUIDs, so that
	// processes that share a store do not collide. 0 means random bits.
	Node uint64
	// Values are those of parameters in place of the schema's. Tests choose smaller ones than the
	// schema allows. A model ignores those that it does not have.
	Values map[string]int
	// Blobs is the folder of what a model keeps outside of the engine; "" if there is none.
	Blobs string
}

// PatternsOf returns the names of the patterns that a struct of statements has: Page is page, AllUsers is all_users.
func PatternsOf(statements any) (names []string) {
	of := reflect.TypeOf(statements).Elem()
	for i := range of.NumField() {
		names = append(names, strings.ToLower(camelCase.ReplaceAllString(of.Field(i).Name, "${1}_$2")))
	}
	return names
}

var camelCase = regexp.MustCompile(`([a-z])([A-Z])`)

// Fill sets each field of a struct of statements to that of the pattern of its name: see PatternsOf. The error is that
// of the first pattern without a statement.
func Fill(p *drivers.Prepared, statements any) error {
	for i, name := range PatternsOf(statements) {
		st, err := p.Get(name)
		if err != nil {
			return err
		}
		reflect.ValueOf(statements).Elem().Field(i).Set(reflect.ValueOf(st))
	}
	return nil
}

// Parameters sets each number to the value of the parameter with its key as name. The error is
// that of a parameter that the schema does not declare.
func (o Options) Parameters(p *drivers.Prepared, byName map[string]*int) error {
	for name, n := range byName {
		v, err := p.Parameter(name)
		if err != nil {
			return err
		}
		if *n = v; o.Values[name] > 0 {
			*n = o.Values[name]
		}
	}
	return nil
}

// Clock returns Now, or time.Now if that is nil.
func (o Options) Clock() func() time.Time {
	if o.Now != nil {
		return o.Now
	}
	return time.Now
}

// Arrival is when a message arrived: a delivery of now, unless the message says.
func Arrival(m *mail.Message, now func() time.Time) time.Time {
	if m.Arrived.IsZero() {
		return now()
	}
	return m.Arrived
}

// Bound is a model on a store. Mailbox returns the mailbox of one worker. It runs
// its calls on session s.
type Bound interface {
	Mailbox(s drivers.Session) Mailbox
}

// Mailbox holds the operations of every model. One goroutine uses it at a time, and
// it owns its buffers. The small interfaces below are operations of some models
// only; a caller finds them by type assertion.
//
// These rules hold for every model, and modeltest checks them:
//
//   - If Deliver returns nil, the message is listed, opened and streamed with every
//     byte as delivered until it is deleted. If Deliver returns an error other than
//     ErrUnknown, the message is nowhere.
//   - A list is newest first in the model's order (elasticinbox: message date;
//     james: UID; others: delivery time). It neither repeats nor misses a message,
//     even while deliveries go on.
//   - A handle is valid until its message is moved or deleted. A call with a stale
//     handle returns ErrNotFound and changes nothing, counters included. Open and
//     Attachment of a Keeper may still give the message. This holds for a call that begins
//     after the move or delete was acknowledged. If two clients change one message
//     together, the result may differ from both orders of the two calls, in the ways that
//     the model declares (modeltest.Races): oracle, where the engine is atomic over a shard,
//     can lose a flag to a move, and nothing else. docs/findings.md has a table.
//   - List and Open make no read for what their rows lack: Known says what they have.
//   - Flag is idempotent. Move and Delete of several messages are all or nothing if
//     the model's batch is atomic and the engine is atomic over their rows. Otherwise an
//     error after the first part is ErrUnknown. If one message is missing, the whole
//     call returns ErrNotFound.
//   - Folders and accounts of others are never touched.
//   - An error from a yield ends the call. The call returns it wrapped, so that a
//     caller compares with errors.Is. The optional interfaces below do the same.
type Mailbox interface {
	// CreateUser creates an account with the folders named. The first folder is
	// the inbox. It returns ErrExists if the address is taken and the engine can
	// decide, or if two folders have one name. An account without folders is an error,
	// except for a Poster.
	CreateUser(ctx context.Context, address string, folders []string) (*Account, error)
	// CreateFolder adds a folder to an account. It returns ErrExists if the name is taken.
	CreateFolder(ctx context.Context, a *Account, name string) (*Folder, error)
	// Login returns the account of an address with its folders, or ErrNotFound.
	Login(ctx context.Context, address string) (*Account, error)
	// Folders yields the account's folders with the numbers the model keeps.
	Folders(ctx context.Context, a *Account, yield func(FolderInfo) error) error
	// Deliver stores the message once in each of the folders (of different
	// accounts, as a rule) and sets handles[i] for to[i]. It returns nil when
	// body, index and counters are written. No folder may be named twice.
	Deliver(ctx context.Context, m *mail.Message, to []*Folder, handles []Handle) error
	// List yields up to limit entries that follow the message after; the zero
	// Handle begins with the newest. An entry is valid until yield returns. The
	// message after need not exist any more.
	List(ctx context.Context, f *Folder, after Handle, limit int, yield func(*Entry) error) error
	// Open reads metadata and text body into o, reusing its buffers.
	Open(ctx context.Context, f *Folder, h Handle, o *Opened) error
	// Raw writes the whole message to w in bounded memory and returns its size.
	// It returns ErrNotOffered if the model does not keep raw messages.
	Raw(ctx context.Context, f *Folder, h Handle, w io.Writer) (int64, error)
	// Attachment writes the decoded attachment of that name to w.
	Attachment(ctx context.Context, f *Folder, h Handle, name string, w io.Writer) (int64, error)
	// Flag sets or clears a flag. It returns ErrNotOffered for a flag that the
	// model does not store. Every model stores Seen.
	Flag(ctx context.Context, f *Folder, h Handle, flag Flag, on bool) error
	// Move moves messages to another folder of the same account and sets
	// handles[i] to the new handle of hs[i].
	Move(ctx context.Context, from, to *Folder, hs []Handle, handles []Handle) error
	// Delete removes messages from a folder. A model that keeps deleted messages
	// is a Purger.
	Delete(ctx context.Context, f *Folder, hs []Handle) error
	// Stats returns the folder's numbers in the way of the source design: from
	// counters, or by a scan.
	Stats(ctx context.Context, f *Folder) (Stats, error)
	// Accounts returns the addresses of all accounts, in their order, for a verification.
	Accounts(ctx context.Context) ([]string, error)
}

// Inspector finds faults that neither the schema declares nor the calls of a Mailbox return (elasticinbox), and adds
// them to those that were found.
type Inspector interface {
	Inspect(ctx context.Context, found *Audit) error
}

// Identifier keeps the identity of a message that moves (all but james). If two folders of an account show it, and the
// model is no Labeler, a move was interrupted.
type Identifier interface{ Identity(h Handle) [16]byte }

// RangeReader reads n bytes of the raw message from off on without reading
// the chunks before. A range stops at the end of the message.
type RangeReader interface {
	RawRange(ctx context.Context, f *Folder, h Handle, off, n int64, w io.Writer) (int64, error)
}

// Labeler shows one message in several folders (elasticinbox, datastax). Label
// returns the handle of the message in the other folder. Removing the last label
// of a message does not delete it.
type Labeler interface {
	Label(ctx context.Context, f *Folder, h Handle, label *Folder, on bool) (Handle, error)
}

// Keeper keeps a message that no folder shows any more (datastax), and an open reads the
// message only. So Open and Attachment may still give a message that is deleted or moved.
type Keeper interface{ KeepsBodies() }

// AllMailer keeps all mail of an account under one label (elasticinbox).
type AllMailer interface {
	// AllMail is the folder that shows all mail of the account. List and Stats know it, with the bytes of
	// all messages; no other operation does. It is valid until the next call.
	AllMail(a *Account) *Folder
}

// Purger keeps deleted messages until they are purged (elasticinbox).
type Purger interface {
	// Restore shows a deleted message under its labels again. The handle is the
	// one it had in any of them. It returns ErrNotFound if it is not deleted.
	Restore(ctx context.Context, a *Account, h Handle) error
	// Purge removes the messages that were deleted before a time, and returns
	// how many it removed.
	Purge(ctx context.Context, a *Account, before time.Time) (int, error)
}

// UIDs are IMAP UIDs (james): unique in a folder, ascending, never used again.
type UIDs interface {
	UID(h Handle) uint64
	// Expunge deletes the messages with from <= UID <= to, and returns how many
	// it deleted. If to is 0, there is no upper bound.
	Expunge(ctx context.Context, f *Folder, from, to uint64) (int, error)
}

// UserFlagger keeps flags that users name (james), which IMAP calls keywords. It sets or clears one as
// Flag does. A name has no spaces.
type UserFlagger interface {
	UserFlag(ctx context.Context, f *Folder, h Handle, name string, on bool) error
}

// Nester reads all of an account in one call where the engine can (oracle).
type Nester interface {
	// Nested yields the messages of all folders, those of a folder together, in any order, with the name of
	// the folder. e is nil for a folder without messages, and valid until yield returns.
	Nested(ctx context.Context, a *Account, yield func(folder string, e *Entry) error) error
}

// Subscriber keeps the folders to which an account has subscribed (james).
type Subscriber interface {
	Subscribe(ctx context.Context, a *Account, folder string, on bool) error
	Subscriptions(ctx context.Context, a *Account, yield func(folder string) error) error
}

// SenderSearcher finds messages by their sender's address (conversation).
type SenderSearcher interface {
	// BySender yields the folder's messages from that sender, newest first. If f
	// is nil, it searches every folder of every account and yields in any order.
	BySender(ctx context.Context, f *Folder, sender string, limit int, yield func(*Entry) error) error
}

// Slicer yields the messages whose id is between two times (conversation):
// id > minTimeuuid(from) and id < maxTimeuuid(to), newest first.
type Slicer interface {
	Slice(ctx context.Context, f *Folder, from, to time.Time, limit int, yield func(*Entry) error) error
}

// Seer keeps the viewers of a message in the order of their views (conversation).
type Seer interface {
	Seen(ctx context.Context, f *Folder, h Handle, who string) error
	SeenBy(ctx context.Context, f *Folder, h Handle, yield func(who string) error) error
}

// Poster shares one folder among many accounts (conversation). An account may be created without
// folders and join one later.
type Poster interface {
	// Join adds f to the folders of a, and returns it as a folder of a.
	Join(ctx context.Context, a *Account, f *Folder) (*Folder, error)
	// Leave takes f from the folders of its account. Its messages stay for the others, and at least
	// one must stay. It is idempotent.
	Leave(ctx context.Context, f *Folder) error
}

// Runner runs access patterns of its schema as operations (workloads/keyspace).
type Runner interface {
	// Prepare fills in the arguments of a pattern. pick chooses one of n rows, of which 0 is the newest; limit
	// is how many rows it reads at most if that is an argument, items how many keys a list has. It returns false
	// if there are no rows to choose from.
	Prepare(pattern int, pick func(n int) int, limit, items int) bool
	// Run runs the pattern that was prepared last.
	Run(ctx context.Context) error
}

// Recounter counts an account's indexes again and corrects its counters
// (elasticinbox). A caller does not let two recounts of one account overlap, since both would
// add what is missing, nor a recount and a change of the account.
type Recounter interface {
	Recount(ctx context.Context, a *Account) error
}

// Partly makes err an error of unknown outcome. An operation returns it if it has
// done a part of its work. The result holds the text of err but does not wrap it:
// a caller that finds ErrNotFound would believe that nothing was changed.
func Partly(err error) error {
	if err == nil || errors.Is(err, drivers.ErrUnknown) {
		return err
	}
	return fmt.Errorf("%w, done in part: %v", drivers.ErrUnknown, err)
}

// Withdraw calls undo to remove what a failed operation has written, and returns
// why, the reason of the failure. If undo fails, the result is ErrUnknown too. An
// operation of unknown outcome is not undone, since it may have succeeded.
func Withdraw(ctx context.Context, why error, undo func(ctx context.Context) error) error {
	if errors.Is(why, drivers.ErrUnknown) {
		return why
	}
	// The operation may have failed because ctx was canceled.
	if err := undo(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("%w (%w: taking it back failed: %w)", why, drivers.ErrUnknown, err)
	}
	return why
}

// Variant returns the model on a variant of its schema ("extends" in package schemas). The
// code is the same: a variant has all patterns that the model runs. Name and doc are those of
// the variant.
func (m Model) Variant(schema func() (*schemas.Schema, error)) (Model, error) {
	s, err := schema()
	if err != nil {
		return m, err
	}
	if schemas.BaseOf(s.Name) != m.Name {
		return m, fmt.Errorf("schema %s is no variant of model %s", s.Name, m.Name)
	}
	m.Name, m.Doc, m.Schema = s.Name, s.Doc, schema
	return m, nil
}

// Variants returns the model's variants that mailbench brings along, in alphabetical order of their names. Their
// schemas, which describe them, are not read yet.
func (m Model) Variants() (all []Model) {
	for _, name := range schemas.BundledVariants(m.Name) {
		all = append(all, Bundled(name, "", m.Bind))
	}
	return all
}
