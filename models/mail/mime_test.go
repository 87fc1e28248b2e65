package mail

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func parseText(t testing.TB, raw string) *Message {
	t.Helper()
	m := &Message{}
	if err := NewParser().Parse(BytesContent(raw), time.Unix(0, 0), m); err != nil {
		t.Fatal(err)
	}
	return m
}

// shape is what a message comes to: the body, then each attachment.
func shape(m *Message) string {
	var b strings.Builder
	body, _ := AppendContent(nil, m.Body.Content)
	fmt.Fprintf(&b, "%s %q", m.Body.Type, strings.ToValidUTF8(string(body), "\uFFFD"))
	for i := range m.Attachments {
		a := &m.Attachments[i]
		c, _ := AppendContent(nil, a.Content)
		fmt.Fprintf(&b, " | %s %s %q", a.Name, a.Type, c)
	}
	return b.String()
}

func TestParts(t *testing.T) {
	const mixed = "Content-Type: multipart/mixed; boundary=b\n\n"
	for name, c := range map[string]struct{ raw, want, malformed string }{
		"plain":          {"Subject: x\n\nbody\n", `text/plain "body\n"`, ""},
		"header only":    {"Subject: x\n", `text/plain ""`, ""},
		"nothing":        {"", `text/plain ""`, ""},
		"crlf":           {"Subject: x\r\n\r\nbody\r\n", `text/plain "body\r\n"`, ""},
		"two parts":      {mixed + "--b\n\none\n--b\nContent-Type: image/png\n\ntwo\n--b--\n", `text/plain "one" | part-2.png image/png "two"`, ""},
		"crlf parts":     {strings.ReplaceAll(mixed+"--b\n\none\n--b\n\ntwo\n--b--\n", "\n", "\r\n"), `text/plain "one" | part-2.txt text/plain "two"`, ""},
		"html is text":   {"Content-Type: text/html\n\n<p>", `text/html "<p>"`, ""},
		"no text":        {"Content-Type: image/gif\n\nGIF", `text/plain "" | part-1.gif image/gif "GIF"`, ""},
		"attached text":  {mixed + "--b\nContent-Disposition: attachment; filename=a.txt\n\none\n--b\n\ntwo\n--b--\n", `text/plain "two" | a.txt text/plain "one"`, ""},
		"same names":     {mixed + "--b\n\none\n--b\nContent-Type: a/b; name=x.y\n\n2\n--b\nContent-Type: a/b; name=x.y\n\n3\n--b--\n", `text/plain "one" | x.y a/b "2" | x (3).y a/b "3"`, ""},
		"RFC 2231 name":  {mixed + "--b\n\n1\n--b\nContent-Disposition: attachment; filename*=utf-8''%C3%9C.pdf\n\n2\n--b--\n", `text/plain "1" | Ü.pdf text/plain "2"`, ""},
		"base64":         {"Content-Transfer-Encoding: base64\n\naGFs\nbG8=\n", `text/plain "hallo"`, ""},
		"no padding":     {"Content-Transfer-Encoding: base64\n\naGFs\nbG8\n", `text/plain "hallo"`, ""},
		"no codes":       {"Content-Transfer-Encoding: quoted-printable\n\n1=2 =zz =C3=A4\n", `text/plain "1=2 =zz ä\n"`, ""},
		"no base64":      {"Content-Transfer-Encoding: base64\n\nnot base64!\n", `text/plain "not base64!\n"`, "part 1: its encoding cannot be undone"},
		"uuencode":       {"Content-Transfer-Encoding: x-uuencode\n\nbegin\n", `text/plain "begin\n"`, `unknown encoding "x-uuencode"`},
		"no end":         {mixed + "--b\n\none\n", `text/plain "one\n"`, "its last boundary is missing"},
		"no boundary":    {"Content-Type: multipart/mixed\n\n--b\n\none\n--b--\n", `text/plain "" | part-1.bin multipart/mixed "--b\n\none\n--b--\n"`, "without a boundary"},
		"other boundary": {mixed + "--c\n\none\n--c--\n", `text/plain "--c\n\none\n--c--\n"`, "no part between its boundaries"},
		"inner not closed": {
			mixed + "--b\nContent-Type: multipart/alternative; boundary=i\n\n--i\n\none\n--b\n\ntwo\n--b--\n",
			`text/plain "one" | part-2.txt text/plain "two"`, "its last boundary is missing",
		},
		"delimiter in a header": {mixed + "--b\nContent-Type: image/png\n--b\n\ntwo\n--b--\n", `text/plain "two"`, ""},
		"deep":                  {strings.Repeat(mixed+"--b\n", 40) + "\nx", `text/plain "x" | part-1.bin multipart/mixed "" | part-2.bin multipart/mixed ""`, "more than 32 deep"},
		"parts without end":     {mixed + strings.Repeat("--b\n\n", 20_000), `text/plain "--b\n\n--b\n\n`, "more than 1000 parts"},
	} {
		t.Run(name, func(t *testing.T) {
			m := parseText(t, c.raw)
			if got := shape(m); got != c.want && (len(c.raw) < 1000 || !strings.HasPrefix(got, c.want)) {
				t.Errorf("got  %.300s\nwant %s", got, c.want)
			}
			if !strings.Contains(m.Malformed, c.malformed) || (c.malformed == "") != (m.Malformed == "") {
				t.Errorf("malformed %q, want %q", m.Malformed, c.malformed)
			}
			check(t, m)
		})
	}
}

