package mail

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func write(t testing.TB, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestSplit(t *testing.T) {
	const sep = "From a@b Sat Jan  1 10:00:00 2022\n"
	for name, c := range map[string]struct {
		mbox string
		want []string
	}{
		"no empty lines":          {sep + "S: x\n\n1\n" + sep + "S: y\n" + sep + "2\n", []string{"S: x\n\n1\n", "S: y\n", "2\n"}},
		"a blank in the line":     {sep + "1\n \n" + sep + "2\n", []string{"1\n \n", "2\n"}},
		"separator twice":         {sep + sep + "1\n", []string{sep + "1\n"}},
		"prose":                   {sep + "\n1\n\nFrom now on\nFrom Sat to Sun\n\n" + sep + "2\n", []string{"\n1\n\nFrom now on\nFrom Sat to Sun\n", "2\n"}},
		"prose with a date":       {sep + "\nFrom what we saw on Sat Jan  1 10:00:00 2022\n", []string{"\nFrom what we saw on Sat Jan  1 10:00:00 2022\n"}},
		"bare separators":         {sep + "1\n\nFrom \n2\n\nFrom - Sat\n3\n\nFrom -\n4\n", []string{"1\n", "2\n", "3\n", "4\n"}},
		"byte order mark":         {"\xef\xbb\xbf" + sep + "1\n", []string{"1\n"}},
		"empty lines before":      {"\r\n\n" + sep + "1\n", []string{"1\n"}},
		"zone, no seconds":        {sep + "1\nFrom x Sat Jan 1 10:00 EST 2022\n2\n", []string{"1\n", "2\n"}},
		"zone after the year":     {sep + "1\nFrom x Sat Jan 01 10:00:00 2022 +0100 (CET)\n2\n", []string{"1\n", "2\n"}},
		"zone before the year":    {sep + "1\nFrom 17@xxx Sat Jan 01 10:00:00 +0000 2022\n2\n", []string{"1\n", "2\n"}},
		"a date of mail":          {sep + "1\nFrom x Sat, 1 Jan 2022 10:00:00 +0000\n2\nFrom x 2022-01-01T10:00:00Z\n3\n", []string{"1\n", "2\n", "3\n"}},
		"uucp":                    {sep + "1\nFrom x Sat Jan 1 10:00:00 2022 remote from y\n2\n", []string{"1\n", "2\n"}},
		"undated":                 {"From a@b\n1\n\nFrom c@d\n2\n", []string{"1\n", "2\n"}},
		"one":                     {"From a\nS: x\n\nbody\n", []string{"S: x\n\nbody\n"}},
		"no line break at end":    {"From a\nS: x\n\nbody", []string{"S: x\n\nbody"}},
		"two":                     {"From a\n1\n\nFrom b\n2\n\n", []string{"1\n", "2\n"}},
		"empty lines are kept":    {"From a\n1\n\n\n\nFrom b\n2\n\n\n", []string{"1\n\n\n", "2\n\n"}},
		"crlf":                    {"From a\r\n1\r\n\r\nFrom b\r\n2\r\n\r\n", []string{"1\r\n", "2\r\n"}},
		"quoted":                  {"From a\n\n>From x\n>>From y\n> From z\n", []string{"\nFrom x\n>From y\n> From z\n"}},
		"From within a paragraph": {"From a\n\nline\nFrom x\n", []string{"\nline\nFrom x\n"}},
		"messages of nothing":     {"From a\n\nFrom b\n\n", []string{"", ""}},
		"a long line":             {"From a\n\n" + strings.Repeat("x", 1<<20) + "From b\n", []string{"\n" + strings.Repeat("x", 1<<20) + "From b\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			packed := gzipped(t, []byte(c.mbox))
			half := gzipped(t, []byte(c.mbox[:len(c.mbox)/2]))
			for _, b := range [][]byte{
				[]byte(c.mbox), packed, append(half, gzipped(t, []byte(c.mbox[len(c.mbox)/2:]))...),
			} {
				f, err := Open(t.Context(), write(t, "mail", b), t.TempDir(), 1<<40)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				var got []string
				r, m := f.Reader(), Message{}
				for n := range uint64(f.Info().Messages) {
					if err := r.Message(n, time.Time{}, &m); err != nil {
						t.Fatal(err)
					}
					raw, _ := AppendContent(nil, m.Raw)
					got = append(got, string(raw))
				}
				if fmt.Sprintf("%.200q", got) != fmt.Sprintf("%.200q", c.want) || f.Info().Bytes != int64(len(strings.Join(c.want, ""))) {
					t.Errorf("got %.200q, want %.200q", got, c.want)
				}
			}
		})
	}
}

func TestUnusableFiles(t *testing.T) {
	many := []byte(strings.Repeat("From a\nSubject: x\n\n"+strings.Repeat("body ", 40)+"\n\n", 20_000))
	packed := gzipped(t, many)
	damaged := bytes.Clone(packed)
	damaged[len(damaged)-6] ^= 0xff // of the checksum
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"no From line":    {[]byte("Subject: x\n\nbody\n"), `not an mbox: expected a first line that begins with "From "`},
		"empty":           {nil, "is empty; expected an mbox"},
		"empty, packed":   {gzipped(t, nil), "is empty; expected an mbox"},
		"cut":             {packed[:len(packed)-9], "the gzip data ends early, 19,999 whole messages before that; get the file again"},
		"cut at its head": {packed[:5], "the gzip data ends early, 0 whole messages"},
		"damaged":         {damaged, "the gzip data is damaged"},
		"after it":        {append(bytes.Clone(packed), "other data"...), "the gzip data is damaged (gzip: invalid header), 19,999 whole messages"},
		"of one message":  {gzipped(t, many[:300])[:30], "0 whole messages"},
		"CR alone":        {bytes.ReplaceAll(many, []byte("\n"), []byte("\r")), "lines end with CR alone; convert them"},
		"UTF-16":          {[]byte("\xff\xfeF\x00r\x00"), "is text in UTF-16; convert it"},
		"NUL":             {make([]byte, 4096), `not an mbox: expected a first line`},
		"zstd":            {[]byte("\x28\xb5\x2f\xfd data"), "is compressed with zstd; unpack it first"},
		"xz":              {[]byte("\xfd7zXZ\x00 data"), "is compressed with xz; unpack it first"},
		"bzip2":           {[]byte("BZh91AY&SY data"), "is compressed with bzip2; unpack it first"},
		"lz4":             {[]byte("\x04\x22\x4d\x18 data"), "is compressed with lz4; unpack it first"},
		"zip":             {[]byte("PK\x03\x04 data"), "is a zip archive; unpack it first"},
		"no gzip inside":  {[]byte{0x1f, 0x8b, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, "the gzip data is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			path, temp := write(t, "x.mbox", c.file), t.TempDir()
			_, err := Open(t.Context(), path, temp, 1<<40)
			var format *FormatError
			if !errors.As(err, &format) || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v (%T); want one line with %q", err, err, c.want)
			}
			if left, _ := os.ReadDir(temp); len(left) > 0 {
				t.Errorf("%s is left behind", left[0].Name())
			}
		})
	}
	if _, err := Open(t.Context(), t.TempDir(), "", 1<<40); err == nil {
		t.Error("a folder was opened as mail")
	}
	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "none"), "", 1<<40); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	path := write(t, "x.mbox", many)
	if _, err := Open(t.Context(), path, filepath.Join(t.TempDir(), "none"), 1<<40); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a temporary folder that is not there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, path, "", 1<<40); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// TestSplitStops: splitting one large message stops when its context ends.
func TestSplitStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := io.MultiReader(strings.NewReader("From a\n\n"), canceling(cancel), strings.NewReader("line\n"))
	var out bytes.Buffer
	err := split(ctx, new(Notes), r, bufio.NewWriter(&out), 1<<40, func(int64) { t.Error("the message has ended") })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// canceling is an empty reader that ends a context when it is read.
type canceling context.CancelFunc

func (c canceling) Read([]byte) (int, error) {
	c()
	return 0, io.EOF
}

// TestFileBeginsAgain: message n of a file with k messages is n mod k, and a
// reader may read them in any order.
func TestFileBeginsAgain(t *testing.T) {
	f, err := Open(t.Context(), "testdata/small.mbox", t.TempDir(), 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	date := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	r, m := f.Reader(), Message{}
	for _, n := range []uint64{7, 1, 1 + 6*1e12} {
		if err := r.Message(n, date, &m); err != nil {
			t.Fatal(err)
		}
		from, err := r.From(n)
		if err != nil || m.Subject != "Parts within parts €" || from != "list@mailbench.example" {
			t.Errorf("message %d: subject %q, from %q, error %v", n, m.Subject, from, err)
		}
	}
	if err := r.Message(2, date, &m); err != nil || !m.Date.Equal(date) {
		t.Errorf("a message without a date has %v, error %v; want the one given", m.Date, err)
	}
}

// TestBoundedMemory reads a message of 25 MB in base64 and a header of 1 MB,
// and holds neither in memory.
func TestBoundedMemory(t *testing.T) {
	const size = 25 << 20
	var b bytes.Buffer
	b.WriteString("From a\nSubject: large\nTo: " + strings.Repeat("somebody@mailbench.example,\n ", 40_000) + "x@y.example\n" +
		"Content-Type: multipart/mixed; boundary=b\n\n--b\n\ntext\n--b\nContent-Transfer-Encoding: base64\nContent-Type: image/png\n\n")
	for range size / 57 {
		b.WriteString(strings.Repeat("QUJD", 19) + "\n")
	}
	b.WriteString("--b--\n\n")
	path := write(t, "large.mbox.gz", gzipped(t, b.Bytes()))
	b = bytes.Buffer{}
	f, err := Open(t.Context(), path, t.TempDir(), 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r, m := f.Reader(), Message{}
	if err := r.Message(0, time.Time{}, &m); err != nil {
		t.Fatal(err)
	}
	got, buf := int64(0), make([]byte, 1<<20)
	for got < m.Attachments[0].Content.Size() {
		n, err := m.Attachments[0].Content.ReadAt(buf, got)
		if got += int64(n); n == 0 {
			t.Fatalf("at %d: %v", got, err)
		}
	}
	runtime.ReadMemStats(&after)
	if got != size/57*57 || m.Subject != "large" || m.Noted>>BadHeader&1 == 0 || len(m.To) > 0 {
		t.Errorf("an attachment of %d bytes, subject %q, %d recipients, %b noted", got, m.Subject, len(m.To), m.Noted)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("reading it allocated %d bytes, want at most 4 MiB", used)
	}
	// From any offset, backwards too.
	for _, off := range []int64{size - 100, 57, 1<<20 + 1, 0} {
		if n, err := m.Attachments[0].Content.ReadAt(buf[:6], off/3*3); n != 6 && off < size-100 || string(buf[:3]) != "ABC" {
			t.Errorf("at %d: %d bytes %q, error %v", off, n, buf[:n], err)
		}
	}
}
