package fit

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/models/mail"
)

// packed is text compressed with gzip.
func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.String()
}

// TestMaildirs: which files are messages, of how many users and folders, in each layout.
func TestMaildirs(t *testing.T) {
	noise := make([]byte, 400_000)
	rand.Read(noise)
	const m = "Subject: s\n\nx\n"
	for name, c := range map[string]struct {
		files map[string]string // one whose text begins with -> is a link
		want  string            // users, messages by folder, bytes of bodies; or the error
		notes string
	}{
		"Maildir++":         {map[string]string{"cur/1": m, "new/2": m, ".A.B/cur/3": m, "tmp/4": m}, "1 [2 1] 6", ""},
		"LAYOUT=fs":         {map[string]string{"cur/1": m, "A/cur/2": m, "A/B/C/cur/3": m, "dovecot.index/cur/4": m}, "1 [1 1 1 1] 8", ""},
		"Verbatim":          {map[string]string{"INBOX/cur/1": m, "A/cur/2": m, "A/2021/cur/3": m, "Dev/Go/cur/4": m}, "1 [1 1 1 1] 8", ""},
		"users":             {map[string]string{"a/cur/1": m, "b/Maildir/cur/2": m, "b/Maildir/A/B/cur/3": m, "c/Inbox/cur/4": m, "c/D/cur/5": m}, "3 [1 1 1 1 1] 10", ""},
		"a folder too deep": {map[string]string{"a/cur/1": m, "x/b/cur/2": m}, "1 [1] 2", "1 entry was not read: no maildir of a user"},
		"domains":           {map[string]string{"x/a/cur/1": m, "x/b/cur/2": m}, "not a maildir: expected the folders cur and new", ""},
		"cur in cur":        {map[string]string{"cur/1": m, "cur/cur/2": m, "new/x/cur/3": m}, "1 [1] 2", "2 entries that are not plain files were skipped"},
		"dots":              {map[string]string{"cur/1": m, "cur/.nfs1": m, "new/.DS_Store": "x"}, "1 [1] 2", "2 files whose names begin with a dot were skipped"},
		"links":             {map[string]string{"cur/1": m, "cur/2": "->1", "A": "->.", "B/C": "->..", "B/cur/1": m}, "1 [1 1] 4", "3 entries that are not plain files were skipped"},
		"new alone":         {map[string]string{"cur/1": m, "A/new/2": m}, "1 [1 1] 4", ""},
		"gzip":              {map[string]string{"cur/1,S=9:2,S": packed("Subject: s\n\n" + strings.Repeat("words\n", 2000)), "cur/2": packed(m)}, "1 [2] 12002", ""},
		"large":             {map[string]string{"cur/1": packed("Subject: s\n\n" + string(noise))}, "1 [1] 400000", ""},
		"too large":         {map[string]string{"cur/1": packed("Subject: s\n\n" + string(noise) + string(noise) + string(noise))}, "cur/1: has more than 1000000 bytes, unpacked; if that is intended", ""},
		"damaged":           {map[string]string{"cur/1": packed(m)[:20]}, "cur/1: the gzip data ends early", ""},
		"zstd":              {map[string]string{"cur/1": "\x28\xb5\x2f\xfd1234"}, "cur/1: is compressed with zstd", ""},
		"xz":                {map[string]string{"cur/1": "\xfd7zXZ\x001234"}, "cur/1: is compressed with xz", ""},
		"bzip2":             {map[string]string{"cur/1": "BZh91AY&SY"}, "cur/1: is compressed with bzip2", ""},
		"lz4":               {map[string]string{"cur/1": "\x04\x22\x4d\x181234"}, "cur/1: is compressed with lz4", ""},
		"byte order mark":   {map[string]string{"cur/1": "\xef\xbb\xbf" + m, "cur/2": packed("\xef\xbb\xbf" + m)}, "1 [2] 4", ""},
		"separator, empty":  {map[string]string{"cur/1": "From a@b Sat Jan  1 10:00:00 2022\n" + m, "cur/2": ""}, "1 [2] 2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range c.files {
				path := filepath.Join(dir, file)
				err := os.MkdirAll(filepath.Dir(path), 0o700)
				if to, ok := strings.CutPrefix(text, "->"); err == nil && ok {
					err = os.Symlink(to, path)
				} else if err == nil {
					err = os.WriteFile(path, []byte(text), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			var s Sample
			err := s.ReadMaildir(t.Context(), dir, 1_000_000)
			var bytes int64
			for _, b := range s.bodies {
				bytes += b
			}
			got := fmt.Sprintf("%d %v %d", len(s.folders), s.counts, bytes)
			if err != nil {
				got = err.Error()
			}
			var format *mail.FormatError
			if !strings.Contains(got, c.want) || err != nil && !errors.As(err, &format) {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if notes := strings.Join(s.notes.Lines(), "|"); err == nil && (notes != c.notes || s.malformed > 0) {
				t.Errorf("notes %q, malformed %d, want %q", notes, s.malformed, c.notes)
			}
		})
	}
}
