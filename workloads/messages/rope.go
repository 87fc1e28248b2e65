package messages

import (
	"io"
	"sort"
)

// rope is content made of slices of buffers and pools that other messages share,
// so that 25 MB of generated mail take little memory. It implements mail.Content.
type rope struct {
	pieces []piece
	size   int64
}

type piece struct {
	start int64 // offset in the rope
	data  []byte
}

func (r *rope) reset() { r.pieces, r.size = r.pieces[:0], 0 }

// add appends data, which must not change while the rope is used.
func (r *rope) add(data []byte) {
	if len(data) > 0 {
		r.pieces = append(r.pieces, piece{r.size, data})
		r.size += int64(len(data))
	}
}

// cycle appends n bytes of pool from offset at on. After its end comes its beginning.
func (r *rope) cycle(pool []byte, at, n int) {
	for n > 0 {
		part := pool[at:min(len(pool), at+n)]
		r.add(part)
		n -= len(part)
		at = 0
	}
}

// Size implements mail.Content.
func (r *rope) Size() int64 { return r.size }

// ReadAt implements io.ReaderAt.
func (r *rope) ReadAt(p []byte, off int64) (int, error) {
	if off >= r.size {
		return 0, io.EOF
	}
	i := sort.Search(len(r.pieces), func(i int) bool { return r.pieces[i].start > off }) - 1
	n := copy(p, r.pieces[i].data[off-r.pieces[i].start:])
	for i++; n < len(p); i++ {
		if i == len(r.pieces) {
			return n, io.EOF
		}
		n += copy(p[n:], r.pieces[i].data)
	}
	return n, nil
}
