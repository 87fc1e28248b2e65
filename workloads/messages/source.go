// Package messages makes the messages of a workload. [NewGenerator] generates MIME
// messages that are a function of (seed, n); [Open] reads those of an mbox. Both
// are a [Source].
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

// Reader makes messages, in buffers that it owns. A message is valid until the
// reader makes the next one. To hold several at once, use several readers.
type Reader interface {
	// Message sets m to message n. A generated message gets the date. A message of a file
	// gets it only if it has none of its own. After the last message of a file the first
	// comes again.
	Message(n uint64, date time.Time, m *mail.Message) error
	// From returns the sender's address of message n; it is valid until the
	// reader's next call.
	From(n uint64) (string, error)
}

// Sizer is a Reader that can make a message of a given size. Readers of a file cannot.
type Sizer interface {
	// Sized is like Message. The whole message has about size bytes, but at least its header,
	// and an attachment if it is large.
	Sized(n uint64, date time.Time, size int, m *mail.Message) error
}

// Measurer is a Reader that knows a message's size in bytes before it reads it, as of a file.
type Measurer interface {
	Size(n uint64) int64
}

// Open returns the mail of the mbox at path as a Source; see [mail.Open].
func Open(ctx context.Context, path, temp string, most int64) (Source, error) {
	f, err := mail.Open(ctx, path, temp, most)
	if err != nil {
		return nil, err
	}
	return file{f}, nil
}

type file struct{ *mail.File }

// Reader implements Source.
func (f file) Reader() Reader { return f.File.Reader() }
