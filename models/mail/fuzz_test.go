package mail

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

func mailSeeds(f *testing.F) {
	small, err := os.ReadFile("testdata/small.mbox")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(small)
	for _, message := range bytes.Split(small, []byte("\n\nFrom ")) {
		f.Add(message)
	}
	f.Add([]byte("Content-Type: multipart/mixed; boundary=\"\"\n\n--\n\n--\n"))
	f.Add([]byte("Content-Transfer-Encoding: quoted-printable\n\n=\n=3D=3\n"))
	f.Add([]byte("From: =?utf-7?q?a?=, \x00\xff <\n\n"))
}

// FuzzMIME: whatever bytes there are, they are a message that keeps the rules
// of Message, and the same one each time.
func FuzzMIME(f *testing.F) {
	mailSeeds(f)
	p := NewParser()
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m Message
		if err := p.Parse(BytesContent(raw), time.Unix(0, 0), &m); err != nil {
			t.Fatal(err)
		}
		check(t, &m)
		if kept, _ := AppendContent(nil, m.Raw); !bytes.Equal(kept, raw) {
			t.Error("raw is not what was parsed")
		}
		again := parseText(t, string(raw))
		if shape(&m) != shape(again) || m.Malformed != again.Malformed || m.Subject != again.Subject {
			t.Errorf("parsed twice: %s and %s", shape(&m), shape(again))
		}
	})
}

// FuzzMbox: a file is refused, or split as a simple reference splits it.
func FuzzMbox(f *testing.F) {
	mailSeeds(f)
	f.Add([]byte("From a\n\n\n\nFrom b\nFrom c\n\r\n\nFrom"))
	f.Fuzz(func(t *testing.T, file []byte) {
		var spilled bytes.Buffer
		out := bufio.NewWriter(&spilled)
		var ends []int64
		err := split(t.Context(), "fuzz.mbox", bytes.NewReader(file), out, limits{1 << 40, maxMessages}, func(at int64) { ends = append(ends, at) })
		var format *FormatError
		if err != nil {
			if !errors.As(err, &format) || len(ends) > 0 || bytes.HasPrefix(file, []byte("From ")) {
				t.Fatalf("error %v after %d messages", err, len(ends))
			}
			return
		}
		if err := out.Flush(); err != nil {
			t.Fatal(err)
		}
		if len(ends) == 0 || ends[len(ends)-1] != int64(spilled.Len()) {
			t.Fatalf("messages end at %v of %d bytes", ends, spilled.Len())
		}
		at := int64(0)
		for i, want := range messagesOf(file) {
			if i >= len(ends) || !bytes.Equal(spilled.Bytes()[at:ends[i]], want) {
				t.Fatalf("message %d is not %q; messages end at %v", i, want, ends)
			}
			at = ends[i]
		}
		if at != int64(spilled.Len()) {
			t.Fatalf("%d of %d bytes are of the file", at, spilled.Len())
		}
	})
}

// messagesOf is what split does, with all of the file at hand.
func messagesOf(file []byte) [][]byte {
	var messages [][][]byte // lines of each
	emptyBefore := true
	for line := range bytes.Lines(file) {
		if emptyBefore && bytes.HasPrefix(line, []byte("From ")) {
			messages = append(messages, nil)
			emptyBefore = false
			continue
		}
		emptyBefore = isEmpty(line)
		if quoted := bytes.TrimLeft(line, ">"); len(quoted) < len(line) && bytes.HasPrefix(quoted, []byte("From ")) {
			line = line[1:]
		}
		last := len(messages) - 1
		messages[last] = append(messages[last], line)
	}
	var joined [][]byte
	for _, lines := range messages {
		if n := len(lines); n > 0 && isEmpty(lines[n-1]) {
			lines = lines[:n-1]
		}
		joined = append(joined, bytes.Join(lines, nil))
	}
	return joined
}

// FuzzDecoded reads a decoded part in pieces from anywhere and gets what
// reading it whole gives.
func FuzzDecoded(f *testing.F) {
	f.Add([]byte("aGFsbG8gd2VsdA=="), true, uint16(3))
	f.Add([]byte("=C3=A4 soft=\n break \nline\n"), false, uint16(7))
	f.Fuzz(func(t *testing.T, encoded []byte, b64 bool, off uint16) {
		e := QuotedPrintable
		if b64 {
			e = Base64
		}
		s := io.NewSectionReader(BytesContent(encoded), 0, int64(len(encoded)))
		u := &undoer{}
		u.reset(s.Size())
		whole, err := u.undo(s, e)
		if err != nil {
			return
		}
		d := &decoded{by: u, encoded: s, encoding: e, size: whole.Size()}
		at := int64(off) % (whole.Size() + 1)
		for _, from := range []int64{at, 0, at / 2} {
			got, err := io.ReadAll(io.NewSectionReader(d, from, whole.Size()))
			want, _ := AppendContent(nil, whole)
			if err != nil || !bytes.Equal(got, want[from:]) {
				t.Fatalf("from %d of %d: %q, %v", from, whole.Size(), got, err)
			}
		}
	})
}
