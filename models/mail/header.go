package mail

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
)

// entity holds what the header of a message or part says about its content.
type entity struct {
	typ      string
	boundary string // boundary of a multipart, else ""
	encoding Encoding
	attached bool // it is an attachment, whatever its type
	name     string
	fault    string // why the encoding cannot be undone, or ""
}

// encodedWords decodes the encoded words of headers (RFC 2047) in every charset that
// browsers know.
var encodedWords = mime.WordDecoder{CharsetReader: func(charset string, r io.Reader) (io.Reader, error) {
	e, err := htmlindex.Get(charset)
	if err != nil {
		return nil, err
	}
	return e.NewDecoder().Reader(r), nil
}}

// readHeader returns what a header says about the content. If m is not nil, the
// header is the message's own, and readHeader sets sender, recipients, subject,
// date and message id of m. Recipients add up. Of another field that occurs twice,
// the first counts that can be read.
func (p *Parser) readHeader(header []byte, m *Message) entity {
	e := entity{typ: "text/plain"}
	used := make(map[string]string)
	p.fields(header, func(name, value string) {
		if first, ok := used[name]; ok {
			if first != value {
				p.note(Repeated)
			}
			return
		}
		read, known := true, true
		switch name {
		case "content-type":
			read = p.contentType(value, &e)
		case "content-transfer-encoding":
			read = p.encoding(value, &e)
		case "content-disposition":
			read = p.disposition(value, &e)
		default:
			read, known = p.envelope(name, value, m)
		}
		if read && known {
			used[name] = value
		}
	})
	if strings.HasPrefix(e.typ, "multipart/") {
		// A multipart itself is never encoded; each of its parts may be.
		e.encoding, e.fault = Identity, ""
	}
	return e
}

// fields yields the fields of a header with their names in lower case and
// their values on one line.
func (p *Parser) fields(header []byte, yield func(name, value string)) {
	for len(header) > 0 {
		end := 0
		for { // up to a line that does not begin with white space
			i := bytes.IndexByte(header[end:], '\n')
			if i < 0 {
				end = len(header)
				break
			}
			end += i + 1
			if end == len(header) || header[end] != ' ' && header[end] != '\t' {
				break
			}
		}
		field := header[:end]
		header = header[end:]
		name, value, ok := bytes.Cut(field, []byte(":"))
		name = bytes.TrimRight(name, " \t")
		if !ok || len(name) == 0 || bytes.ContainsAny(name, " \t\r\n") {
			if bytes.HasPrefix(bytes.TrimPrefix(field, []byte(">")), []byte("From ")) {
				continue // a separator that a mail program left
			}
			p.fault(BadHeader, "a header line without a name: %.40q", bytes.TrimRight(field, "\r\n"))
			continue
		}
		value = bytes.ReplaceAll(bytes.ReplaceAll(value, []byte("\r"), nil), []byte("\n"), nil)
		yield(strings.ToLower(string(name)), strings.TrimSpace(string(value)))
	}
}

// structured reads the value of a MIME field. ok is false if it has no word.
func (p *Parser) structured(value string) (v structured, ok bool) {
	v = parseStructured(value)
	if v.repaired {
		p.note(BadMIME)
	}
	if v.repeated {
		p.note(Repeated)
	}
	return v, v.word != ""
}

func (p *Parser) contentType(value string, e *entity) bool {
	v, _ := p.structured(value)
	if n := v.params["name"]; n != "" && e.name == "" {
		e.name = fileName(p.decode("Content-Type", n))
	}
	if !strings.Contains(v.word, "/") {
		p.fault(BadMIME, "Content-Type %.60q is no media type", value)
		return false
	}
	if len(v.word) > maxType {
		p.fault(BadMIME, "a Content-Type of %d bytes", len(v.word))
		return false
	}
	e.typ = clean(strings.Clone(v.word)) // a copy does not keep a long field in memory
	if strings.HasPrefix(e.typ, "multipart/") {
		switch b := strings.TrimRight(v.params["boundary"], " \t"); {
		case b == "":
			p.fault(BadParts, "%s without a boundary", e.typ)
		case len(b) > maxBoundary:
			p.fault(BadParts, "a boundary of %d bytes, more than a line has", len(b))
		default:
			e.boundary = strings.Clone(b)
		}
	}
	return true
}

