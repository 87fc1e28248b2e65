package mail

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/mailbench/mailbench/schemas/plainfile"
)

// Info says what an mbox holds.
type Info struct {
	File      string
	SHA256    string // digest of the file as it is on disk, in hex
	Messages  int64
	Bytes     int64 // bytes of all messages, unpacked
	Malformed int64 // messages that could be parsed only in part; they are delivered all the same
	Files     int64 // attachments of all messages
	Notes     Notes // what was skipped, repaired or guessed
}

// maxMessages bounds the memory for the messages' offsets, to 40 MB.
const maxMessages = 5_000_000

// File is the mail of an mbox, plain or compressed with gzip. Open reads the mbox
// once and copies its messages, unquoted, into a temporary file; any message can
// then be read at any time, whatever happens to the mbox. It takes 8 bytes of
// memory per message.
type File struct {
	ctx     context.Context
	most    int64 // bytes of all messages
	info    Info
	spill   *os.File
	removed bool    // spill has no name any more
	starts  []int64 // offset of each message in spill, and the end of the last
}

// Open reads the mbox at path and copies it into the folder temp, which needs as much room as
// the file unpacked; "" is the system's folder for temporary files. most bounds the bytes of
// all messages. The error is a [FormatError] if the file cannot be used as mail. When ctx ends,
// later parsing of the messages ends too.
func Open(ctx context.Context, path, temp string, most int64) (*File, error) {
	src, err := plainfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open mail: %w", err)
	}
	defer src.Close()
	spill, err := os.CreateTemp(temp, "mailbench-mail-*")
	if err != nil {
		return nil, fmt.Errorf("copy mail: %w", err)
	}
	// If the system can remove an open file, a run that is killed leaves nothing.
	removed := os.Remove(spill.Name()) == nil
	f := &File{
		ctx: ctx, most: most, info: Info{File: path}, spill: spill, removed: removed, starts: make([]int64, 1),
	}
	if err = f.read(contextReader{ctx, src}); err == nil {
		err = f.examine()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// read copies the messages of src, and computes its digest.
func (f *File) read(src io.Reader) error {
	sum := sha256.New()
	in := bufio.NewReaderSize(io.TeeReader(src, sum), 256<<10)
	mbox, err := unpacked(in)
	if err != nil {
		return readError(f.info.File, err, 0)
	}
	out := bufio.NewWriterSize(f.spill, 256<<10)
	err = split(f.ctx, &f.info.Notes, mbox, out, f.most, func(at int64) {
		f.starts = append(f.starts, at)
	})
	if err == nil {
		err = out.Flush()
	}
	var pathErr *os.PathError
	if errors.As(err, &pathErr) && pathErr.Op == "write" {
		return fmt.Errorf("copy mail to a temporary file; give a folder with more room (TMPDIR): %w", err)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, in) // the digest is of the whole file
	}
	if err != nil {
		return readError(f.info.File, err, len(f.starts)-1)
	}
	f.info.SHA256 = hex.EncodeToString(sum.Sum(nil))
	f.info.Messages = int64(len(f.starts) - 1)
	f.info.Bytes = f.starts[len(f.starts)-1]
	return nil
}

// examine parses every message once, to count the malformed ones before a run
// begins.
func (f *File) examine() error {
	r, m := f.Reader(), Message{}
	for n := range f.info.Messages {
		if err := r.Message(uint64(n), time.Time{}, &m); err != nil {
			return err
		}
		if m.Malformed {
			f.info.Malformed++
		}
		f.info.Files += int64(len(m.Attachments))
		f.info.Notes.Count(&m)
	}
	return nil
}

// Info says what the file holds.
func (f *File) Info() Info { return f.info }

// Close removes the copy. Readers must not be used any more.
func (f *File) Close() error {
	err := f.spill.Close()
	if !f.removed {
		err = errors.Join(err, os.Remove(f.spill.Name()))
	}
	return err
}

// Reader returns a reader for one goroutine.
func (f *File) Reader() *FileReader {
	r := &FileReader{file: f, parser: NewParser()}
	r.parser.ctx = f.ctx
	return r
}

// FileReader parses messages of a file, one at a time. It owns their buffers: a message is
// valid until the reader's next call.
type FileReader struct {
	file   *File
	parser *Parser
	buf    []byte
}

// Message sets m to message n, counted from 0; after the last message the first
// comes again. A message without a date gets the given date. A message of up to
// 256 KiB is held in memory; a larger one is read from the file when its contents
// are read.
func (r *FileReader) Message(n uint64, date time.Time, m *Message) error {
	return r.message(n, math.MaxInt64, date, m)
}

// Size returns the number of bytes of message n, without reading it.
func (r *FileReader) Size(n uint64) int64 {
	f := r.file
	i := n % uint64(f.info.Messages)
	return f.starts[i+1] - f.starts[i]
}

// From returns the sender's address of message n. It reads at most maxHeader
// bytes of the message.
func (r *FileReader) From(n uint64) (string, error) {
	var m Message
	err := r.message(n, maxHeader, time.Time{}, &m)
	return m.From.Address, err
}

// message parses message n, or its first most bytes.
func (r *FileReader) message(n uint64, most int64, date time.Time, m *Message) error {
	f := r.file
	i, size := n%uint64(f.info.Messages), min(r.Size(n), most)
	raw := Content(io.NewSectionReader(f.spill, f.starts[i], size))
	if size <= inMemory {
		r.buf = append(r.buf[:0], make([]byte, size)...)
		if _, err := raw.ReadAt(r.buf, 0); err != nil && err != io.EOF {
			return fmt.Errorf("read message %d of %s: %w", i, f.info.File, err)
		}
		raw = BytesContent(r.buf)
	}
	if err := r.parser.Parse(raw, date, m); err != nil {
		return fmt.Errorf("message %d of %s: %w", i, f.info.File, err)
	}
	return nil
}

// formats are files that are not read, by how they begin.
var formats = []struct{ magic, is, do string }{
	{"\x28\xb5\x2f\xfd", "compressed with zstd", "unpack it first"},
	{"\xfd7zXZ\x00", "compressed with xz", "unpack it first"},
	{"BZh", "compressed with bzip2", "unpack it first"},
	{"\x04\x22\x4d\x18", "compressed with lz4", "unpack it first"},
	{"Dovecot-LZ4\r\x2a\x9b\xc5", "compressed with lz4 by Dovecot", "unpack it first"},
	{"CRYPTED\x03\x07", "encrypted by Dovecot", "decrypt it first"},
	{"PK\x03\x04", "a zip archive", "unpack it first"},
	{"\xff\xfe", "text in UTF-16", "convert it to UTF-8"},
	{"\xfe\xff", "text in UTF-16", "convert it to UTF-8"},
}

const (
	gzipMagic     = "\x1f\x8b"
	byteOrderMark = "\xef\xbb\xbf"
	mostMagic     = 16 // bytes of a file that formats look at
)

// unpacked returns a reader of in, unpacked if it is compressed with gzip, without a byte order
// mark. Known formats that are not text are errors.
func unpacked(in *bufio.Reader) (*bufio.Reader, error) {
	out := in
	if head, _ := in.Peek(len(gzipMagic)); string(head) == gzipMagic {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		out = bufio.NewReader(z)
	}
	head, _ := out.Peek(mostMagic) // reading returns the error again
	if bytes.HasPrefix(head, []byte(byteOrderMark)) {
		_, err := out.Discard(len(byteOrderMark))
		return out, err
	}
	for _, f := range formats {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return nil, &FormatError{Msg: "is " + f.is, Remedy: f.do}
		}
	}
	return out, nil
}
