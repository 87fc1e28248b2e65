package mail

import (
	"errors"
	"io"
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
