package models

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/mailbench/mailbench/models/mail"
)

// TestRawMessages reads a message whose chunks are damaged one by one.
func TestRawMessages(t *testing.T) {
	raw := []byte("header\n\nQUJD and the rest")
	m := &mail.Message{Body: mail.Part{Encoding: mail.Base64, Offset: 8, Length: 4, Content: mail.BytesContent("ABC")}}
	layout := AppendLayout(nil, m, Checksum(0, raw))
	const chunk = 5
	var chunks [][]byte
	var r RawMessages
	r = NewRawMessages("model", nil, func(_ context.Context, n int64) error {
		if chunks[n] == nil {
			return nil
		}
		return r.RawChunk(chunks[n])
	})
	read := func(damage func()) (whole, part string, wholeErr, partErr error) {
		chunks = nil
		for off := 0; off < len(raw); off += chunk {
			chunks = append(chunks, bytes.Clone(raw[off:min(off+chunk, len(raw))]))
		}
		damage()
		if err := r.BeginRaw(int64(len(raw)), chunk, layout); err != nil {
			return "", "", err, err
		}
		var w, p bytes.Buffer
		_, wholeErr = r.WholeRaw(t.Context(), &w)
		_, partErr = r.readPart(t.Context(), &r.layout.Body, &p)
		return w.String(), p.String(), wholeErr, partErr
	}
	whole, part, err, err2 := read(func() {})
	if whole != string(raw) || part != "ABC" || err != nil || err2 != nil {
		t.Errorf("reads %q and %q (%v, %v)", whole, part, err, err2)
	}
	for name, x := range map[string]struct {
		damage      func()
		whole, part bool // broken
	}{
		"a byte of another part": {func() { chunks[4][0] ^= 1 }, true, false},
		"a chunk of the part":    {func() { chunks[2] = nil }, true, true},
		"a short chunk":          {func() { chunks[1] = chunks[1][:4] }, true, true},
		"a long chunk":           {func() { chunks[1] = append(chunks[1], 'x') }, true, true},
		"what was base64":        {func() { copy(chunks[1][3:], "==") }, true, true},
	} {
		_, _, err, err2 := read(x.damage)
		if errors.Is(err, ErrBroken) != x.whole || errors.Is(err2, ErrBroken) != x.part {
			t.Errorf("%s: the whole is %v, the part %v; broken should be %v and %v", name, err, err2, x.whole, x.part)
		}
	}
	part8 := LayoutPart{Offset: 8, Length: 1000}
	read(func() {})
	if _, err := r.readPart(t.Context(), &part8, io.Discard); !errors.Is(err, ErrBroken) {
		t.Errorf("a part that ends behind the message: %v", err)
	}
	for _, bad := range []struct {
		size, chunk int64
		layout      []byte
	}{{1, 0, layout}, {-1, 1, layout}, {1, 1, layout[:5]}} {
		if err := r.BeginRaw(bad.size, bad.chunk, bad.layout); !errors.Is(err, ErrBroken) {
			t.Errorf("begin with %d bytes in chunks of %d: %v", bad.size, bad.chunk, err)
		}
	}
}

// TestBodyIsTheCallers: once a caller lets go of a body, which may be many megabytes, nothing else holds it.
func TestBodyIsTheCallers(t *testing.T) {
	raw := make([]byte, 1000)
	body := mail.Part{Length: int64(len(raw)), Content: mail.BytesContent(raw)}
	layout := AppendLayout(nil, &mail.Message{Body: body}, Checksum(0, raw))
	var m RawMessages
	m = NewRawMessages("model", nil, func(context.Context, int64) error { return m.RawChunk(raw) })
	if err := m.BeginRaw(int64(len(raw)), int64(len(raw)), layout); err != nil {
		t.Fatal(err)
	}
	var o Opened
	if n, err := m.OpenBody(t.Context(), &o); n != int64(len(raw)) || err != nil || !bytes.Equal(o.Body, raw) {
		t.Fatal(n, err)
	}
	held := weak.Make(&o.Body[0])
	o.Body = nil
	if runtime.GC(); held.Value() != nil {
		t.Error("the body is held")
	}
	runtime.KeepAlive(&m)
}

// TestEncodedParts: parts are read as the parser measured them, without allocations.
func TestEncodedParts(t *testing.T) {
	for _, text := range []string{
		"quoted-printable\n\nx" + strings.Repeat(" ", 5000) + "\n",
		"base64\n\n" + strings.Repeat("QUJD\n", 3000),
	} {
		raw := []byte("Content-Transfer-Encoding: " + text)
		var msg mail.Message
		if err := mail.NewParser().Parse(mail.BytesContent(raw), time.Time{}, &msg); err != nil {
			t.Fatal(err)
		}
		want, err := mail.AppendContent(nil, msg.Body.Content)
		if err != nil || msg.Body.Encoding == mail.Identity {
			t.Fatal(msg.Body.Encoding, err)
		}
		layout := AppendLayout(nil, &msg, Checksum(0, raw))
		var m RawMessages
		m = NewRawMessages("model", nil, func(_ context.Context, n int64) error {
			return m.RawChunk(raw[n*1000 : min(n*1000+1000, int64(len(raw)))])
		})
		var o Opened
		read := func() {
			o.Body = o.Body[:0]
			if err := m.BeginRaw(int64(len(raw)), 1000, layout); err != nil {
				t.Fatal(err)
			}
			n, err := m.OpenBody(t.Context(), &o)
			if err != nil || n != int64(len(want)) || !bytes.Equal(o.Body, want) {
				t.Fatalf("%d bytes, %v; want %d", n, err, len(want))
			}
		}
		if n := testing.AllocsPerRun(20, read); n != 0 {
			t.Errorf("%v allocations to read %.20q", n, text)
		}
	}
}
