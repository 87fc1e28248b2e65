package models

import (
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
)

// Handle names one message within one folder. Only the model that made it can
// read it: oracle's holds folder, message id and created date. The zero Handle
// names no message. It has 32 bytes, so that handles of millions of messages fit
// in memory.
type Handle [32]byte

// IsZero reports whether the handle names nothing.
func (h Handle) IsZero() bool { return h == Handle{} }

// Account is a mailbox user as Login returns it. Ref belongs to the model.
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

// Add adds a folder, the inbox before the others.
func (a *Account) Add(f *Folder, inbox bool) {
	at := len(a.Folders)
	if inbox {
		at = 0
	}
	a.Folders = slices.Insert(a.Folders, at, f)
}

// Folder is a folder as Login returns it. Ref belongs to the model: it holds keys
// that operations then need neither build nor look up.
type Folder struct {
	Name    string
	Account *Account
	Ref     any
}

// Known is the set of fields that a model returns without an extra read. Output
// shows the other fields as missing.
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
	Size    int64     // size of the raw message in bytes
	Seen    bool
}

// Opened is a message's metadata and text body. Its buffers are reused by the
// next Open.
type Opened struct {
	Entry
	Flags       Flag
	Body        []byte           // decoded text body, with every byte as delivered
	UserFlags   []string         // flags that users name, if the model is a UserFlagger
	Attachments []AttachmentInfo // in the order of the message if the model keeps that order
}

// AttachmentInfo describes one attachment; Size is of the decoded bytes.
type AttachmentInfo struct {
	Name string
	Size int64
}

// Set sets what a row has of a message: text columns, and a map from the names of attachments to their sizes. A
// row without a body, which may be empty, is left by a write to a deleted message.
func (o *Opened) Set(from, subject, body, sizes drivers.Value) (err error) {
	if body.IsNull() {
		return ErrNotFound
	}
	o.From = append(o.From[:0], from.Raw()...)
	o.Subject = append(o.Subject[:0], subject.Raw()...)
	o.Body, err = DecodeText(o.Body[:0], body.Raw())
	o.Attachments = o.Attachments[:0]
	for elems := sizes.Elems(); len(elems) > 0; elems = elems[2:] {
		o.Attachments = append(o.Attachments, AttachmentInfo{Name: elems[0].Str(), Size: elems[1].Int64()})
	}
	return err
}

// Flag is a set of message flags.
type Flag uint8

// Flags. Every model has Seen.
const (
	Seen Flag = 1 << iota
	Answered
	Flagged
	Deleted // to be expunged
	Draft
)

// FolderInfo is a folder's name with the numbers that the model lists with it.
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
