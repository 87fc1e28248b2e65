// Package mail has what a mail server does with messages before any of them is
// stored: [Parser] finds the parts of a raw message, [Decoder] undoes their
// encodings, and [File] reads the messages of an mbox. All work in bounded
// memory, however large a message is.
package mail

import (
	"time"
)

// Address is a mail address with its display name.
type Address struct {
	Name    string
	Address string
}

// Message is a message to deliver. It holds what a mail server knows after
// reading it once; a model takes from it what its tables have a place for.
// Whoever makes one keeps these rules, and models rely on them:
//
//   - Names of attachments are unique within the message, valid UTF-8, and not empty.
//   - Body and attachments cover every leaf part of the message.
//   - From, To, Subject are decoded, valid UTF-8, without NUL; what the message
//     had there besides is in Raw.
type Message struct {
	Date        time.Time // of the Date header; the time of arrival where there is none
	MessageID   string
	From        Address
	To, Cc, Bcc []Address
	Subject     string
	Raw         Content
	Body        Part   // the first text part; of an unparsable message, all behind its header
	Attachments []Part // every other leaf part
	// Malformed says what could not be parsed, or "". Such a message is
	// delivered all the same, and counted.
	Malformed string
}

// Part is one leaf part. Content is decoded; Offset and Length say where its
// encoded bytes lie in Raw, so that models which keep the raw message can read
// just that range.
type Part struct {
	Name     string // "" for the body
	Type     string // media type, such as text/plain
	Encoding Encoding
	Offset   int64
	Length   int64
	Content  Content
}

// Encoding is a part's content transfer encoding in Raw. A part whose encoding
// cannot be undone is kept as it stands: Identity.
type Encoding uint8

// Encodings.
const (
	Identity Encoding = iota
	Base64
	QuotedPrintable
)
