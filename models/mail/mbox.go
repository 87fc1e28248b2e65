package mail

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/mailbench/mailbench/schemas/words"
)

// FormatError says why a file cannot be used as mail.
type FormatError struct {
	File   string
	Msg    string // what was expected and found
	Remedy string // what to do; may be in Msg
}

func (e *FormatError) Error() string {
	if e.Remedy == "" {
		return e.File + ": " + e.Msg
	}
	return e.File + ": " + e.Msg + "; " + e.Remedy
}

const moreMail = "if that is intended, allow more with --max-mail-size"

// splitBuffer is the memory of split. A longer line comes in pieces.
const splitBuffer = 64 << 10

// split reads an mbox from r, writes its messages to w without gaps, and calls ended with the
// offset in w where each message ends. It notes what it guesses. Its memory is one buffer.
//
// A message begins after a separator, which is the first line of the file, a line with "From ", an
// address and a date, or, after an empty line, also "From " alone and "From -". If the first line
// has no date, the others need none after an empty line. A separator and the empty line before
// it are not part of any message. A line that starts with one or more ">" and "From "
// loses one ">" (mboxrd), so that quoting the messages again gives the file back.
// Some files quote only "From " (mboxo), which cannot be seen; in these a line
// that was written as ">From " loses its ">". Line breaks stay as they are.
func split(ctx context.Context, notes *Notes, r io.Reader, w *bufio.Writer, most int64, ended func(at int64)) error {
	s := &splitter{w: w, most: most, notes: notes, ended: ended}
	lines := bufio.NewReaderSize(contextReader{ctx, r}, splitBuffer)
	// Reading returns the error again.
	if head, _ := lines.Peek(splitBuffer); bytes.ContainsRune(head, '\r') && !bytes.ContainsRune(head, '\n') {
		return &FormatError{Msg: "lines end with CR alone", Remedy: `convert them to LF (tr '\r' '\n')`}
	}
	if err := eachPiece(lines, s.piece); err != nil {
		return err
	}
	if s.count == 0 {
		return &FormatError{Msg: "is empty; expected an mbox, whose first line begins with \"From \""}
	}
	ended(s.at)
	return nil
}

// eachPiece calls do with each line of r. A line that is longer than its buffer comes in pieces, of which the first
// begins the line.
func eachPiece(r *bufio.Reader, do func(line []byte, begins bool) error) error {
	for begins := true; ; {
		line, err := r.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if len(line) == 0 {
			return nil
		}
		next := line[len(line)-1] == '\n'
		if err := do(line, begins); err != nil {
			return err
		}
		begins = next
	}
}

// splitter is the state of split.
type splitter struct {
	w     *bufio.Writer
	most  int64 // bytes of all messages
	notes *Notes
	ended func(at int64)

	at    int64  // bytes written
	count int    // messages begun
	dated bool   // separators have a date
	held  []byte // the previous line, if it is empty and not written yet
	first bool   // the line follows a separator
}

// piece takes a line, or a piece of one.
func (s *splitter) piece(line []byte, begins bool) error {
	switch {
	case begins && s.separates(line):
		return s.begin()
	case s.count == 0 && isEmpty(line):
		return nil
	case s.count == 0:
		// The text of the line is not reported: saved results of others may name the file.
		return &FormatError{Msg: "not an mbox: expected a first line that begins with \"From \""}
	}
	s.first = false
	if err := s.write(s.held); err != nil {
		return err
	}
	s.held = s.held[:0]
	if begins {
		if quoted := bytes.TrimLeft(line, ">"); len(quoted) < len(line) && bytes.HasPrefix(quoted, []byte("From ")) {
			line = line[1:]
		} else if isEmpty(line) {
			s.held = append(s.held, line...)
			return nil
		}
	}
	return s.write(line)
}

func (s *splitter) write(b []byte) error {
	if s.at += int64(len(b)); s.at > s.most {
		return &FormatError{Msg: fmt.Sprintf("has more than %d bytes of mail", s.most), Remedy: moreMail}
	}
	_, err := s.w.Write(b)
	return err
}

// begin begins a message.
func (s *splitter) begin() error {
	if s.count++; s.count > 1 {
		s.ended(s.at)
	}
	if s.count > maxMessages {
		return &FormatError{Msg: fmt.Sprintf("has more than %d messages", maxMessages), Remedy: "divide it"}
	}
	s.held, s.first = s.held[:0], true
	return nil
}

// fromDate is a separator with an address, and a date as of asctime, RFC 5322 or ISO 8601, with zones.
var fromDate = regexp.MustCompile(`(?i)^From\s+\S+\s+(?:[^\s\d]{2,10}\s+)?(?:` +
	month + `\s+\d{1,2}\s+` + clock + zone + `\s+\d{4}` + zone + `|` +
	`\d{1,2}[\s-]` + month + `[\s-]\d{2,4}\s+` + clock + zone + `|` +
	`\d{4}-\d\d-\d\d[T ]` + clock + `(?:\.\d+)?` + zone + `)(?:\s+remote\s+from\s+\S+)?\s*$`)

const (
	month = `(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*`
	clock = `\d{1,2}:\d\d(?::\d\d)?`
	zone  = `(?:\s*[+-]\d\d:?\d\d|\s*Z|\s+[a-z][a-z0-9+/_-]*){0,2}(?:\s*\([^)]*\))?`
)

// longestSeparator bounds where a date is looked for.
const longestSeparator = 2000

// separates reports whether the line separates messages.
func (s *splitter) separates(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("From "))
	if !ok || s.first {
		return false
	}
	rest = bytes.TrimSpace(rest)
	bare := len(rest) == 0 || rest[0] == '-' && (len(rest) == 1 || rest[1] == ' ')
	dated := len(line) <= longestSeparator && fromDate.Match(line)
	empty := len(s.held) > 0
	switch {
	case s.count == 0:
		s.dated = bare || dated
		return true
	case empty && (bare || dated || !s.dated):
		return true
	case empty:
		s.notes[FromText]++
	case dated:
		s.notes[Unseparated]++
		return true
	}
	return false
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

// readError returns err with the name of the file, and with the number of whole messages before gzip data that is
// damaged.
func readError(file string, err error, whole int) error {
	var f *FormatError
	var corrupt flate.CorruptInputError
	before := ", " + words.Plural(whole, "whole message") + " before that"
	switch {
	case errors.As(err, &f):
		f.File = file
		return f
	case errors.Is(err, io.ErrUnexpectedEOF):
		const remedy = "get the file again, or unpack the readable part (gzip -dc) and use that"
		return &FormatError{File: file, Msg: "the gzip data ends early" + before, Remedy: remedy}
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		msg := fmt.Sprintf("the gzip data is damaged (%s)%s", err, before)
		return &FormatError{File: file, Msg: msg, Remedy: "get the file again"}
	}
	return fmt.Errorf("read %s: %w", file, err)
}
