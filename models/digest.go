package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/mailbench/mailbench/models/mail"
)

// Promise is what a model must give back of a message, byte for byte: the raw
// message where it keeps that, else the text body and, where it keeps them,
// the attachments.
type Promise struct {
	Raw         bool `json:"raw"`
	Attachments bool `json:"attachments"`
}

// PromisesAll is the promise of a model of which it is not known what it promises.
var PromisesAll = Promise{Raw: true, Attachments: true}

// Digester computes 64-bit digests (XXH64) of what a model was given and of
// what it gives back. Attachments are added up, since not every model keeps
// their order.
type Digester struct {
	promise Promise
	hash    xxhash.Digest
	opened  Opened
}

// readBuffers are shared by all digesters: ten thousand clients have one each.
var readBuffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// NewDigester returns a digester for what a model promises.
func NewDigester(p Promise) *Digester { return &Digester{promise: p} }

// Message returns the digest of the bytes of a delivered message that the model must give back.
func (d *Digester) Message(m *mail.Message) (uint64, error) {
	if d.promise.Raw {
		return d.content("", m.Raw)
	}
	sum, err := d.content("", m.Body.Content)
	if !d.promise.Attachments {
		return sum, err
	}
	for i := range m.Attachments {
		a := &m.Attachments[i]
		one, aerr := d.content(a.Name, a.Content)
		sum, err = sum+one, errors.Join(err, aerr)
	}
	return sum, err
}

func (d *Digester) content(name string, c mail.Content) (uint64, error) {
	buf := readBuffers.Get().(*[64 << 10]byte)
	defer readBuffers.Put(buf)
	d.begin(name)
	for at := int64(0); at < c.Size(); {
		n, err := c.ReadAt(buf[:min(int64(len(buf)), c.Size()-at)], at)
		d.hash.Write(buf[:n])
		if at += int64(n); err != nil && at < c.Size() {
			return 0, fmt.Errorf("read message: %w", err)
		}
	}
	return d.hash.Sum64(), nil
}

func (d *Digester) begin(name string) {
	d.hash.Reset()
	d.hash.WriteString(name)
	d.hash.Write([]byte{0})
}

// Stored returns the digest of the bytes that the model gives back of a message. The error is ErrBroken if an
// attachment is missing or has another size.
func (d *Digester) Stored(ctx context.Context, mb Mailbox, f *Folder, h Handle) (uint64, error) {
	if d.promise.Raw {
		sum, _, err := d.stream("", func(w io.Writer) (int64, error) { return mb.Raw(ctx, f, h, w) })
		if !errors.Is(err, ErrNotOffered) {
			return sum, err
		}
	}
	if err := mb.Open(ctx, f, h, &d.opened); err != nil {
		return 0, err
	}
	d.begin("")
	d.hash.Write(d.opened.Body)
	d.opened.Body = Reuse(d.opened.Body)
	sum := d.hash.Sum64()
	if !d.promise.Attachments {
		return sum, nil
	}
	for _, a := range d.opened.Attachments {
		one, n, err := d.stream(a.Name, func(w io.Writer) (int64, error) { return mb.Attachment(ctx, f, h, a.Name, w) })
		if errors.Is(err, ErrNotFound) || err == nil && n != a.Size {
			err = fmt.Errorf("%w: attachment %q has %d bytes instead of %d", ErrBroken, a.Name, n, a.Size)
		}
		if err != nil {
			return 0, err
		}
		sum += one
	}
	return sum, nil
}

func (d *Digester) stream(name string, read func(io.Writer) (int64, error)) (sum uint64, n int64, err error) {
	d.begin(name)
	n, err = read(&d.hash)
	return d.hash.Sum64(), n, err
}
