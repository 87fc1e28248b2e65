package mail

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestCorpus reads real mail: every message is there, quoting them again gives
// the file back, and every part is where it says. The corpus lies beside the
// repository or where MAILBENCH_CORPUS says; testdata/small.mbox is read
// everywhere.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("MAILBENCH_CORPUS")
	if dir == "" {
		dir = "../../../shared/corpus"
	}
	for _, c := range []struct {
		path                string
		messages, malformed int64
	}{
		{"testdata/small.mbox", 6, 1},
		{filepath.Join(dir, "ham.mbox.gz"), 1400, 5},
		{filepath.Join(dir, "spam.mbox.gz"), 500, 77},
	} {
		if _, err := os.Stat(c.path); os.IsNotExist(err) && os.Getenv("MAILBENCH_CORPUS") == "" && filepath.Dir(c.path) == dir {
			t.Logf("%s is not here; set MAILBENCH_CORPUS to the folder that holds it", c.path)
			continue
		}
		t.Run(filepath.Base(c.path), func(t *testing.T) {
			f, err := Open(context.Background(), c.path, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if i := f.Info(); i.Messages != c.messages || i.Malformed != c.malformed {
				t.Errorf("%d messages, %d malformed; want %d and %d", i.Messages, i.Malformed, c.messages, c.malformed)
			}
			original := unzip(t, c.path)
			r, m := f.Reader(), Message{}
			at := 0
			for n := range uint64(f.Info().Messages) {
				if err := r.Message(n, time.Time{}, &m); err != nil {
					t.Fatal(err)
				}
				check(t, &m)
				raw, err := AppendContent(nil, m.Raw)
				if err != nil {
					t.Fatal(err)
				}
				fromLine := bytes.IndexByte(original[at:], '\n') + 1
				at += fromLine
				back := append(quote(raw), '\n')
				if at+len(back) > len(original) || !bytes.Equal(original[at:at+len(back)], back) {
					t.Fatalf("message %d is not what lies at byte %d of the file", n, at)
				}
				at += len(back)
			}
			if at != len(original) {
				t.Errorf("the messages are %d of %d bytes", at, len(original))
			}
		})
	}
}

// quote is what mboxrd does to a message.
func quote(raw []byte) []byte {
	var out []byte
	for line := range bytes.Lines(raw) {
		if bytes.HasPrefix(bytes.TrimLeft(line, ">"), []byte("From ")) {
			out = append(out, '>')
		}
		out = append(out, line...)
	}
	return out
}

func unzip(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bufio.NewReader(bytes.NewReader(b)))
		if err != nil {
			t.Fatal(err)
		}
		if b, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return b
}
