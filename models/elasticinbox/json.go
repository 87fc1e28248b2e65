package elasticinbox

import (
	"errors"
	"unicode/utf8"

	"github.com/mailbench/mailbench/models/mail"
)

// The document stores addresses as JSON: [["Name","a@b"],…]. Every message writes
// two such lists, and every line of a listing reads one. The functions below
// therefore use neither reflection nor allocation.

const hexDigits = "0123456789abcdef"

func appendAddresses(dst []byte, as ...mail.Address) []byte {
	dst = append(dst, '[')
	for i, a := range as {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '[')
		dst = append(appendQuoted(dst, a.Name), ',')
		dst = append(appendQuoted(dst, a.Address), ']')
	}
	return append(dst, ']')
}

func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		if c < ' ' {
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		} else {
			dst = append(dst, '\\', c)
		}
		from = i + 1
	}
	return append(append(dst, s[from:]...), '"')
}

var errAddresses = errors.New("not a JSON list of [name, address]")

// appendFirstAddress appends the address (not the name) of the first pair of a
// stored list, which may be empty. It accepts what appendAddresses writes and
// nothing else.
func appendFirstAddress(dst, list []byte) ([]byte, error) {
	r := jsonReader{b: list}
	at := len(dst)
	r.expect('[')
	for first := true; !r.failed && !r.next(']'); first = false {
		if !first {
			r.expect(',')
		}
		r.expect('[')
		end := len(dst)
		dst = r.quoted(dst)[:end] // the name, checked and dropped
		r.expect(',')
		if dst = r.quoted(dst); !first {
			dst = dst[:end]
		}
		r.expect(']')
	}
	if r.failed || len(r.b) > 0 {
		return dst[:at], errAddresses
	}
	return dst, nil
}

type jsonReader struct {
	b      []byte
	failed bool
}

// next skips c and returns true, if c comes next.
func (r *jsonReader) next(c byte) bool {
	if len(r.b) == 0 || r.b[0] != c {
		return false
	}
	r.b = r.b[1:]
	return true
}

func (r *jsonReader) expect(c byte) {
	if !r.next(c) {
		r.failed = true
	}
}

// quoted appends the string that comes next.
func (r *jsonReader) quoted(dst []byte) []byte {
	r.expect('"')
	from := 0
	for i := 0; i < len(r.b) && !r.failed; i++ {
		switch c := r.b[i]; {
		case c == '"':
			piece := r.b[from:i]
			r.failed = !utf8.Valid(piece)
			r.b = r.b[i+1:]
			return append(dst, piece...)
		case c < ' ':
			r.failed = true
		case c == '\\':
			piece := r.b[from:i]
			dst = append(dst, piece...)
			c, n := unescape(r.b[i+1:])
			if n == 0 || !utf8.Valid(piece) {
				r.failed = true
			}
			dst = append(dst, c)
			i += n
			from = i + 1
		}
	}
	r.failed = true
	return dst
}

// unescape decodes what follows a backslash. It returns the byte and the length of the escape,
// which is 0 if appendQuoted does not write it.
func unescape(b []byte) (byte, int) {
	switch {
	case len(b) > 0 && (b[0] == '"' || b[0] == '\\'):
		return b[0], 1
	case len(b) >= 5 && string(b[:3]) == "u00" && (b[3] == '0' || b[3] == '1'):
		for low := range hexDigits {
			if b[4] == hexDigits[low] {
				return (b[3]-'0')<<4 | byte(low), 5
			}
		}
	}
	return 0, 0
}
