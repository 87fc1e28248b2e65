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
	at := len(dst)
	dst = append(dst, make([]byte, c.Size())...)
	if err := ReadFull(c, dst[at:], 0); err != nil {
		return dst[:at], err
	}
	return dst, nil
}

// ReadFull fills b with the bytes of c from off on. The error is
// io.ErrUnexpectedEOF if c ends before b is full.
func ReadFull(c Content, b []byte, off int64) error {
	n, err := c.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}
