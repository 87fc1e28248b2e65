package fit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	f, err := mail.Open(ctx, path, "", most, new(mail.Progress))
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

// Sample holds measurements of mail, of a trace or of both. Its zero value is empty.
type Sample struct {
	bodies    []int64 // bytes of text of each message
	html      int     // messages with text and HTML
	htmlOnly  int     // messages with HTML and no text
	malformed int
	notes     mail.Notes // what was skipped, repaired or guessed
	files     []int64    // number of files of each message that has any
	fileSizes []int64    // bytes
	shown     []int64    // number of recipients that each header names
	dates     []time.Time
	folders   []int64 // number of folders of each user
	counts    []int64 // number of messages of each folder

	mix        workloads.Mix
	times      []float64 // times of all operations, in seconds
	users      map[string]*account
	sizes      []int64                   // bytes of each delivered message
	recipients []int64                   // number of recipients of each delivery
	about      [workloads.NumOps][]int64 // number of messages of each operation, if it is given
}

// account is a user of a trace.
type account struct {
	asked   float64            // number of operations
	folders map[string]float64 // number of operations by folder; the inbox is ""
}

// Message adds a message.
func (s *Sample) Message(m *mail.Message) {
	if m.Malformed {
		s.malformed++
	}
	s.bodies = append(s.bodies, m.Body.Content.Size())
	htmlBody := m.Body.Type == "text/html"
	if htmlBody {
		s.htmlOnly++
	}
	files, alternative := int64(0), false
	for i := range m.Attachments {
		p := &m.Attachments[i]
		if p.Type == "text/html" && !htmlBody && !alternative && strings.HasPrefix(p.Name, "part-") {
			alternative = true // without a name of its own, it is the text again
			continue
		}
		files++
		s.fileSizes = append(s.fileSizes, p.Content.Size())
	}
	if alternative {
		s.html++
	}
	if files > 0 {
		s.files = append(s.files, files)
	}
	s.shown = append(s.shown, int64(max(1, len(m.To)+len(m.Cc)+len(m.Bcc))))
	if !m.Date.IsZero() {
		s.dates = append(s.dates, m.Date)
	}
}

// User adds a user by the number of messages in each folder.
func (s *Sample) User(counts ...int64) {
	s.folders = append(s.folders, int64(len(counts)))
	s.counts = append(s.counts, counts...)
}

// Operation adds a line of a trace.
func (s *Sample) Operation(l *replay.Line, op workloads.Op) {
	s.mix[op]++
	s.times = append(s.times, float64(l.Time))
	s.user(l.User).asked++
	if op != workloads.Deliver && !op.OfAccount() { // a delivery goes to the inbox
		s.user(l.User).folders[folder(l.Folder)]++
	}
	if l.To != "" {
		s.user(l.User).folders[folder(l.To)] += 0 // enter the folder
	}
	if l.Messages > 0 {
		s.about[op] = append(s.about[op], int64(l.Messages))
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
		a = &account{folders: map[string]float64{"": 0}}
		s.users[strings.Clone(name)] = a
	}
	return a
}

// folder is the key of a folder's name. The inbox has many spellings.
func folder(name string) string {
	if strings.EqualFold(name, "inbox") {
		return ""
	}
	return strings.Clone(name)
}

// ReadMaildir adds the mail of maildirs. If dir is a maildir, or has one called INBOX, all maildirs
// in it are folders of one user, however deep. Else dir must have, for each user, such a folder, or
// a folder with one called Maildir. most bounds the bytes of a compressed message, unpacked.
func (s *Sample) ReadMaildir(ctx context.Context, dir string, most int64) error {
	r := &maildirs{Sample: s, ctx: ctx, most: most, parser: mail.NewParser()}
	users := []string{dir}
	if !isAccount(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("read maildir: %w", err)
		}
		users = users[:0]
		for _, e := range entries {
			users = append(users, filepath.Join(dir, e.Name()))
		}
	}
	for _, user := range users {
		if in := filepath.Join(user, "Maildir"); !isAccount(user) && isAccount(in) {
			user = in
		}
		if err := r.user(user); err != nil {
			return err
		}
	}
	switch {
	case len(s.folders) == 0 && s.notes[mail.NoFolder] > 0:
		return &mail.FormatError{File: dir, Msg: "not a maildir, but there are maildirs deeper in it: expected the folders " +
			"cur and new in it, or in a folder for each user; name the folder that has the users"}
	case len(s.folders) == 0:
		return &mail.FormatError{File: dir, Msg: "not a maildir: expected the folders cur and new in it, or in a folder " +
			"for each user"}
	case len(s.bodies) == 0:
		return &mail.FormatError{File: dir, Msg: "has no messages in cur and new"}
	}
	return nil
}

