package fit

import (
	"context"
	"fmt"
	"time"

	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/replay"
)

// ReadMbox adds the mail of mbox files, plain or compressed with gzip, as the folders of one
// user. most bounds the bytes of each file's messages, unpacked.
func (s *Sample) ReadMbox(ctx context.Context, most int64, paths ...string) error {
	var counts []int64
	for _, path := range paths {
		n, err := s.mbox(ctx, path, most)
		if err != nil {
			return err
		}
		counts = append(counts, n)
	}
	s.User(counts...)
	return nil
}

func (s *Sample) mbox(ctx context.Context, path string, most int64) (int64, error) {
	f, err := mail.Open(ctx, path, "", most)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r, m := f.Reader(), mail.Message{}
	for n := range f.Info().Messages {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err := r.Message(uint64(n), time.Time{}, &m); err != nil {
			return 0, err
		}
		s.Message(&m)
	}
	info := f.Info()
	s.notes.Add(info.Notes)
	return info.Messages, nil
}

// mostOperations bounds the memory that a trace takes.
const mostOperations = 20_000_000

// ReadTrace adds the operations of a trace.
func (s *Sample) ReadTrace(ctx context.Context, path string) error {
	f, err := plainfile.Open(path)
	if err != nil {
		return fmt.Errorf("open trace: %w", err)
	}
	defer f.Close()
	err = replay.Read(ctx, path, f, func(l *replay.Line, op workloads.Op) error {
		if s.operations == mostOperations {
			return fmt.Errorf("more than %d operations; divide the trace", mostOperations)
		}
		s.Operation(l, op)
		return nil
	})
	if err == nil && s.operations == 0 {
		err = &mail.FormatError{File: path, Msg: "the trace has no operations"}
	}
	return err
}
