package fit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mailbench/mailbench/models/mail"
)

// ReadMaildir adds the mail of maildirs. If dir is a maildir, or has one called INBOX, all maildirs
// in it are folders of one user, however deep. Else dir must have, for each user, such a folder, or
// a folder with one called Maildir. most bounds the bytes of a compressed message, unpacked.
func (s *Sample) ReadMaildir(ctx context.Context, dir string, most int64) error {
	r := &maildirs{Sample: s, ctx: ctx, most: most, parser: mail.NewParser()}
	below, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read maildir: %w", err)
	}
	if isAccount(dir) {
		err = r.account(dir)
	} else {
		for _, e := range below {
			user := filepath.Join(dir, e.Name())
			if in := filepath.Join(user, "Maildir"); !isAccount(user) && isAccount(in) {
				user = in
			}
			if err == nil && isAccount(user) {
				err = r.account(user)
			} else if err == nil {
				err = r.walk(user, nil, func(string) error {
					s.notes[mail.NoFolder]++
					return nil
				})
			}
		}
	}
	switch {
	case err != nil:
		return err
	case len(s.folders) == 0 && s.notes[mail.NoFolder] > 0:
		return &mail.FormatError{File: dir, Msg: "not a maildir, but there are maildirs deeper in it: expected the folders " +
			"cur and new in it, or in a folder for each user; name the folder that has the users"}
	case len(s.folders) == 0:
		return &mail.FormatError{File: dir, Msg: "not a maildir: expected the folders cur and new in it, or in a folder " +
			"for each user"}
	case s.messages == 0:
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

// walk calls do for each maildir in dir, and for dir itself if it is one. above are the folders that
// dir is in. A link in dir is followed, unless to one of them; deeper links are not.
func (r *maildirs) walk(dir string, above []fs.FileInfo, do func(dir string) error) error {
	i, err := os.Stat(dir)
	if err != nil || !i.IsDir() {
		return nil // a file, or it is gone
	}
	for _, a := range above {
		if os.SameFile(a, i) {
			return nil
		}
	}
	if err := r.ctx.Err(); err != nil {
		return err
	}
	below, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read maildir: %w", err)
	}
	parts := map[string]bool{}
	for _, e := range below {
		if name := e.Name(); name == "cur" || name == "new" || name == "tmp" {
			parts[name] = isFolder(filepath.Join(dir, name))
		}
	}
	switch {
	case parts["cur"]:
		err = do(dir)
	case parts["new"]:
		r.notes[mail.NewOnly]++
	}
	for _, e := range below {
		sub := filepath.Join(dir, e.Name())
		switch {
		case (parts["cur"] || parts["new"]) && parts[e.Name()]:
		case e.Type()&fs.ModeSymlink != 0 && len(above) > 0:
			if isFolder(sub) { // many links to each other would never end
				r.notes[mail.DeepLink]++
			}
		case err == nil:
			err = r.walk(sub, append(above, i), do)
		}
	}
	return err
}

// account adds a user whose folders are the maildirs in dir.
func (r *maildirs) account(dir string) error {
	var counts []int64
	err := r.walk(dir, nil, func(folder string) error {
		before := r.messages
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
		counts = append(counts, int64(r.messages-before))
		return nil
	})
	if err == nil {
		r.User(counts...)
	}
	return err
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
