package mail

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime/quotedprintable"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/text/transform"
)

func decodeAll(w io.Writer, enc Encoding, r io.Reader) error {
	var d Decoder
	d.Reset(w, enc)
	if _, err := io.Copy(&d, r); err != nil {
		return err
	}
	return d.Close()
}

func decode(t *testing.T, enc Encoding, in string) (string, error) {
	t.Helper()
	var whole, single bytes.Buffer
	err := decodeAll(&whole, enc, strings.NewReader(in))
	err1 := decodeAll(&single, enc, iotest.OneByteReader(strings.NewReader(in)))
	if (err == nil) != (err1 == nil) || err == nil && whole.String() != single.String() {
		t.Errorf("%q decodes to %q (%v), and byte by byte to %q (%v)", in, whole.String(), err, single.String(), err1)
	}
	read, err1 := io.ReadAll(transform.NewReader(iotest.DataErrReader(strings.NewReader(in)), enc.decoder()))
	if (err == nil) != (err1 == nil) || err == nil && whole.String() != string(read) {
		t.Errorf("%q decodes to %q (%v), and its reader reads %q (%v)", in, whole.String(), err, read, err1)
	}
	at, _, err1 := transform.Append(enc.decoder(), nil, []byte(in))
	if (err == nil) != (err1 == nil) || err == nil && whole.String() != string(at) {
		t.Errorf("%q decodes to %q (%v), and in memory to %q (%v)", in, whole.String(), err, at, err1)
	}
	return whole.String(), err
}

func TestDecoder(t *testing.T) {
	const fails = "\x00fails"
	for _, c := range []struct {
		enc      Encoding
		in, want string
	}{
		{Identity, "a=20b\r\n", "a=20b\r\n"},
		{Base64, "", ""},
		{Base64, "aGVsbG8=", "hello"},
		{Base64, "aG Vs\r\n\tbG8", "hello"},
		{Base64, "aGVsbA==\r\n", "hell"},
		{Base64, "aGVsbG8g\r\nd29ybGQh\r\n", "hello world!"},
		{Base64, "aGVs\rbG8g\rd29y\rbGQh\nSGk=", "hello world!Hi"},
		{Base64, strings.Repeat("QUJD", 2000), strings.Repeat("ABC", 2000)}, // longer than its buffer
		{Base64, strings.Repeat("QUJD\n", 20) + "QUJ\nD QUJD", strings.Repeat("ABC", 22)},
		{Base64, strings.Repeat(strings.Repeat("QUJD", 19)+"\r\n", 100), strings.Repeat("ABC", 1900)},
		{Base64, "QUJDQUJD\nQU!JD\\QUJD\n", "ABCABCABCABC"},
		{Base64, "aGVsbG8=\n_____\nlist of lists\n", "hello"},
		{Base64, "aGVsbG8=\nQUJDQ_UJD\n", "helloABC"},
		{Base64, "aGVsbG8=\nQUJDQ", "helloABC"},
		{Base64, "aGVsbG8=\nQUJDQUJ_", "helloABC"},
		{Base64, "aGVsbA==aGVsbA==", "hellhell"},
		{Base64, "aGVsb===", fails},
		{Base64, "aGVsb", fails},
		{Base64, "not base64!", fails},
		{QuotedPrintable, "a=3Db=c3=A9", "a=bé"},
		{QuotedPrintable, "soft=\r\nbreak=  \nhere", "softbreakhere"},
		{QuotedPrintable, "trailing \t \r\nkept  inside\n", "trailing\r\nkept  inside\n"},
		{QuotedPrintable, "1 = 1, =4x =\rz =4", "1 = 1, =4x =\rz =4"},
		{QuotedPrintable, "space =\nbefore", "space before"},
		{QuotedPrintable, "==41= =42", "=A= B"},
		{QuotedPrintable, "end  ", "end"},
		{QuotedPrintable, strings.Repeat(" ", 10_000) + "x =\ny", strings.Repeat(" ", 10_000) + "x y"}, // longer than its buffer
		{QuotedPrintable, strings.Repeat("=3D", 40_000) + " \n=", strings.Repeat("=", 40_000) + "\n"},  // longer than it holds
		{QuotedPrintable, strings.Repeat("=3d ", 40_000) + "=\nb", strings.Repeat("= ", 40_000) + "b"},
		{QuotedPrintable, "x" + strings.Repeat(" ", 2049) + "\ny", "x\ny"},
		{QuotedPrintable, "x" + strings.Repeat("\t", 5000) + "\n", "x\n"},
		{QuotedPrintable, "x" + strings.Repeat(" ", 5000) + "\n", "x\n"},
		{QuotedPrintable, "x" + strings.Repeat(" \t", 35_000) + "\n", "x" + strings.Repeat(" \t", maxSpaces/2) + "\n"},
		{QuotedPrintable, "x=" + strings.Repeat(" ", 70_000) + "\ny", "x=" + strings.Repeat(" ", maxSpaces-1) + "\ny"},
	} {
		got, err := decode(t, c.enc, c.in)
		if c.want == fails && err == nil || c.want != fails && (err != nil || got != c.want) {
			t.Errorf("encoding %d of %q: %q, %v; want %q", c.enc, c.in, got, err, c.want)
		}
	}
}

func TestDecoderReportsItsWriter(t *testing.T) {
	var d Decoder
	d.Reset(brokenWriter{}, QuotedPrintable)
	if _, err := d.Write(bytes.Repeat([]byte("x"), 5000)); err != io.ErrClosedPipe {
		t.Errorf("Write = %v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// FuzzDecoder: anything decodes as a simple reference decodes it, and what the
// standard library's readers accept as they decode it.
func FuzzDecoder(f *testing.F) {
	for _, s := range []string{"a=3Db =\r\n c \r\n=", "aGVsbG8=", "= \t\r\r\n=4", "aGVs\nbG8", strings.Repeat("QUJD", 255) + "QQ==QUJD", "QUJDQUJD\r\nQUJDQUJD\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		quoted, err := decode(t, QuotedPrintable, in)
		if want := undoQuotedPrintable([]byte(in)); err != nil || quoted != string(want) {
			t.Errorf("quoted-printable %q: %q, %v; want %q", in, quoted, err, want)
		}
		if want, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(in))); err == nil && quoted != string(want) {
			t.Errorf("quoted-printable %q: %q; the standard library decodes %q", in, quoted, want)
		}
		plain, err := decode(t, Base64, in)
		want, wantErr := undoBase64([]byte(in))
		if (err == nil) != (wantErr == nil) || err == nil && plain != string(want) {
			t.Errorf("base64 %q: %q, %v; want %q, %v", in, plain, err, want, wantErr)
		}
		// The standard stream accepts more than strings do: at some places, more text after padding.
		if want, stdErr := io.ReadAll(base64.NewDecoder(base64.StdEncoding, strings.NewReader(in))); stdErr == nil && (err != nil || plain != string(want)) {
			t.Errorf("base64 %q: %q, %v; the standard library decodes %q", in, plain, err, want)
		}
	})
}
