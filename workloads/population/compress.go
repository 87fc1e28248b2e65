package population

import (
	"context"
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas/forecast"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
)

// Compress measures what a compressor leaves of the first messages of a load: up to
// compressedMost messages or compressedBytes bytes.
func Compress(
	ctx context.Context, w *workloads.Workload, source messages.Source, by *forecast.Compression,
) (*forecast.Compressed, error) {
	c, err := plan.NewCensus(ctx, w)
	if err != nil {
		return nil, fmt.Errorf("population: %w", err)
	}
	order, err := c.LoadOrder(ctx)
	if err != nil {
		return nil, fmt.Errorf("population: %w", err)
	}
	raw, bodies, attachments := stream{by: by}, stream{by: by}, stream{by: by}
	r := source.Reader()
	var m mail.Message
	n := 0
	for ; n < compressedMost && raw.in < compressedBytes && ctx.Err() == nil; n++ {
		a, ok := order.Next()
		if !ok && n > 0 {
			break
		}
		err := r.Message(a.N, a.Date, &m)
		if err == nil {
			err = raw.add(m.Raw)
		}
		if err == nil {
			err = bodies.add(m.Body.Content)
		}
		for i := 0; i < len(m.Attachments) && err == nil; i++ {
			err = attachments.add(m.Attachments[i].Content)
		}
		if err != nil {
			return nil, fmt.Errorf("compress a sample of the mail: %w", err)
		}
	}
	return &forecast.Compressed{
		Compressor: by.Name, Block: by.Block, Messages: n,
		Raw: raw.left(), Bodies: bodies.left(), Attachments: attachments.left(),
	}, ctx.Err()
}

const (
	compressedMost  = 500
	compressedBytes = 32 << 20
)

// stream compresses one kind of content of all messages in blocks, as a column of a table
// would hold it. in and out are bytes before and after.
type stream struct {
	by      *forecast.Compression
	buffer  []byte
	in, out int64
}

// add compresses a content, block by block, until there is enough for a sample.
func (s *stream) add(c mail.Content) error {
	for off := int64(0); off < c.Size() && s.in < compressedBytes; {
		at := len(s.buffer)
		n := int(min(int64(s.by.Block-at), c.Size()-off))
		s.buffer = slices.Grow(s.buffer, n)[:at+n]
		if err := mail.ReadFull(c, s.buffer[at:], off); err != nil {
			return err
		}
		if off += int64(n); len(s.buffer) == s.by.Block {
			s.block(s.buffer)
			s.buffer = s.buffer[:0]
		}
	}
	return nil
}

func (s *stream) block(b []byte) {
	s.in += int64(len(b))
	s.out += int64(s.by.Compressed(b))
}

// left compresses the last block, and returns the share of all bytes that is left.
func (s *stream) left() float64 {
	if len(s.buffer) > 0 {
		s.block(s.buffer)
		s.buffer = nil
	}
	if s.in == 0 {
		return 1
	}
	return float64(s.out) / float64(s.in)
}
