package mail

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// refusal is what was found in a file that cannot be read, and what to do.
type refusal struct {
	what, do string
	late     bool // it was not found at the beginning
}

func (r *refusal) Error() string { return r.what + "; " + r.do }

// formats are files that are not read, by how they begin.
var formats = []struct{ magic, is, do string }{
	{"\x28\xb5\x2f\xfd", "compressed with zstd", "unpack it first"},
	{"\xfd7zXZ\x00", "compressed with xz", "unpack it first"},
	{"BZh", "compressed with bzip2", "unpack it first"},
	{"\x04\x22\x4d\x18", "compressed with lz4", "unpack it first"},
	{"Dovecot-LZ4\r\x2a\x9b\xc5", "compressed with lz4 by Dovecot", "unpack it first"},
	{"CRYPTED\x03\x07", "encrypted by Dovecot", "decrypt it first"},
	{"PK\x03\x04", "a zip archive", "unpack it first"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it first"},
	{"LZIP", "compressed with lzip", "unpack it first"},
	{"\x1f\x9d", "compressed with compress", "unpack it first"},
	{"\xff\xfe", "text in UTF-16", "convert it to UTF-8"},
	{"\xfe\xff", "text in UTF-16", "convert it to UTF-8"},
}

// mostMagic is how many bytes of a file formats look at.
const mostMagic = 16

// unpacked returns a reader of in, unpacked if it is compressed with gzip, without a byte order
// mark. Known formats that are not text are errors, and so is damaged gzip data when it is read.
func unpacked(in *bufio.Reader) (io.Reader, error) {
	head, _ := in.Peek(mostMagic) // reading returns the error again
	if !bytes.HasPrefix(head, []byte("\x1f\x8b")) {
		return in, text(in)
	}
	g := &gzipReader{in: in}
	var err error
	if g.z, err = gzip.NewReader(in); err != nil {
		return nil, explained(err)
	}
	g.z.Multistream(false)
	out := bufio.NewReader(g)
	return out, text(out)
}

// text skips a byte order mark, and refuses what is not text.
func text(in *bufio.Reader) error {
	head, _ := in.Peek(mostMagic)
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		_, err := in.Discard(3)
		return err
	}
	for _, f := range formats {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return &refusal{"is " + f.is, f.do, false}
		}
	}
	return nil
}

// gzipReader reads the members of a gzip file, one after the other. Zeros may follow them, as tapes
// and devices leave them.
type gzipReader struct {
	in  *bufio.Reader
	z   *gzip.Reader
	err error
}

func (g *gzipReader) Read(p []byte) (int, error) {
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.z.Read(p)
	if err == io.EOF {
		err = g.next()
	}
	g.err = explained(err)
	return n, g.err
}

// next begins the next member, or returns io.EOF after the last.
func (g *gzipReader) next() error {
	head, err := g.in.Peek(2)
	if bytes.Equal(head, []byte("\x1f\x8b")) {
		err = g.z.Reset(g.in)
		g.z.Multistream(false)
		return err
	}
	if err != nil && err != io.EOF {
		return err
	}
	for {
		c, err := g.in.ReadByte()
		if err != nil {
			return err
		}
		if c != 0 {
			return &refusal{"other data follows the gzip data", "remove it", true}
		}
	}
}

// explained makes an error of damaged data one that says so.
func explained(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case err == io.ErrUnexpectedEOF:
		return &refusal{"the gzip data ends early", "get the file again, or unpack what is there (gzip -dc) and use that", true}
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		return &refusal{fmt.Sprintf("the gzip data is damaged (%s)", err), "get the file again", true}
	}
	return err
}

// MessageFile is a file with one message, plain or compressed with gzip.
type MessageFile struct {
	Content
	file *os.File // or the unpacked copy
}

// Close closes the file.
func (m *MessageFile) Close() error { return m.file.Close() }

// OpenMessage opens the file at path. A compressed message of more than 256 KiB is copied into a
// temporary file; most bounds its bytes. The error is a [FormatError] if the file cannot be used as mail.
func OpenMessage(path string, most int64) (*MessageFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	m := &MessageFile{file: f}
	if err := m.read(most); err != nil {
		f.Close()
		return nil, readError(path, err, 0)
	}
	return m, nil
}

func (m *MessageFile) read(most int64) error {
	i, err := m.file.Stat()
	if err != nil {
		return err
	}
	in := bufio.NewReader(m.file)
	r, err := unpacked(in)
	if err != nil {
		return err
	}
	if r == in { // plain: the file itself, without what was skipped
		at, err := m.file.Seek(0, io.SeekCurrent)
		at -= int64(in.Buffered())
		m.Content = io.NewSectionReader(m.file, at, i.Size()-at)
		return err
	}
	var small bytes.Buffer
	if _, err := io.CopyN(&small, r, inMemory); err == io.EOF {
		m.Content = BytesContent(small.Bytes())
		return nil
	} else if err != nil {
		return err
	}
	spill, err := os.CreateTemp("", "mailbench-mail-*")
	if err != nil {
		return err
	}
	n, err := io.Copy(spill, io.LimitReader(io.MultiReader(&small, r), most+1))
	if err == nil && n > most {
		err = &refusal{
			fmt.Sprintf("has more than %d bytes, unpacked", most), "if that is intended, allow more with --mail-limit", false,
		}
	}
	if err = errors.Join(err, os.Remove(spill.Name())); err != nil {
		return errors.Join(err, spill.Close())
	}
	m.Content = io.NewSectionReader(spill, 0, n)
	err = m.file.Close()
	m.file = spill
	return err
}
