package mail

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// claimed is content that says it has another size than it has.
type claimed struct {
	BytesContent
	size int64
}

func (c claimed) Size() int64 { return c.size }

// unread is content that cannot be read.
type unread struct{ error }

func (u unread) ReadAt([]byte, int64) (int, error) { return 0, u.error }
func (u unread) Size() int64                       { return 5 }

// TestAppendContent: all of a content or none is appended, and earlier bytes stay.
func TestAppendContent(t *testing.T) {
	gone := errors.New("the file is gone")
	for _, x := range []struct {
		name string
		c    Content
		want string
		err  error
	}{
		{"bytes", BytesContent("hello"), "before hello", nil},
		{"read", claimed{BytesContent("hello"), 5}, "before hello", nil},
		{"longer than its size", claimed{BytesContent("hello"), 4}, "before hell", nil},
		{"shorter than its size", claimed{BytesContent("hello"), 9}, "before ", io.ErrUnexpectedEOF},
		{"empty and not said to be", claimed{nil, 1}, "before ", io.ErrUnexpectedEOF},
		{"nothing read and no error", unread{}, "before ", io.ErrUnexpectedEOF},
		{"unreadable", unread{gone}, "before ", gone},
	} {
		got, err := AppendContent([]byte("before "), x.c)
		if string(got) != x.want || !errors.Is(err, x.err) {
			t.Errorf("%s: %q, %v, want %q, %v", x.name, got, err, x.want, x.err)
		}
	}
}

// TestInterleavedParts: parts that are too large for memory share a decoder, and can be read in turns from any offset.
func TestInterleavedParts(t *testing.T) {
	const size = inMemory
	raw := "Content-Type: multipart/mixed; boundary=b\n\n"
	for _, s := range []string{"QUJD", "REVG"} { // ABC, DEF
		raw += "--b\nContent-Type: a/b\nContent-Transfer-Encoding: base64\n\n" + strings.Repeat(s, size/3) + "\n"
	}
	m := parseText(t, raw+"--b--\n")
	buf := make([]byte, 3)
	for i, off := range []int64{0, 3, 9, 6, 30_000, 0} {
		a, b := m.Attachments[0].Content, m.Attachments[1].Content
		if a.Size() != size/3*3 || b.Size() != a.Size() {
			t.Fatalf("parts of %d and %d bytes", a.Size(), b.Size())
		}
		if err := ReadFull(a, buf, off); err != nil || string(buf) != "ABC" {
			t.Errorf("read %d of the first part: %q, %v", i, buf, err)
		}
		if err := ReadFull(b, buf, off+3); err != nil || string(buf) != "DEF" {
			t.Errorf("read %d of the second part: %q, %v", i, buf, err)
		}
	}
}
