package models

import "time"

// Handle names one message within one folder. It is opaque: made by a model
// (oracle's holds folder, message id and created date) and only meaningful to
// it. The zero Handle names none. At most 32 bytes, so that a directory of
// millions of live messages fits in memory.
type Handle [32]byte

// IsZero reports whether the handle names nothing.
func (h Handle) IsZero() bool { return h == Handle{} }

// Account is a mailbox user as Login resolved it. Ref is the model's own.
type Account struct {
	Address string
	Folders []*Folder // the inbox first
	Ref     any
}

// Folder returns the account's folder of that name, or nil.
func (a *Account) Folder(name string) *Folder {
	for _, f := range a.Folders {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Folder is a folder as Login resolved it. Ref is the model's own: keys made
// once, so that operations neither build nor look them up.
type Folder struct {
	Name    string
	Account *Account
	Ref     any
}

// Known says which fields a model could tell without an extra read; the
// others are printed as missing.
type Known uint16

// The fields of an Entry, Opened, FolderInfo or Stats.
const (
	KnowFrom Known = 1 << iota
	KnowSubject
	KnowDate
	KnowSize
	KnowSeen
	KnowMessages
	KnowUnread
	KnowBytes
)

// Has reports whether all fields of w are known.
func (k Known) Has(w Known) bool { return k&w == w }

// Entry is one line of a folder listing.
type Entry struct {
	Handle  Handle
	Known   Known
	From    []byte // the sender's address
	Subject []byte
	Date    time.Time // the message's date, or its delivery time where the model keeps only that
	Size    int64     // of the raw message in bytes
	Seen    bool
}

// Opened is a message's metadata and text body. Its buffers are reused by the
// next Open.
type Opened struct {
	Entry
	Flags       Flag
	Body        []byte           // decoded text body, byte for byte as delivered
	Attachments []AttachmentInfo // in the order of the message where the model keeps it
}

// AttachmentInfo describes one attachment; Size is of the decoded bytes.
type AttachmentInfo struct {
	Name string
	Size int64
}

// Flag is a set of message flags.
type Flag uint8

// Flags. Every model has Seen.
const (
	Seen Flag = 1 << iota
	Answered
	Flagged
)

// FolderInfo is a folder's name with the numbers the model lists beside it.
type FolderInfo struct {
	Name             string
	Known            Known
	Messages, Unread int64
}

// Stats are a folder's numbers. Bytes are of raw messages.
type Stats struct {
	Known                   Known
	Messages, Unread, Bytes int64
}

// Audit counts what a model's store holds, and what is wrong with it. All but
// the first three are 0 in a whole store.
type Audit struct {
	Accounts, Folders int64
	Messages          int64 // index entries that lead to a message
	Deleted           int64 // deleted and not yet purged: kept on purpose
	Unreferenced      int64 // messages, bodies, attachments or names that nothing refers to
	Dangling          int64 // index entries without their message, or messages without their index entry
	Duplicated        int64 // messages in more than one folder where the model allows one
	BrokenBodies      int64 // chunks missing or left over, length or checksum wrong
	CounterDrift      int64 // sum of |counter − recount|
	Notes             []string
}

// Add adds one audit to another.
func (a *Audit) Add(b Audit) {
	a.Accounts += b.Accounts
	a.Folders += b.Folders
	a.Messages += b.Messages
	a.Deleted += b.Deleted
	a.Unreferenced += b.Unreferenced
	a.Dangling += b.Dangling
	a.Duplicated += b.Duplicated
	a.BrokenBodies += b.BrokenBodies
	a.CounterDrift += b.CounterDrift
	a.Notes = append(a.Notes, b.Notes...)
}
