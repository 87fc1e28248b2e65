package mail

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	stdmail "net/mail"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
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
	if e.encoding, ok = encodings[v.word]; !ok {
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

// Bounds of a message's date. Every text form of a date can hold them, so every model stores them.
var (
	MinDate = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	MaxDate = time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
)

// Bounded returns the date nearest to t that a message can have.
func Bounded(t time.Time) time.Time {
	switch {
	case t.Before(MinDate):
		return MinDate
	case t.After(MaxDate):
		return MaxDate
	}
	return t
}

// dateForm is a date of RFC 5322 and its obsolete forms, without comments. Blanks are single ones.
var dateForm = regexp.MustCompile(`^(?:[A-Za-z]+ ?,? ?)?(\d{1,2}) ?([A-Za-z]{3}) ?(\d{2,9}) (\d{1,2}) ?: ?(\d{1,2})` +
	`(?: ?: ?(\d{1,2})(?:\.\d+)?)?(?: ?([+-]\d{4})| ([A-Za-z]|[A-Za-z]{2}[A-Za-z0-9+/_-]+|UT|ut)|)$`)

const months = "janfebmaraprmayjunjulaugsepoctnovdec"

// zones are the named zones of RFC 5322, in hours. All other names are UTC, and guessed.
var zones = map[string]int{
	"ut": 0, "gmt": 0, "utc": 0, "z": 0,
	"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
}

// parseDate reads the value of a Date field. guessed: it has no zone, or one that is not known,
// and is read as UTC. ok is false if it is no date, or is outside of the bounds.
func parseDate(value string) (t time.Time, guessed, ok bool) {
	f := dateForm.FindStringSubmatch(strings.Join(strings.Fields(withoutComments(value)), " "))
	if f == nil {
		return t, false, false
	}
	number := func(s string) int {
		n, _ := strconv.Atoi(s)
		return n
	}
	day, month, year := number(f[1]), strings.Index(months, strings.ToLower(f[2])), number(f[3])
	switch {
	case len(f[3]) == 2 && year < 50:
		year += 2000
	case len(f[3]) <= 3:
		year += 1900
	}
	hour, minute, second := number(f[4]), number(f[5]), number(f[6])
	zone, offset := f[7], 0
	valid := true
	if zone != "" {
		minutes := number(zone[1:3])*60 + number(zone[3:])
		if offset = minutes * 60; zone[0] == '-' {
			offset = -offset
		}
		valid = number(zone[3:]) < 60
	} else {
		var hours int
		zone = strings.ToLower(f[8])
		hours, ok = zones[zone]
		// A single letter is a military zone. These were defined wrongly, so RFC 5322 reads them as UTC, too.
		offset, guessed = hours*3600, !ok
	}
	if month < 0 || month%3 != 0 || hour > 23 || minute > 59 || second > 60 || !valid {
		return t, false, false
	}
	in := time.UTC
	if offset != 0 {
		in = time.FixedZone("", offset)
	}
	t = time.Date(year, time.Month(month/3+1), day, hour, minute, 0, 0, in)
	if t.Day() != day || day == 0 {
		return t, false, false
	}
	t = t.Add(time.Duration(second) * time.Second)
	return t, guessed, Bounded(t).Equal(t)
}

var addresses = stdmail.AddressParser{WordDecoder: &encodedWords}

// people adds a list of addresses to people. If the standard library cannot parse it, each
// address of it is read by itself.
func (p *Parser) people(name, value string, people []Address) []Address {
	room := maxAddresses - len(people)
	list, err := addresses.ParseList(value)
	if err == nil {
		for _, a := range list[:min(len(list), room)] {
			people = append(people, Address{Name: clean(a.Name), Address: clean(a.Address)})
		}
	} else if v := strings.TrimSpace(withoutComments(value)); v != "" && !emptyGroup(v) {
		p.fault(BadAddresses, "%s %.60q: %s", name, value, err)
		ones := divided(v)
		for _, one := range ones[:min(len(ones), room)] {
			if a := p.person(name, one); a != (Address{}) {
				people = append(people, a)
			}
		}
		list = make([]*stdmail.Address, len(ones))
	}
	if len(list) > room {
		p.fault(BadAddresses, "%s has more than %d addresses", name, maxAddresses)
	}
	return people
}

// emptyGroup reports whether v is like undisclosed-recipients:;
func emptyGroup(v string) bool {
	before, ok := strings.CutSuffix(v, ";")
	before = strings.TrimRight(before, " \t")
	return ok && strings.IndexByte(before, ':') == len(before)-1
}

// divided divides a list at its commas and semicolons, but not between quotation marks or < and >.
// A quotation mark or < without its other half is like any character.
func divided(list string) (ones []string) {
	add := func(one string) {
		if one = strings.TrimSpace(one); one != "" {
			ones = append(ones, one)
		}
	}
	began, quotes, angles, group := 0, true, true, true
	for i := 0; i < len(list); i++ {
		end := -1
		switch c := list[i]; {
		case c == ',' || c == ';':
			add(list[began:i])
			began, group = i+1, true
		case c == ':' && group:
			began = i + 1 // the name of a group
		case c == '@':
			group = false
		case c == '"' && quotes:
			end = closing(list[i+1:])
			quotes = end >= 0
		case c == '<' && angles:
			end = strings.IndexByte(list[i+1:], '>')
			angles, group = end >= 0, false
		}
		if end >= 0 {
			i += end + 1
		}
	}
	add(list[began:])
	return ones
}

// closing is where a quoted string ends, or -1.
func closing(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// person reads one address. The text between < and > is the address, and the rest its name.
func (p *Parser) person(name, one string) Address {
	if a, err := addresses.Parse(one); err == nil {
		return Address{Name: clean(a.Name), Address: clean(a.Address)}
	}
	a := Address{Address: one}
	if i := strings.LastIndexByte(one, '<'); i >= 0 {
		in, _, _ := strings.Cut(one[i+1:], ">")
		a = Address{Name: strings.Trim(strings.TrimSpace(one[:i]), `"`), Address: strings.TrimSpace(in)}
	}
	return Address{Name: p.decode(name, a.Name), Address: clean(a.Address)}
}