// TestParseSaysWhatCannotBeRead: an error of reading is none of the message's.
func TestParseSaysWhatCannotBeRead(t *testing.T) {
	raw := BytesContent("Content-Transfer-Encoding: base64\n\naGFsbG8=\n")
	gone := errors.New("the file is gone")
	for reads := range 2 { // the first finds the parts, the second decodes one
		err := NewParser().Parse(&failing{raw, reads, gone}, time.Time{}, &Message{})
		if !errors.Is(err, gone) {
			t.Errorf("after %d reads: error %v, want %v", reads, err, gone)
		}
	}
}

// failing is content that can be read a few times, and then fails.
type failing struct {
	BytesContent
	reads int
	err   error
}

func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	if f.reads--; f.reads < 0 {
		return 0, f.err
	}
	return f.BytesContent.ReadAt(p, off)
}

// TestHostileNames: names that take those which parts of one name would get
// next do not make naming slow. Trying each number again for each part took
// 50 million allocations.
func TestHostileNames(t *testing.T) {
	var b strings.Builder
	b.WriteString("Content-Type: multipart/mixed; boundary=b\n\n")
	for i := range maxParts / 2 {
		fmt.Fprintf(&b, "--b\nContent-Type: a/b; name=\"x (%d)\"\n\n", i+maxParts/2)
	}
	b.WriteString(strings.Repeat("--b\nContent-Type: a/b; name=x\n\n", maxParts/2))
	b.WriteString("--b--\n")
	p, m := NewParser(), &Message{}
	allocs := testing.AllocsPerRun(1, func() {
		if err := p.Parse(BytesContent(b.String()), time.Time{}, m); err != nil {
			t.Fatal(err)
		}
	})
	check(t, m)
	if len(m.Attachments) != maxParts || allocs > 100*maxParts {
		t.Errorf("%d attachments with %.0f allocations; want %d with at most %d", len(m.Attachments), allocs, maxParts,
			100*maxParts)
	}
}

func TestHeader(t *testing.T) {
	m := parseText(t, "From: \"B, A\" <a@x.example>\nTo: =?iso-8859-1?q?Bj=F6rn?= <b@x.example>,\n\tc@x.example\nCC: undisclosed-recipients:;\n"+
		"Subject: =?utf-8?q?one_?=\n =?utf-8?b?dHdv?= three\nSubject: second\nDate: Fri, 02 Jan 2026 03:04:05 +0100\nMessage-Id: <1@x>\n\n")
	got := fmt.Sprintf("%q %q %q %q %s %s %q", m.From, m.To, m.Cc, m.Subject, m.Date.UTC().Format(time.RFC3339),
		m.MessageID, m.Malformed)
	want := `{"B, A" "a@x.example"} [{"Björn" "b@x.example"} {"" "c@x.example"}] [] "one two three" 2026-01-02T02:04:05Z <1@x> ""`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for raw, want := range map[string]string{
		"Subject: 8 bit \xe4\x00 and NUL\n\nx":                "{} \"8 bit \uFFFD and NUL\"",
		"From: Nils \xe5 <n@x.example>, more\nSubject: a\n\n": "{Nils \uFFFD n@x.example} \"a\"",
		"Date: yesterday\nSubject: b\n\n":                     `{} "b"`,
		"no colon\nSubject: c\n\n":                            `{} "c"`,
		"Subject: =?klingon?q?x?=\n\n":                        `{} "=?klingon?q?x?="`,
		"X: " + strings.Repeat("x", 1<<20) + "\nSubject: d\n": `{} "d"`,
	} {
		m := parseText(t, raw)
		from := strings.ReplaceAll(fmt.Sprint(m.From), "{ }", "{}")
		if got := fmt.Sprintf("%s %q", from, m.Subject); got != want || m.Malformed == "" {
			t.Errorf("%.40q: got %s, malformed %q; want %s", raw, got, m.Malformed, want)
		}
		check(t, m)
	}
}
