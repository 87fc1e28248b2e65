package mail

import (
	"bytes"
	"io"
)

// reset makes d decode the bytes of r.
func (d *reader) reset(r io.Reader, enc Encoding) {
	d.r, d.err = r, nil
	d.decoded.Reset()
	d.dec.Reset(&d.decoded, enc)
}

// reader decodes the bytes of r, a piece at a time. Its errors are those of r and of
// [Decoder].
type reader struct {
	r       io.Reader
	dec     Decoder
	encoded [decodeBuffer]byte
	decoded bytes.Buffer // decoded and not yet read
	err     error        // error to return after decoded
}

// Read implements io.Reader.
func (d *reader) Read(p []byte) (int, error) {
	for d.decoded.Len() == 0 && d.err == nil {
		n, err := d.r.Read(d.encoded[:])
		if _, d.err = d.dec.Write(d.encoded[:n]); d.err != nil {
			break
		}
		if d.err = err; err == io.EOF {
			if _, err := d.dec.Close(); err != nil {
				d.err = err
			}
		}
	}
	if d.decoded.Len() > 0 {
		return d.decoded.Read(p)
	}
	return 0, d.err
}
