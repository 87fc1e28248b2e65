package mail

import "io"

// Content is a message or a part of one: bytes that one goroutine can read any
// number of times, from any offset. They are in memory, in a file, or generated.
type Content interface {
	io.ReaderAt
	Size() int64
}

// BytesContent is content in memory.
type BytesContent []byte

// ReadAt implements io.ReaderAt.
func (b BytesContent) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(b)) {
		return 0, io.EOF
	}
	n := copy(p, b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Size implements Content.
func (b BytesContent) Size() int64 { return int64(len(b)) }

// AppendContent appends all of c to dst, or nothing if it returns an error. The
// error is io.ErrUnexpectedEOF if c ends before its size.
func AppendContent(dst []byte, c Content) ([]byte, error) {
	if b, ok := c.(BytesContent); ok {
		return append(dst, b...), nil
	}
	at, n := len(dst), int(c.Size())
	dst = append(dst, make([]byte, n)...)
	got, err := c.ReadAt(dst[at:], 0)
	if got == n {
		return dst, nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return dst[:at], err
}
