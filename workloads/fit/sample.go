// Package fit measures mail or a trace, and writes a workload with the same sizes, counts and
// rates. [Sample] holds the measurements: [Sample.ReadMbox] and [Sample.ReadTrace]
// fill it, and [Sample.Workload] is the text of the workload. No address, name
// or subject gets into it.
//
// A size or count becomes a measured distribution (empirical): its quantiles and largest values.
// Users of a trace get the exponent of Zipf's law. Operations become a mix with their rate.
package fit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/replay"
)

// Sample holds measurements of mail, of a trace or of both. Its zero value is empty.
type Sample struct {
	bodies    []int64 // bytes of text of each message
	html      int     // messages with text and HTML
	malformed int
	notes     mail.Notes // what was skipped, repaired or guessed
	files     []int64    // number of files of each message that has any
	fileSizes []int64    // bytes
	shown     []int64    // number of recipients that each header names
	folders   []int64    // number of folders of each user
	counts    []int64    // number of messages of each folder

	mix        workloads.Mix
	times      []float64 // times of all operations, in seconds
	users      map[string]*account
	sizes      []int64 // bytes of each delivered message
	recipients []int64 // number of recipients of each delivery
}

// account is a user of a trace.
type account struct {
	asked   float64         // number of operations
	folders map[string]bool // the inbox is ""
}

// Message adds a message.
func (s *Sample) Message(m *mail.Message) {
	if m.Malformed {
		s.malformed++
	}
	s.bodies = append(s.bodies, m.Body.Content.Size())
	files, alternative := int64(0), m.Body.Type == "text/html"
	for i := range m.Attachments {
		p := &m.Attachments[i]
		if p.Type == "text/html" && !alternative && strings.HasPrefix(p.Name, "part-") {
			alternative = true // without a name of its own, it is the text again
			s.html++
			continue
		}
		files++
		s.fileSizes = append(s.fileSizes, p.Content.Size())
	}
	if files > 0 {
		s.files = append(s.files, files)
	}
	s.shown = append(s.shown, int64(max(1, len(m.To)+len(m.Cc)+len(m.Bcc))))
}

// User adds a user by the number of messages in each folder.
func (s *Sample) User(counts ...int64) {
	s.folders = append(s.folders, int64(len(counts)))
	s.counts = append(s.counts, counts...)
}

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
	info, r, m := f.Info(), f.Reader(), mail.Message{}
	for n := range info.Messages {
		if err := r.Message(uint64(n), time.Time{}, &m); err != nil {
			return 0, err
		}
		s.Message(&m)
	}
	s.notes.Add(info.Notes)
	return info.Messages, nil
}

// ReadTrace adds the operations of a trace.
func (s *Sample) ReadTrace(ctx context.Context, path string) error {
	f, err := plainfile.Open(path)
	if err != nil {
		return fmt.Errorf("open trace: %w", err)
	}
	defer f.Close()
	err = replay.Read(ctx, path, f, func(l *replay.Line, op workloads.Op) error {
		s.Operation(l, op)
		return nil
	})
	if err == nil && len(s.times) == 0 {
		err = &mail.FormatError{File: path, Msg: "the trace has no operations"}
	}
	return err
}

// Operation adds a line of a trace.
func (s *Sample) Operation(l *replay.Line, op workloads.Op) {
	s.mix[op]++
	s.times = append(s.times, l.Time)
	user := s.user(l.User)
	user.asked++
	for _, folder := range []string{l.Folder, l.To} {
		if !strings.EqualFold(folder, "inbox") {
			user.folders[folder] = true
		}
	}
	if op == workloads.Deliver {
		s.recipients = append(s.recipients, int64(max(1, len(l.Recipients))))
		for _, r := range l.Recipients {
			s.user(r)
		}
		if l.Size > 0 {
			s.sizes = append(s.sizes, int64(l.Size))
		}
	}
}

func (s *Sample) user(name string) *account {
	if s.users == nil {
		s.users = map[string]*account{}
	}
	a := s.users[name]
	if a == nil {
		a = &account{folders: map[string]bool{"": true}}
		s.users[name] = a
	}
	return a
}
