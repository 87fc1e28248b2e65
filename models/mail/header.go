package mail

import (
	"bytes"
	"cmp"
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
	unknown  bool // the encoding is not known, so it cannot be undone
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

// readHeader returns what the gathered header says about the content. If m is not nil, the
// header is the message's own, and readHeader sets sender, recipients, subject,
// date and message id of m. Recipients add up. Of another field that occurs twice,
// the first counts that can be read.
func (p *Parser) readHeader(m *Message) entity {
	e := entity{typ: "text/plain"}
	used := make(map[string]string)
	for field := range bytes.SplitSeq(p.header, []byte("\n")) {
		name, value, ok := strings.Cut(string(field), ":")
		if name = strings.TrimRight(name, " \t"); !ok || name == "" || strings.ContainsAny(name, " \t\r") {
			if len(field) > 0 && !bytes.HasPrefix(bytes.TrimPrefix(field, []byte(">")), []byte("From ")) {
				p.fault(BadHeader)
			} // others are separators that a mail program left
			continue
		}
		name, value = strings.ToLower(name), strings.TrimSpace(strings.ReplaceAll(value, "\r", ""))
		if first, ok := used[name]; ok {
			if first != value {
				p.note(Repeated)
			}
			continue
		}
		read := false
		switch name {
		case "content-type":
			read = p.contentType(value, &e)
		case "content-transfer-encoding":
			read = p.encoding(value, &e)
		case "content-disposition":
			read = p.disposition(value, &e)
		default:
			read = m != nil && p.envelope(name, value, m)
		}
		if read {
			used[name] = value
		}
	}
	if strings.HasPrefix(e.typ, "multipart/") {
		// A multipart itself is never encoded; each of its parts may be.
		e.encoding, e.unknown = Identity, false
	}
	return e
}

// structured reads the value of a MIME field. ok is false if it has no word. It has errors if the standard library
// refuses it, it is too long, or an extended parameter (RFC 2231), which the library ignores then, has errors.
func (p *Parser) structured(value string) (v structured, ok bool) {
	value = withoutComments(value)
	v = parseStructured(value[:min(len(value), maxStructured)])
	if _, _, err := mime.ParseMediaType(value); err != nil || v.repaired || len(value) > maxStructured {
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
		e.name = fileName(p.decode(n))
	}
	if !strings.Contains(v.word, "/") || len(v.word) > maxType {
		p.fault(BadMIME)
		return false
	}
	e.typ = clean(strings.Clone(v.word)) // a copy does not keep a long field in memory
	if strings.HasPrefix(e.typ, "multipart/") {
		if b := strings.TrimRight(v.params["boundary"], " \t"); b == "" || len(b) > maxBoundary {
			p.fault(BadParts)
		} else {
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
	e.encoding, ok = encodings[v.word]
	e.unknown = !ok
	return true
}

// disposition reads a Content-Disposition. RFC 2183: one that is not known is an attachment.
func (p *Parser) disposition(value string, e *entity) bool {
	v, ok := p.structured(value)
	e.attached = ok && v.word != "inline"
	if n := v.params["filename"]; n != "" {
		e.name = fileName(p.decode(n))
	}
	return ok
}

// envelope sets the field of m that corresponds to a header field, and reports whether others of that name do not
// count.
func (p *Parser) envelope(name, value string, m *Message) bool {
	switch name {
	case "date":
		t, guessed, ok := parseDate(value)
		switch {
		case !ok:
			p.fault(BadDate)
			return false
		case guessed:
			p.note(UnknownZone)
		}
		m.Date = t
	case "message-id":
		m.MessageID = p.decode(value)
	case "subject":
		m.Subject = p.decode(value)
	case "from":
		list := p.people(value, nil)
		if len(list) == 0 {
			return false
		}
		m.From = list[0]
	case "to", "cc", "bcc":
		list := map[string]*[]Address{"to": &m.To, "cc": &m.Cc, "bcc": &m.Bcc}[name]
		*list = p.people(value, *list)
		return false
	default:
		return false
	}
	return true
}

// decode returns a header's value with its encoded words decoded.
func (p *Parser) decode(value string) string {
	if strings.Contains(value, "=?") {
		if d, err := encodedWords.DecodeHeader(value); err == nil {
			value = d
		} else {
			p.fault(BadText)
		}
	}
	c := clean(value)
	if c != value {
		p.fault(BadText)
	}
	return c
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
	for p.names[stem+ext] {
		stem += " (" + strconv.Itoa(n) + ")"
	}
	p.names[stem+ext] = true
	return stem + ext
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
var dateForm = regexp.MustCompile(`^(?:[A-Za-z]+ ?,? ?)?(\d{1,2}) ?([A-Za-z]{3}) ?(\d{2,4}) (\d{1,2}) ?: ?(\d{1,2})` +
	`(?: ?: ?(\d{1,2})(?:\.\d+)?)?(?: ?([+-]\d\d)([0-5]\d)| ([A-Za-z]|[A-Za-z]{2}[A-Za-z0-9+/_-]+|UT|ut)|)$`)

// zones are the named zones of RFC 5322, in hours. All other names are UTC, and guessed. A single letter is a
// military zone. These were defined wrongly, so RFC 5322 reads them as UTC, too.
var zones = map[string]time.Duration{
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
	second, leap := cmp.Or(f[6], "0"), time.Duration(0)
	year, _ := strconv.Atoi(f[3])
	switch digits := len(f[3]); {
	case digits == 3, digits == 2 && year >= 50:
		year += 1900
	case digits == 2:
		year += 2000
	}
	if second == "60" {
		second, leap = "59", time.Second
	}
	t, err := time.Parse("2006 Jan 2 15:4:5", fmt.Sprintf("%04d %s %s %s:%s:%s", year, f[2], f[1], f[4], f[5], second))
	hours, known := zones[strings.ToLower(f[9])]
	east := hours * time.Hour
	if f[7] != "" {
		known = true
		east, _ = time.ParseDuration(f[7] + "h" + f[8] + "m")
	}
	if t = t.Add(leap - east); east != 0 {
		t = t.In(time.FixedZone("", int(east.Seconds())))
	}
	return t, !known, err == nil && Bounded(t).Equal(t)
}

var addresses = stdmail.AddressParser{WordDecoder: &encodedWords}

var (
	// oneForm is an address of a list that breaks the rules, which is divided at its commas and semicolons, but not
	// between quotation marks or < and >. One of these without its other half is like any character. No half is
	// looked for twice in the same text, so that a list takes linear time: < has none after another <.
	oneForm = regexp.MustCompile(`(?s)(?:\\.|"(?:[^"\\]|\\.)*"|<[^<>]*>|[^,;])+`)
	// groupForm is the name of a group before its first address.
	groupForm = regexp.MustCompile(`(?s)^(?:"(?:[^"\\]|\\.)*"|[^"@<])*:`)
	// emptyGroup is like undisclosed-recipients:;
	emptyGroup = regexp.MustCompile(`^(?:[^:]*:)?\s*;$`)
)

// people adds a list of addresses to people. If the standard library cannot parse it, each
// address of it is read by itself.
func (p *Parser) people(value string, people []Address) []Address {
	list, err := addresses.ParseList(value)
	for _, a := range list {
		people = append(people, Address{Name: clean(a.Name), Address: clean(a.Address)})
	}
	if v := strings.TrimSpace(withoutComments(value)); err != nil && v != "" && !emptyGroup.MatchString(v) {
		p.fault(BadAddresses)
		for _, one := range oneForm.FindAllString(v, -1) {
			one = strings.TrimSpace(groupForm.ReplaceAllString(one, ""))
			if a := p.person(one); a != (Address{}) && len(people) <= maxAddresses {
				people = append(people, a)
			}
		}
	}
	if len(people) > maxAddresses {
		p.fault(BadAddresses)
		people = people[:maxAddresses]
	}
	return people
}

// person reads one address. The text between < and > is the address, and the rest its name.
func (p *Parser) person(one string) Address {
	if a, err := addresses.Parse(one); err == nil {
		return Address{Name: clean(a.Name), Address: clean(a.Address)}
	}
	a := Address{Address: one}
	if i := strings.LastIndexByte(one, '<'); i >= 0 {
		in, _, _ := strings.Cut(one[i+1:], ">")
		a = Address{Name: strings.Trim(strings.TrimSpace(one[:i]), `"`), Address: strings.TrimSpace(in)}
	}
	return Address{Name: p.decode(a.Name), Address: clean(a.Address)}
}
