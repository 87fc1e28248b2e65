package mail

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	stdmail "net/mail"
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

// words decodes the encoded words of headers (RFC 2047) in every charset that
// browsers know.
var words = mime.WordDecoder{CharsetReader: func(charset string, r io.Reader) (io.Reader, error) {
	e, err := htmlindex.Get(charset)
	if err != nil {
		return nil, err
	}
	return e.NewDecoder().Reader(r), nil
}}

var addresses = stdmail.AddressParser{WordDecoder: &words}

// readHeader returns what a header says about the content. If m is not nil, the
// header is the message's own, and readHeader sets sender, recipients, subject,
// date and message id of m. If a field occurs twice, the first counts.
func (p *Parser) readHeader(header []byte, m *Message) entity {
	e := entity{typ: "text/plain"}
	seen := make(map[string]bool)
	p.fields(header, func(name, value string) {
		if seen[name] {
			return
		}
		seen[name] = true
		switch name {
		case "content-type":
			p.contentType(value, &e)
		case "content-transfer-encoding":
			var ok bool
			if e.encoding, ok = encodingOf(value); !ok {
				e.fault = fmt.Sprintf("unknown encoding %.60q", value)
			}
		case "content-disposition":
			kind, parameters, _ := mime.ParseMediaType(value)
			e.attached = kind == "attachment"
			if n := parameters["filename"]; n != "" {
				e.name = fileName(p.decode(name, n))
			}
		}
		if m != nil {
			p.envelope(name, value, m)
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
			p.fault("a header line without a name: %.40q", bytes.TrimRight(field, "\r\n"))
			continue
		}
		value = bytes.ReplaceAll(bytes.ReplaceAll(value, []byte("\r"), nil), []byte("\n"), nil)
		yield(strings.ToLower(string(name)), strings.TrimSpace(string(value)))
	}
}

func (p *Parser) contentType(value string, e *entity) {
	typ, parameters, err := mime.ParseMediaType(value)
	if err != nil {
		p.fault("Content-Type %.60q: %s", value, err)
	}
	if !strings.Contains(typ, "/") {
		return
	}
	if len(typ) > maxType {
		p.fault("a Content-Type of %d bytes", len(typ))
		return
	}
	e.typ = clean(strings.Clone(typ)) // a copy does not keep a long field in memory
	if n := parameters["name"]; n != "" && e.name == "" {
		e.name = fileName(p.decode("Content-Type", n))
	}
	if strings.HasPrefix(typ, "multipart/") {
		switch b := parameters["boundary"]; {
		case b == "":
			p.fault("%s without a boundary", e.typ)
		case len(b) > maxBoundary:
			p.fault("a boundary of %d bytes, more than a line has", len(b))
		default:
			e.boundary = strings.Clone(b)
		}
	}
}

// envelope sets the field of m that corresponds to a header field, if there is one.
func (p *Parser) envelope(name, value string, m *Message) {
	switch name {
	case "date":
		if t, err := stdmail.ParseDate(value); err == nil {
			m.Date = t
		} else {
			p.fault("Date %.60q cannot be read", value)
		}
	case "message-id":
		m.MessageID = p.decode(name, value)
	case "subject":
		m.Subject = p.decode(name, value)
	case "from":
		if list := p.people(name, value); len(list) > 0 {
			m.From = list[0]
		}
	case "to":
		m.To = p.people(name, value)
	case "cc":
		m.Cc = p.people(name, value)
	case "bcc":
		m.Bcc = p.people(name, value)
	}
}

// decode returns a header's value with its encoded words decoded.
func (p *Parser) decode(name, value string) string {
	if strings.Contains(value, "=?") {
		d, err := words.DecodeHeader(value)
		if err != nil {
			p.fault("%s: an encoded word cannot be decoded: %s", name, err)
		} else {
			value = d
		}
	}
	if c := clean(value); c != value {
		p.fault("%s has bytes that are no text", name)
		return c
	}
	return value
}

// clean returns text that is valid UTF-8 and has no NUL.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// people reads a list of addresses. If the standard library cannot parse it, it
// is split at commas, and each address is what is between < and >.
func (p *Parser) people(name, value string) []Address {
	list, err := addresses.ParseList(value)
	if len(list) > maxAddresses {
		p.fault("%s has more than %d addresses", name, maxAddresses)
		list = list[:maxAddresses]
	}
	if err == nil {
		people := make([]Address, len(list))
		for i, a := range list {
			people[i] = Address{Name: clean(a.Name), Address: clean(a.Address)}
		}
		return people
	}
	if value == "" || strings.HasSuffix(value, ":;") { // undisclosed-recipients:;
		return nil
	}
	p.fault("%s %.60q: %s", name, value, err)
	var people []Address
	for one := range strings.SplitSeq(value, ",") {
		if len(people) == maxAddresses {
			break
		}
		a := Address{Address: strings.TrimSpace(one)}
		if before, in, ok := strings.Cut(one, "<"); ok {
			in, _, _ = strings.Cut(in, ">")
			a = Address{Name: strings.Trim(strings.TrimSpace(before), `"`), Address: strings.TrimSpace(in)}
		}
		a.Name, a.Address = p.decode(name, a.Name), clean(a.Address)
		if a != (Address{}) {
			people = append(people, a)
		}
	}
	return people
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
