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

// corpus returns the path of a file of real mail. The corpus lies in the folder
// shared/corpus next to the repository, or where MAILBENCH_CORPUS says. In CI, or
// if that variable is set, the file must be there; elsewhere the test is skipped.
func corpus(t *testing.T, name string) string {
	t.Helper()
	dir, given := os.LookupEnv("MAILBENCH_CORPUS")
	if !given {
		dir = "../../../shared/corpus"
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		const help = "set MAILBENCH_CORPUS to the folder that holds the corpus"
		if given || os.Getenv("CI") != "" {
			t.Fatalf("%v; %s", err, help)
		}
		t.Skipf("%v; %s", err, help)
	}
	return path
}

// TestCorpus reads real mail: every message is there, quoting them again gives
// the file back, and every part is where it says.
func TestCorpus(t *testing.T) {
	for _, c := range []struct {
		name                string
		messages, malformed int64
	}{
		{"small.mbox", 6, 1},
		{"ham.mbox.gz", 1400, 5},
		{"spam.mbox.gz", 500, 62},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join("testdata", c.name)
			if c.name != "small.mbox" {
				path = corpus(t, c.name)
			}
			f, err := Open(context.Background(), path, t.TempDir(), 1<<40)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if i := f.Info(); i.Messages != c.messages || i.Malformed != c.malformed {
				t.Errorf("%d messages, %d malformed; want %d and %d", i.Messages, i.Malformed, c.messages, c.malformed)
			}
			original := unzip(t, path)
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

// quote is a message as mboxrd stores it.
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
