package modeltest

import (
	"bytes"
	"fmt"
	"io"

	"github.com/mailbench/mailbench/models/mail"
)

func equalContent(got []byte, want mail.Content) error {
	w := contentChecker{want: want}
	n, err := w.Write(got)
	return w.done(int64(n), err)
}

// contentChecker is a writer that compares the bytes written with the content wanted. It holds
// neither in memory.
type contentChecker struct {
	want mail.Content
	at   int64
	buf  [4096]byte
}

func (w *contentChecker) Write(p []byte) (int, error) {
	for n := 0; n < len(p); {
		b := w.buf[:min(len(w.buf), len(p)-n)]
		m, err := w.want.ReadAt(b, w.at)
		if m < len(b) {
			if err == io.EOF {
				err = fmt.Errorf("more than the %d bytes delivered", w.want.Size())
			}
			return n, err
		}
		if !bytes.Equal(b, p[n:n+m]) {
			return n, fmt.Errorf("differs between bytes %d and %d of %d", w.at, w.at+int64(m), w.want.Size())
		}
		w.at += int64(m)
		n += m
	}
	return len(p), nil
}

// done checks that all content was written and that the call returned its size.
func (w *contentChecker) done(n int64, err error) error {
	switch {
	case err != nil:
		return err
	case w.at != w.want.Size():
		return fmt.Errorf("%d bytes came, want %d", w.at, w.want.Size())
	case n != w.at:
		return fmt.Errorf("says %d bytes where %d came", n, w.at)
	}
	return nil
}
