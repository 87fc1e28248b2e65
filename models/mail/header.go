package mail

import (
	"bytes"
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

// structured reads the value of a MIME field as the standard library does. One that the library refuses, or that is too
// long, is read as its writer meant it. ok is false if it has no word.
func (p *Parser) structured(value string) (v structured, ok bool) {
	value = withoutComments(value)
	word, params, err := mime.ParseMediaType(value)
	if v = (structured{word: word, params: params}); err != nil || len(value) > maxStructured {
		p.note(BadMIME)
		v = parseStructured(value[:min(len(value), maxStructured)])
	}
	for _, m := range extendedForm.FindAllStringSubmatch(value, -1) {
		if params[strings.ToLower(m[1])] == "" { // the library ignores it: it has errors, or another charset than UTF-8
			p.note(BadMIME)
		}
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

// zones are the named zones of RFC 5322. The standard library would take others for those of this machine.
var zones = map[string]string{
	"UT": "+0000", "GMT": "+0000", "UTC": "+0000", "Z": "+0000", "EST": "-0500", "EDT": "-0400",
	"CST": "-0600", "CDT": "-0500", "MST": "-0700", "MDT": "-0600", "PST": "-0800", "PDT": "-0700",
}

// parseDate reads the value of a Date field. guessed: it has no zone, or one that is not known, and is read as UTC. A
// military zone is not known: these were defined wrongly, so RFC 5322 has them as UTC, too. ok is false if it is no
// date, or is outside of the bounds.
func parseDate(value string) (t time.Time, guessed, ok bool) {
	words := strings.Fields(withoutComments(value))
	if len(words) == 0 {
		return t, false, false
	}
	switch last := &words[len(words)-1]; {
	case zones[strings.ToUpper(*last)] != "":
		*last = zones[strings.ToUpper(*last)]
	case unicode.IsLetter(rune((*last)[0])) && len(*last) != 2: // AM and PM are no zones
		*last, guessed = "+0000", true
	case !strings.ContainsAny(*last, "+-"):
		words, guessed = append(words, "+0000"), true
	}
	t, err := stdmail.ParseDate(strings.Join(words, " "))
	return t, guessed, err == nil && Bounded(t).Equal(t)
}

var addresses = stdmail.AddressParser{WordDecoder: &encodedWords}

// oneForm is an address of a list that breaks the rules, which is divided at its commas and semicolons, but not
// between quotation marks or < and >. One of these without its other half is like any character. No half is
// looked for twice in the same text, so that a list takes linear time: < has none after another <.
var oneForm = regexp.MustCompile(`(?s)(?:\\.|"(?:[^"\\]|\\.)*"|<[^<>]*>|[^,;])+`)

// people adds a list of addresses to people. If the standard library cannot parse it, each
// address of it is read by itself.
func (p *Parser) people(value string, people []Address) []Address {
	list, err := addresses.ParseList(value)
	for _, a := range list {
		people = append(people, Address{Name: clean(a.Name), Address: clean(a.Address)})
	}
	if v := strings.TrimSpace(withoutComments(value)); err != nil && v != "" {
		p.fault(BadAddresses)
		for _, one := range oneForm.FindAllString(v, -1) {
			if a := p.person(strings.TrimSpace(one)); a != (Address{}) && len(people) <= maxAddresses {
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

// withoutComments replaces each comment (RFC 5322) by a blank. One that does not end is no comment.
func withoutComments(s string) string {
	var b strings.Builder
	quoted, depth, kept := false, 0, 0 // kept: what is before is in b, or in a comment
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && (quoted || depth > 0):
			i++
		case c == '"' && depth == 0:
			quoted = !quoted
		case c == '(' && !quoted:
			if depth++; depth == 1 {
				b.WriteString(s[kept:i])
				kept = i
			}
		case c == ')' && depth > 0:
			if depth--; depth == 0 {
				b.WriteByte(' ')
				kept = i + 1
			}
		}
	}
	b.WriteString(s[kept:])
	return b.String()
}

// structured is the value of a field such as Content-Type: a word, and parameters.
type structured struct {
	word     string // in lower case
	params   map[string]string
	repeated bool // a parameter has two values
}

const token = "[!#$%&'*+\\-.^_`{|}~0-9A-Za-z]+"

var (
	// wordForm is the word, which may be a media type.
	wordForm = regexp.MustCompile(`^(` + token + `)(?:\s*(/)\s*(` + token + `))?\s*`)
	// extendedForm is the beginning of an extended parameter (RFC 2231).
	extendedForm = regexp.MustCompile(`([^\s;=*]+)\*[0-9*]*\s*=`)
	// escapes are those of a quoted value. A backslash before others is a literal: Windows writes folders of files.
	escapes = strings.NewReplacer(`\"`, `"`, `\\`, `\`)
)

// maxStructured is how many bytes of a value are read.
const maxStructured = 8 << 10

// parseStructured reads a value without comments as its writer meant it: what no RFC allows, and mail has, is read,
// too, such as values without quotation marks.
func parseStructured(value string) structured {
	v, s := structured{params: map[string]string{}}, strings.TrimLeft(strings.TrimSpace(value), "\" \t")
	// Before = is the name of a parameter, and no word before it.
	if m := wordForm.FindStringSubmatch(s); m != nil && !strings.HasPrefix(s[len(m[0]):], "=") {
		v.word, s = strings.ToLower(m[1]+m[2]+m[3]), s[len(m[0]):]
	}
	for parameter := range strings.SplitSeq(strings.TrimLeft(s, " \t\r\n;:,\""), ";") {
		name, text, _ := strings.Cut(parameter, "=")
		name, text = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(text)
		text = escapes.Replace(strings.TrimSuffix(strings.TrimPrefix(text, `"`), `"`))
		if old, twice := v.params[name]; !twice {
			v.params[name] = text
		} else if !strings.EqualFold(old, text) {
			v.repeated = true
		}
	}
	return v
}
