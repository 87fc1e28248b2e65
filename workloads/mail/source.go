// Package mail is where messages to deliver come from: a generator of MIME
// messages that are a function of (seed, n), and mail files (mbox), read in
// bounded memory. Both are a [Source].
package mail

import (
	"time"

	"github.com/mailbench/mailbench/models"
)

// Source is where messages come from. All workers share one.
type Source interface {
	// Reader returns a reader for one goroutine.
	Reader() Reader
	// Info says what the source holds.
	Info() Info
	// Close releases the source's files. Readers must not be used any more.
	Close() error
}

// Reader makes messages and owns the buffers they lie in. A message is valid
// until the reader makes its next: who holds several at once has a reader for
// each.
type Reader interface {
	// Message sets m to message n. A generated message carries the date; a
	// message of a file has its own, and date stands in only where it has none. A file with
	// fewer messages begins again from its first.
	Message(n uint64, date time.Time, m *models.Message) error
	// From returns the sender's address of message n; it is valid until the
	// reader's next call.
	From(n uint64) (string, error)
}

// Info says what a source holds.
type Info struct {
	File      string // "" for generated mail
	SHA256    string // of the file as it lies on disk, in hex
	Messages  int64  // in the file; 0: as many as are asked for
	Bytes     int64  // of all messages
	Malformed int64  // messages that could be parsed only in part: delivered all the same
}