func isFolder(path string) bool {
	i, err := os.Stat(path)
	return err == nil && i.IsDir()
}

func isMaildir(dir string) bool { return isFolder(filepath.Join(dir, "cur")) }

// isAccount reports whether the maildirs in dir are of one user. Dovecot and mbsync can write the
// inbox next to other folders.
func isAccount(dir string) bool {
	below, _ := os.ReadDir(dir) // no account if it is no folder
	for _, e := range below {
		name := strings.TrimPrefix(e.Name(), ".")
		if strings.EqualFold(name, "INBOX") && isMaildir(filepath.Join(dir, e.Name())) {
			return true
		}
	}
	return isMaildir(dir)
}

// maildirs reads maildirs into a sample.
type maildirs struct {
	*Sample
	ctx    context.Context
	most   int64
	parser *mail.Parser
}

// below returns the maildirs in dir, and dir itself if it is one. above are the folders that
// dir is in. A link in dir is followed, unless to one of them; deeper links are not.
func (r *maildirs) below(dir string, above ...fs.FileInfo) (found []string, err error) {
	i, err := os.Stat(dir)
	if err != nil || !i.IsDir() || slices.ContainsFunc(above, func(a fs.FileInfo) bool { return os.SameFile(a, i) }) {
		return nil, nil // a file, a link to a folder above, or it is gone
	}
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read maildir: %w", err)
	}
	is, fresh := isMaildir(dir), isFolder(filepath.Join(dir, "new"))
	if is {
		found = append(found, dir)
	} else if fresh {
		r.notes[mail.NewOnly]++
	}
	for _, e := range entries {
		sub := filepath.Join(dir, e.Name())
		switch {
		case (is || fresh) && slices.Contains([]string{"cur", "new", "tmp"}, e.Name()):
		case e.Type()&fs.ModeSymlink != 0 && len(above) > 0:
			if isFolder(sub) { // many links to each other would never end
				r.notes[mail.DeepLink]++
			}
		default:
			more, err := r.below(sub, append(above, i)...)
			if err != nil {
				return nil, err
			}
			found = append(found, more...)
		}
	}
	return found, nil
}

// user adds a user whose folders are the maildirs in dir. If these are deeper than those of a user, they are not read.
func (r *maildirs) user(dir string) error {
	folders, err := r.below(dir)
	if err != nil || !isAccount(dir) {
		r.notes[mail.NoFolder] += int64(len(folders))
		return err
	}
	counts := make([]int64, len(folders))
	for i, folder := range folders {
		before := len(r.bodies)
		for _, sub := range []string{"cur", "new"} {
			files, err := os.ReadDir(filepath.Join(folder, sub))
			if err != nil && !os.IsNotExist(err) {
				return fmt.Errorf("read maildir: %w", err)
			}
			for _, e := range files {
				if err := r.file(filepath.Join(folder, sub, e.Name()), e); err != nil {
					return err
				}
			}
		}
		counts[i] = int64(len(r.bodies) - before)
	}
	r.User(counts...)
	return nil
}

// file adds the message of a file. Only a plain file is a message, and none whose name begins with a dot.
func (r *maildirs) file(path string, e fs.DirEntry) error {
	switch {
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case strings.HasPrefix(e.Name(), "."):
		r.notes[mail.DotFile]++
		return nil
	case !e.Type().IsRegular():
		r.notes[mail.NoFile]++
		return nil
	}
	f, err := mail.OpenMessage(path, r.most)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a mail program moved it
	} else if err != nil {
		return fmt.Errorf("read maildir: %w", err)
	}
	defer f.Close()
	var m mail.Message
	if err := r.parser.Parse(f, time.Time{}, &m); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r.Message(&m)
	r.notes.Count(&m)
	return nil
}
