package mail

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
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
	f.Add([]byte("Content-Type: (a (b) multipart / mixed boundary*0*=x'y'%zz; boundary*1=\"b\\\n--%zzb\n\n"))
	f.Add([]byte("To: \"a, <b;c>, x:;\nTo: d@@e\nDate: 31 (x) Dec 9999 23 : 59:60 -9959\nContent-Disposition: =?a?q?b?=\n\n"))
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
	const dated = "From a Sat Jan  1 10:00:00 2022\n"
	f.Add([]byte(dated + "x: y\n" + dated + dated + "\nFrom now on\nFrom \n\nFrom \n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		var spilled bytes.Buffer
		out := bufio.NewWriter(&spilled)
		var ends []int64
		err := split(t.Context(), new(Notes), bytes.NewReader(file), out, 1<<40, func(at int64) { ends = append(ends, at) })
		var format *FormatError
		if err != nil {
			cr := bytes.Contains(file, []byte("\r")) && !bytes.Contains(file, []byte("\n"))
			if !errors.As(err, &format) || len(ends) > 0 || !cr && bytes.HasPrefix(file, []byte("From ")) {
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

// messagesOf splits like split, with all of the file at hand.
func messagesOf(file []byte) (messages [][]byte) {
	var message []byte
	dated, began, first, emptyBefore := false, false, false, false
	add := func() {
		if emptyBefore {
			message = bytes.TrimSuffix(bytes.TrimSuffix(message, []byte("\n")), []byte("\r"))
		}
		messages, message = append(messages, message), nil
	}
	for len(file) > 0 {
		line := file
		if i := bytes.IndexByte(file, '\n'); i >= 0 {
			line = file[:i+1]
		}
		file = file[len(line):]
		text := strings.TrimSpace(string(line))
		alone := fromDate.MatchString(string(line))
		free := text == "From" || text == "From -" || strings.HasPrefix(text, "From - ") || alone || !dated
		switch from := bytes.HasPrefix(line, []byte("From ")); {
		case !began && isEmpty(line):
			continue
		case !began:
			dated = text == "From" || text == "From -" || strings.HasPrefix(text, "From - ") || alone
			began, first, emptyBefore = true, true, false
			continue
		case from && !first && (emptyBefore && free || !emptyBefore && alone):
			add()
			began, first, emptyBefore = true, true, false
			continue
		}
		if quoted := bytes.TrimLeft(line, ">"); len(quoted) < len(line) && bytes.HasPrefix(quoted, []byte("From ")) {
			line = line[1:]
		}
		message, emptyBefore = append(message, line...), isEmpty(line)
		first = false
	}
	add()
	return messages
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
		p, raw := NewParser(), BytesContent(encoded)
		part := &leaf{entity: entity{encoding: e}, length: raw.Size()}
		whole, err := p.undo(raw, part, e.decoder())
		if err != nil {
			return
		}
		p.used = maxDecoded
		d, err := p.undo(raw, part, e.decoder())
		if err != nil || d.Size() != whole.Size() {
			t.Fatalf("%d bytes in memory, %d as they are read: %v", whole.Size(), d.Size(), err)
		}
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
