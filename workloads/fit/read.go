package fit

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
	return f.Info().Messages, nil
}

// ReadMaildir adds the mail of a maildir; the maildirs in it are folders of the same user. If
// dir is no maildir, it must have, for each user, a maildir or a folder with a maildir called
// Maildir.
func (s *Sample) ReadMaildir(ctx context.Context, dir string) error {
	below, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read maildir: %w", err)
	}
	p := mail.NewParser()
	if isMaildir(dir) {
		err = s.maildirs(ctx, p, dir)
	} else {
		for _, e := range below {
			for _, user := range []string{filepath.Join(dir, e.Name()), filepath.Join(dir, e.Name(), "Maildir")} {
				if err == nil && isMaildir(user) {
					err = s.maildirs(ctx, p, user)
				}
			}
		}
	}
	switch {
	case err != nil:
		return err
	case len(s.folders) == 0:
		return &mail.FormatError{File: dir, Msg: "not a maildir: expected the folders cur and new in it, or in a folder " +
			"for each user"}
	case s.messages == 0:
		return &mail.FormatError{File: dir, Msg: "has no messages in cur and new"}
	}
	return nil
}

func isMaildir(dir string) bool {
	i, err := os.Stat(filepath.Join(dir, "cur"))
	return err == nil && i.IsDir()
}

// maildirs adds a user whose folders are the maildir and the maildirs in it.
func (s *Sample) maildirs(ctx context.Context, p *mail.Parser, dir string) error {
	folders := []string{dir}
	below, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read maildir: %w", err)
	}
	for _, e := range below {
		if sub := filepath.Join(dir, e.Name()); isMaildir(sub) {
			folders = append(folders, sub)
		}
	}
	var counts []int64
	for _, folder := range folders {
		before := s.messages
		for _, sub := range []string{"cur", "new"} {
			files, err := os.ReadDir(filepath.Join(folder, sub))
			if err != nil && !os.IsNotExist(err) {
				return fmt.Errorf("read maildir: %w", err)
			}
			for _, e := range files {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := s.file(p, filepath.Join(folder, sub, e.Name()), e); err != nil {
					return err
				}
			}
		}
		counts = append(counts, int64(s.messages-before))
	}
	s.User(counts...)
	return nil
}

// file adds the message of a file. Only a plain file is a message.
func (s *Sample) file(p *mail.Parser, path string, e fs.DirEntry) error {
	if !e.Type().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil // a mail program moved it
	} else if err != nil {
		return fmt.Errorf("read maildir: %w", err)
	}
	defer f.Close()
	i, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read maildir: %w", err)
	}
	var m mail.Message
	if err := p.Parse(io.NewSectionReader(f, 0, i.Size()), time.Time{}, &m); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	s.Message(&m)
	return nil
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