func (p *Parser) encoding(value string, e *entity) bool {
	v, ok := p.structured(value)
	if !ok {
		return false
	}
	if e.encoding, ok = encodingOf(v.word); !ok {
		e.fault = fmt.Sprintf("unknown encoding %.60q", value)
	}
	return true
}

// disposition reads a Content-Disposition. RFC 2183: one that is not known is an attachment.
func (p *Parser) disposition(value string, e *entity) bool {
	v, ok := p.structured(value)
	e.attached = ok && v.word != "inline"
	if n := v.params["filename"]; n != "" {
		e.name = fileName(p.decode("Content-Disposition", n))
	}
	return ok
}

// envelope sets the field of m that corresponds to a header field. known is false if there is none,
// or if all fields of that name count.
func (p *Parser) envelope(name, value string, m *Message) (read, known bool) {
	if m == nil {
		return false, false
	}
	switch name {
	case "date":
		t, guessed, ok := parseDate(value)
		switch {
		case !ok:
			p.fault(BadDate, "Date %.60q cannot be read", value)
			return false, true
		case guessed:
			p.note(UnknownZone)
		}
		m.Date = t
	case "message-id":
		m.MessageID = p.decode(name, value)
	case "subject":
		m.Subject = p.decode(name, value)
	case "from":
		list := p.people(name, value, nil)
		if len(list) == 0 {
			return false, true
		}
		m.From = list[0]
	case "to":
		m.To = p.people(name, value, m.To)
		return true, false
	case "cc":
		m.Cc = p.people(name, value, m.Cc)
		return true, false
	case "bcc":
		m.Bcc = p.people(name, value, m.Bcc)
		return true, false
	default:
		return true, false
	}
	return true, true
}

// decode returns a header's value with its encoded words decoded.
func (p *Parser) decode(name, value string) string {
	if strings.Contains(value, "=?") {
		d, err := encodedWords.DecodeHeader(value)
		if err != nil {
			p.fault(BadText, "%s: an encoded word cannot be decoded: %s", name, err)
		} else {
			value = d
		}
	}
	if c := clean(value); c != value {
		p.fault(BadText, "%s has bytes that are no text", name)
		return c
	}
	return value
}

// clean returns text that is valid UTF-8 and has no NUL.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// maxName is the most bytes that a name from a header keeps. Names are parts of
// keys.
const maxName = 200

var extensions = map[string]string{
	"text/plain": ".txt", "text/html": ".html", "message/rfc822": ".eml", "text/calendar": ".ics",
	"application/pdf": ".pdf", "application/pgp-signature": ".asc", "image/jpeg": ".jpg",
	"image/png": ".png", "image/gif": ".gif",
}

// fileName is a name from a header without folders and unprintable characters, and
// not longer than maxName. It is "" if nothing is left.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name)
	stem, ext := extension(strings.TrimSpace(name[strings.LastIndexAny(name, `/\`)+1:]))
	for len(stem)+len(ext) > maxName {
		_, size := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-size]
	}
	return strings.Clone(stem + ext) // a copy does not keep a long field in memory
}

// extension divides a file's name.
func extension(name string) (stem, ext string) {
	if ext = path.Ext(name); len(ext) > 20 {
		ext = ""
	}
	return strings.TrimSuffix(name, ext), ext
}

// name returns the name of leaf number n, which is unique within the message. It is
// the name in the leaf's header, or part-N.
func (p *Parser) name(l *leaf, n int) string {
	stem, ext := extension(l.name)
	if stem == "" && ext == "" {
		stem, ext = "part-"+strconv.Itoa(n), extensions[l.typ]
		if ext == "" {
			ext = ".bin"
		}
	}
	name := stem + ext
	if next, taken := p.names[name]; taken {
		number, free := max(n, next), ""
		for ; taken; number++ {
			free = stem + " (" + strconv.Itoa(number) + ")" + ext
			_, taken = p.names[free]
		}
		p.names[name] = number
		name = free
	}
	p.names[name] = 0
	return name
}
