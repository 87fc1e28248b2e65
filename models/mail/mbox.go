package mail

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
)

// FormatError says why a file cannot be used as mail.
type FormatError struct {
	File string
	Msg  string // what was expected and found, and what to do
}

func (e *FormatError) Error() string { return e.File + ": " + e.Msg }

// split reads an mbox from r, writes its messages to w without gaps, and calls
// ended with the offset in w where each message ends. Its memory is one buffer.
//
// A message begins after a line that starts with "From " and is the first line of
// the file or follows an empty line. That line and the empty line before it are
// not part of any message. A line that starts with one or more ">" and "From "
// loses one ">" (mboxrd), so that quoting the messages again gives the file back.
// Some files quote only "From " (mboxo), which cannot be seen; in these a line
// that was written as ">From " loses its ">". Line breaks stay as they are.
func split(ctx context.Context, file string, r io.Reader, w *bufio.Writer, l limits, ended func(at int64)) error {
	var (
		lines  = bufio.NewReaderSize(contextReader{ctx, r}, 256<<10)
		at     int64
		count  int
		empty  = true // the previous line is empty, or there is none
		begins = true // the next piece begins a line
		held   []byte // the previous line, if it is empty and not written yet
	)
	write := func(b []byte) error {
		if at += int64(len(b)); at > l.bytes {
			return &FormatError{file, fmt.Sprintf("holds more than %d bytes of mail; if that is intended, allow more with "+
				"--mail-limit", l.bytes)}
		}
		_, err := w.Write(b)
		return err
	}
	for {
		line, err := lines.ReadSlice('\n') // a piece of the line, if it is longer than the buffer
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return readError(file, err, count)
		}
		if len(line) == 0 {
			break
		}
		switch {
		case begins && empty && bytes.HasPrefix(line, []byte("From ")):
			if count++; count > 1 {
				ended(at)
			}
			if count > l.messages {
				return &FormatError{file, fmt.Sprintf("holds more than %d messages; divide it", l.messages)}
			}
			held = held[:0]
		case count == 0:
			// What the line says is not told: saved results of others may name the file.
			return &FormatError{file, "not an mbox: expected a first line that begins with \"From \""}
		default:
			if err := write(held); err != nil {
				return err
			}
			held = held[:0]
			if begins {
				if quoted := bytes.TrimLeft(line, ">"); len(quoted) < len(line) && bytes.HasPrefix(quoted, []byte("From ")) {
					line = line[1:]
				} else if isEmpty(line) {
					held = append(held, line...)
					break
				}
			}
			if err := write(line); err != nil {
				return err
			}
		}
		empty = len(held) > 0
		begins = line[len(line)-1] == '\n'
	}
	if count == 0 {
		return &FormatError{file, "is empty; expected an mbox, whose first line begins with \"From \""}
	}
	ended(at)
	return nil
}

// contextReader reads r until ctx is done.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

func isEmpty(line []byte) bool {
	return string(line) == "\n" || string(line) == "\r\n"
}

// readError returns err, with the number of whole messages if the gzip data is damaged. Of
// count messages, all but the last are whole.
func readError(file string, err error, count int) error {
	whole := fmt.Sprintf("%d whole messages before that", max(0, count-1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &FormatError{file, "the gzip data ends early, " + whole +
			"; get the file again, or unpack what is there (gzip -dc) and use that"}
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), isCorrupt(err):
		return &FormatError{file, fmt.Sprintf("the gzip data is damaged (%s), %s; get the file again", err, whole)}
	}
	return fmt.Errorf("read %s: %w", file, err)
}
