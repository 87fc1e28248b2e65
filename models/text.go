package models

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/mailbench/mailbench/models/mail"
)

// textMarker begins a text column that holds its content as base64. Text columns
// hold only UTF-8, but mail may hold other bytes. Content that begins with the
// marker is stored as base64 too.
const textMarker = "=?base64?"

// EncodeText appends c to dst in the form that a text column stores.
func EncodeText(dst []byte, c mail.Content) ([]byte, error) {
	at := len(dst)
	dst, err := mail.AppendContent(dst, c)
	if err != nil {
		return dst, err
	}
	if b := dst[at:]; utf8.Valid(b) && !bytes.HasPrefix(b, []byte(textMarker)) {
		return dst, nil
	}
	return encodeInPlace(dst, at), nil
}

// TextLen returns how many bytes EncodeText makes of c. It reads c piece by piece, as far as it must,
// and holds no more than a piece in memory.
func TextLen(c mail.Content) (int64, error) {
	size := c.Size()
	var piece [32 << 10]byte
	kept := 0 // bytes at the beginning of the piece: a character that the one before cut in two
	for off := int64(0); off < size; {
		b := piece[:kept+int(min(size-off, int64(len(piece)-kept)))]
		if err := mail.ReadFull(c, b[kept:], off); err != nil {
			return 0, err
		}
		first := off == 0
		off += int64(len(b) - kept)
		whole := len(b)
		if off < size {
			whole = wholeRunes(b)
		}
		if !utf8.Valid(b[:whole]) || first && bytes.HasPrefix(b, []byte(textMarker)) {
			return int64(len(textMarker)) + (size+2)/3*4, nil
		}
		kept = copy(piece[:], b[whole:])
	}
	return size, nil
}

// wholeRunes returns the length of b without a last character that more bytes would complete.
func wholeRunes(b []byte) int {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return i
			}
			break
		}
	}
	return len(b)
}

// encodeInPlace replaces dst[at:], which may be many megabytes, by the marker and base64.
func encodeInPlace(dst []byte, at int) []byte {
	n := len(dst) - at
	total := len(textMarker) + base64.StdEncoding.EncodedLen(n)
	dst = slices.Grow(dst, total-n)[:at+total]
	// The bytes move to the end first, so that encoding never overwrites unread ones.
	rest := dst[at+total-n:]
	copy(rest, dst[at:at+n])
	out := dst[at+copy(dst[at:], textMarker):]
	var piece [768]byte // a multiple of 3, so that only the last piece is padded
	for len(rest) > 0 {
		k := copy(piece[:], rest)
		base64.StdEncoding.Encode(out, piece[:k])
		rest, out = rest[k:], out[base64.StdEncoding.EncodedLen(k):]
	}
	return dst
}

// DecodeText appends the content that a text column holds to dst.
func DecodeText(dst, text []byte) ([]byte, error) {
	enc, ok := bytes.CutPrefix(text, []byte(textMarker))
	if !ok {
		return append(dst, text...), nil
	}
	dst, err := base64.StdEncoding.AppendDecode(dst, enc)
	if err != nil {
		return dst, fmt.Errorf("%w: text after the marker %s: %w", ErrBroken, textMarker, err)
	}
	return dst, nil
}

// WriteText writes the content that a text column holds to w and returns its
// size in bytes.
func WriteText(w io.Writer, text []byte) (int64, error) {
	enc, ok := bytes.CutPrefix(text, []byte(textMarker))
	if !ok {
		n, err := w.Write(text)
		return int64(n), err
	}
	return io.Copy(w, base64.NewDecoder(base64.StdEncoding, bytes.NewReader(enc)))
}
