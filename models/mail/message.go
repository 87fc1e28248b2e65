// Package mail holds messages and reads them: [Parser] finds the parts of a raw
// message, [Decoder] undoes their encodings, and [File] reads the messages of an
// mbox. Memory is bounded, however large a message is.
package mail

import "time"

// Address is a mail address with its display name.
type Address struct {
	Name    string
	Address string
}

// Message is a message to deliver. It holds what a mail server knows after
// reading it once; a model stores the fields that its tables have a place for.
// Models rely on these rules:
//
//   - Names of attachments are unique within the message, valid UTF-8, and not empty.
//   - Body and attachments cover every leaf part of the message.
//   - From, To and Subject are decoded, valid UTF-8, and without NUL. Raw keeps
//     the bytes that the message had there.
type Message struct {
	Date        time.Time // date of the Date header, or the time of arrival without one; from MinDate to MaxDate
	Arrived     time.Time // when it arrived; zero: when it is delivered
	MessageID   string
	From        Address
	To, Cc, Bcc []Address
	Subject     string
	Raw         Content
	Body        Part   // the first text part; everything after the header if the message has no readable parts
	Attachments []Part // every other leaf part
	// Malformed says what could not be parsed, or is "". A malformed message is
	// delivered all the same, and counted.
	Malformed string
	Noted     uint32 // a bit for each [Kind] that the parser skipped, repaired or guessed
}

// Part is a part that has no parts. Content is decoded. Offset and Length are
// the range of its encoded bytes in Raw: a model that stores the raw message can
// read just that range.
type Part struct {
	Name     string // "" for the body
	Type     string // media type, such as text/plain
	Encoding Encoding
	Offset   int64
	Length   int64
	Content  Content
}

// Encoding is a part's content transfer encoding in Raw. It is Identity if the
// encoding cannot be undone: Content is then the encoded bytes.
type Encoding uint8

// Encodings.
const (
	Identity Encoding = iota
	Base64
	QuotedPrintable
)
