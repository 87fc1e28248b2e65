// Package messages is where the messages of a workload come from: a generator
// of MIME messages that are a function of (seed, n), or a mail file (mbox).
// Both are a [Source].
package messages

import (
	"context"
	"time"

	"github.com/mailbench/mailbench/models/mail"
)

// Source is where messages come from. All workers share one.
type Source interface {
	// Reader returns a reader for one goroutine.
	Reader() Reader
	// Info says what the mail file holds. It is the zero Info for generated mail.
	Info() mail.Info
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
	Message(n uint64, date time.Time, m *mail.Message) error
	// From returns the sender's address of message n; it is valid until the
	// reader's next call.
	From(n uint64) (string, error)
}

// Open returns the mail of the mbox at path as a Source; see [mail.Open].
func Open(ctx context.Context, path, temp string) (Source, error) {
	f, err := mail.Open(ctx, path, temp)
	if err != nil {
		return nil, err
	}
	return file{f}, nil
}

type file struct{ *mail.File }

// Reader implements Source.
func (f file) Reader() Reader { return f.File.Reader() }
