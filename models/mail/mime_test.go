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

// shape is the content of a message: the body, then each attachment.
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
	for name, c := range map[string]struct {
		raw, want string
		malformed uint32 // the kinds of which one makes it malformed
	}{
		"plain":          {"Subject: x\n\nbody\n", `text/plain "body\n"`, 0},
		"header only":    {"Subject: x\n", `text/plain ""`, 0},
		"nothing":        {"", `text/plain ""`, 0},
		"crlf":           {"Subject: x\r\n\r\nbody\r\n", `text/plain "body\r\n"`, 0},
		"two parts":      {mixed + "--b\n\none\n--b\nContent-Type: image/png\n\ntwo\n--b--\n", `text/plain "one" | part-2.png image/png "two"`, 0},
		"crlf parts":     {strings.ReplaceAll(mixed+"--b\n\none\n--b\n\ntwo\n--b--\n", "\n", "\r\n"), `text/plain "one" | part-2.txt text/plain "two"`, 0},
		"html is text":   {"Content-Type: text/html\n\n<p>", `text/html "<p>"`, 0},
		"no text":        {"Content-Type: image/gif\n\nGIF", `text/plain "" | part-1.gif image/gif "GIF"`, 0},
		"attached text":  {mixed + "--b\nContent-Disposition: attachment; filename=a.txt\n\none\n--b\n\ntwo\n--b--\n", `text/plain "two" | a.txt text/plain "one"`, 0},
		"same names":     {mixed + "--b\n\none\n--b\nContent-Type: a/b; name=x.y\n\n2\n--b\nContent-Type: a/b; name=x.y\n\n3\n--b--\n", `text/plain "one" | x.y a/b "2" | x (3).y a/b "3"`, 0},
		"RFC 2231 name":  {mixed + "--b\n\n1\n--b\nContent-Disposition: attachment; filename*=utf-8''%C3%9C.pdf\n\n2\n--b--\n", `text/plain "1" | Ü.pdf text/plain "2"`, 0},
		"base64":         {"Content-Transfer-Encoding: base64\n\naGFs\nbG8=\n", `text/plain "hallo"`, 0},
		"no padding":     {"Content-Transfer-Encoding: base64\n\naGFs\nbG8\n", `text/plain "hallo"`, 0},
		"no codes":       {"Content-Transfer-Encoding: quoted-printable\n\n1=2 =zz =C3=A4\n", `text/plain "1=2 =zz ä\n"`, 0},
		"no base64":      {"Content-Transfer-Encoding: base64\n\nnot base64!\n", `text/plain "not base64!\n"`, 1 << BadEncoding},
		"uuencode":       {"Content-Transfer-Encoding: x-uuencode\n\nbegin\n", `text/plain "begin\n"`, 1 << BadEncoding},
		"no end":         {mixed + "--b\n\none\n", `text/plain "one\n"`, 1 << BadParts},
		"no boundary":    {"Content-Type: multipart/mixed\n\n--b\n\none\n--b--\n", `text/plain "" | part-1.bin multipart/mixed "--b\n\none\n--b--\n"`, 1 << BadParts},
		"other boundary": {mixed + "--c\n\none\n--c--\n", `text/plain "--c\n\none\n--c--\n"`, 1 << BadParts},
		"inner not closed": {
			mixed + "--b\nContent-Type: multipart/alternative; boundary=i\n\n--i\n\none\n--b\n\ntwo\n--b--\n",
			`text/plain "one" | part-2.txt text/plain "two"`, 1 << BadParts,
		},
		"delimiter in a header": {mixed + "--b\nContent-Type: image/png\n--b\n\ntwo\n--b--\n", `text/plain "two"`, 0},
		"deep":                  {strings.Repeat(mixed+"--b\n", 40) + "\nx", `text/plain "x" | part-1.bin multipart/mixed "" | part-2.bin multipart/mixed ""`, 1 << BadParts},
		"comments":              {"Content-Type: multipart/mixed (made (by) x); boundary=\"b\" (note)\n\n--b\n\none\n--b\nContent-Type: (x) a/b (y)\n\ntwo\n--b--\n", `text/plain "one" | part-2.bin a/b "two"`, 0},
		"a parameter twice":     {"Content-Type: multipart/mixed; boundary=b; charset=utf-8; charset=UTF-8\n\n--b\n\none\n--b--\n", `text/plain "one"`, 0},
		"unquoted boundary":     {"Content-Type: multipart/mixed; boundary=----=_Part 1.3\n\n------=_Part 1.3\n\none\n------=_Part 1.3--\n", `text/plain "one"`, 0},
		"no parameter":          {"Content-Type: multipart/mixed; boundary=\"b\"; type\n\n--b\n\none\n--b--\n", `text/plain "one"`, 0},
		"no second quote":       {"Content-Type: multipart/mixed; boundary=\"b\n\n--b\n\none\n--b--\n", `text/plain "one"`, 0},
		"boundary in pieces":    {"Content-Type: multipart/mixed; boundary*0=a; boundary*1=\"b \"\n\n--ab\n\none\n--ab--\n", `text/plain "one"`, 0},
		"second type":           {"Content-Type:\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\none\n--b--\n", `text/plain "one"`, 1 << BadMIME},
		"disposition, comment":  {mixed + "--b\nContent-Disposition: attachment (note); filename=a.txt\n\none\n--b\n\ntwo\n--b--\n", `text/plain "two" | a.txt text/plain "one"`, 0},
		"disposition, quoted":   {mixed + "--b\nContent-Disposition: \"attachment\"; filename=a.txt\n\none\n--b\n\ntwo\n--b--\n", `text/plain "two" | a.txt text/plain "one"`, 0},
		"disposition, colon":    {mixed + "--b\nContent-Disposition: attachment: filename=a.txt\n\none\n--b\n\ntwo\n--b--\n", `text/plain "two" | a.txt text/plain "one"`, 0},
		"file name twice":       {mixed + "--b\nContent-Disposition: attachment; filename=\"a \\\"1\\\".txt\"; filename=b.txt\n\none\n--b\n\ntwo\n--b--\n", `text/plain "two" | a "1".txt text/plain "one"`, 0},
		"file name in pieces":   {mixed + "--b\n\n1\n--b\nContent-Disposition: attachment; filename*0*=utf-8'de'%C3%9C; filename*1=\"bung.pdf\"\n\n2\n--b--\n", `text/plain "1" | Übung.pdf text/plain "2"`, 0},
		"encoding;":             {"Content-Transfer-Encoding: BASE64; x\n\naGFsbG8=\n", `text/plain "hallo"`, 0},
		"encoding, comment":     {"Content-Transfer-Encoding: (x) base64 (y)\n\naGFsbG8=\n", `text/plain "hallo"`, 0},
		"footer":                {"Content-Transfer-Encoding: base64\n\naGFsbG8=\n___\na list\n", `text/plain "hallo"`, 0},
		"separator":             {"From a@b Sat Jan  1 10:00:00 2022\n>From - x\nSubject: x\n\nbody\n", `text/plain "body\n"`, 0},
		"parts without end":     {mixed + strings.Repeat("--b\n\n", 20_000), `text/plain "--b\n\n--b\n\n`, 1 << BadParts},
	} {
		t.Run(name, func(t *testing.T) {
			m := parseText(t, c.raw)
			if got := shape(m); got != c.want && (len(c.raw) < 1000 || !strings.HasPrefix(got, c.want)) {
				t.Errorf("got  %.300s\nwant %s", got, c.want)
			}
			if m.Malformed != (c.malformed != 0) || m.Noted&c.malformed != c.malformed {
				t.Errorf("malformed %t with %b noted, want %b", m.Malformed, m.Noted, c.malformed)
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

// TestHTML: ways to write text/html that mail has.
func TestHTML(t *testing.T) {
	for _, typ := range []string{
		"text/html", "TEXT/HTML", "text/html;", "text/html;;", "text/html (x)", "(x)text/html", `"text/html"`, "text/html,", "text/html:",
		"text / html", "text/html; charset", "text/html; charset=", `text/html; charset="utf-8`, "text/html charset=utf-8",
		"text/html; charset=utf-8; charset=latin1", "text/html; =utf-8", `"text/html; charset=utf-8"`,
		"text/html; charset=utf-8 x=y", "text/html; a b c", "\n\ttext/html",
	} {
		if m := parseText(t, "Content-Type: "+typ+"\n\nx"); m.Body.Type != "text/html" || m.Malformed {
			t.Errorf("%q is %s, malformed %t", typ, m.Body.Type, m.Malformed)
		}
	}
}

// TestDates: dates of RFC 5322 and its obsolete forms, in UTC. "?" is a guessed zone, "" no date.
func TestDates(t *testing.T) {
	for value, want := range map[string]string{
		"Sat, 1 Jan 2022 10:00:00 +0130":              "2022-01-01T08:30:00Z",
		"1 jan 2022 10:00 -0000":                      "2022-01-01T10:00:00Z",
		"Sat, 1 Jan 2022 10:00:00 EST":                "2022-01-01T15:00:00Z",
		"Sat, 1 Jan 2022 10:00:00 edt":                "2022-01-01T14:00:00Z",
		"Sat, 1 Jan 2022 10:00:00 CST":                "2022-01-01T16:00:00Z",
		"Sat, 1 Jan 2022 10:00:00 CDT":                "2022-01-01T15:00:00Z",
		"Sat, 1 Jan 2022 10:00:00 MST":                "2022-01-01T17:00:00Z",
		"Sat, 1 Jan 2022 10:00:00 MDT":                "2022-01-01T16:00:00Z",
		"Sat, 1 Jan 2022 10:00:00 PST":                "2022-01-01T18:00:00Z",
		"Sat, 1 Jan 2022 10:00:00 PDT":                "2022-01-01T17:00:00Z",
		"Sat, 1 Jan 2022 10:00:00 Z":                  "2022-01-01T10:00:00Z",
		"Sat, 1 Jan 2022 10:00:00 UT":                 "2022-01-01T10:00:00Z",
		"Sat, 1 Jan 2022 10:00:00 GMT":                "2022-01-01T10:00:00Z",
		"Sat, 1 Jan 2022 10:00:00 A":                  "2022-01-01T10:00:00Z?",
		"Sat, 1 Jan 2022 10:00:00 CET":                "2022-01-01T10:00:00Z?",
		"Sat, 1 Jan 2022 10:00:00 BST":                "2022-01-01T10:00:00Z?",
		"Sat, 1 Jan 2022 10:00:00 EST5EDT":            "2022-01-01T10:00:00Z?",
		"Sat, 1 Jan 2022 10:00:00":                    "2022-01-01T10:00:00Z?",
		"Sat, 1 Jan 2022 10:00 (noon) +0000 (x)":      "2022-01-01T10:00:00Z",
		"1 Jan 2022 10:00 (noon (or (so))) +0000":     "2022-01-01T10:00:00Z",
		"1 Jan 2022 10:00 (9\" (or \\) 10) \") +0000": "2022-01-01T10:00:00Z",
		"Sat, 1 Jan 2022 10:00:00 +0200 (M\xe4rz)":    "2022-01-01T08:00:00Z",
		"1 Jan 49 10:00 GMT":                          "2049-01-01T10:00:00Z",
		"1 Jan 70 10:00 GMT":                          "1970-01-01T10:00:00Z",
		"1 Jan 0001 00:00 +0000":                      "0001-01-01T00:00:00Z",
		"31 Dec 9999 23:59:59 +0000":                  "9999-12-31T23:59:59Z",
		"31 Dec 9999 23:59:59 -0001":                  "",
		"31 Dec 9999 23:59:60 +0000":                  "",
		"1 Jan 0001 00:00 +0001":                      "",
		"1 Jan 0000 00:00 +0000":                      "",
		"1 Jan 10000 00:00 +0000":                     "",
		"1 Jan 999999999 00:00 +0000":                 "",
		"30 Feb 2022 10:00 +0000":                     "",
		"0 Jan 2022 10:00 +0000":                      "",
		"1 Jan 2022 24:00 +0000":                      "",
		"1 Jan 2022 10:60 +0000":                      "",
		"1 Jan 2022 10:00:61 +0000":                   "",
		"1 Jan 2022 10:00 +01:00":                     "",
		"1 anf 2022 10:00 +0000":                      "",
		"2022-01-01T10:00:00Z":                        "",
		"Fri, Dec 14 2001 16:05:48 -0800":             "",
		"15 Dec 00 11:13:27 PM":                       "",
		"":                                            "",
	} {
		m := parseText(t, "Date: "+value+"\n\n")
		got := ""
		if !m.Malformed {
			got = m.Date.UTC().Format(time.RFC3339)
		}
		if m.Noted>>UnknownZone&1 > 0 {
			got += "?"
		}
		if got != want {
			t.Errorf("%q is %q, want %q", value, got, want)
		}
	}
	if m := parseText(t, "Date: x\nDate: 1 Jan 2022 10:00 Z\n\n"); m.Date.Year() != 2022 {
		t.Errorf("the second date counts if the first cannot be read, got %v", m.Date)
	}
}

// TestPeople: the addresses of lists that break the rules, and their number.
func TestPeople(t *testing.T) {
	for list, want := range map[string]string{
		`To: b@x.org` + "\nTo: c@x.org\nTo: d@x.org":                "b@x.org c@x.org d@x.org",
		`To: "Doe, Jane" <b@x.org>, "Roe, Ric" <c@x.org>, d@@x.org`: "b@x.org c@x.org d@@x.org",
		`To: "Doe, Jane <b@x.org>, c@x.org`:                         `"Doe b@x.org c@x.org`,
		`To: "Doe; \"J, x\"" <b@x.org>; c@x.org;`:                   "b@x.org c@x.org",
		`To: <a, b@x.org>, (one, two) c@@x.org`:                     "a, b@x.org c@@x.org",
		`To: undisclosed-recipients:;`:                              "",
		`To: "Undisclosed; x": ;`:                                   "",
		`To: "" <>`:                                                 "",
	} {
		var got []string
		m := parseText(t, list+"\n\n")
		for _, a := range m.To {
			got = append(got, a.Address)
		}
		if want == "" && strings.HasSuffix(list, ";") && m.Malformed {
			t.Errorf("%s, which is an empty group, is malformed", list)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %q, want %q", list, s, want)
		}
	}
}

// TestNotes: each kind is said in its own words.
func TestNotes(t *testing.T) {
	const sep = "From a@b Sat Jan  1 10:00:00 2022\n"
	text := sep + "Date: 1 Jan 2022 10:00 CET\nSubject: x\nSubject: y\n\n\nFrom now on\n" + sep + "Date: x\n" + sep +
		"Content-Type: text/html; charset=utf-8; charset=x; y\nContent-Transfer-Encoding: base64\n\naGFsbG8=-\n"
	f, err := Open(t.Context(), write(t, "x", []byte(text)), t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := strings.Join(f.info.Notes.Lines(), "\n")
	want := `1 message has a Date that cannot be read or is outside of years 1 to 9999
1 message has a Date in an unknown time zone, read as UTC
2 messages have a header field or parameter twice with different values; the first was used
1 message has MIME fields with errors, read as far as possible
1 message has bytes in base64 that do not belong there, ignored
2 messages are separated without an empty line
1 line begins with "From " after an empty line and without a date, read as text`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestHeader(t *testing.T) {
	m := parseText(t, "From: \"B, A\" <a@x.example>\nTo: =?iso-8859-1?q?Bj=F6rn?= <b@x.example>,\n\tc@x.example\nCC: undisclosed-recipients:;\n"+
		"Subject: =?utf-8?q?one_?=\n =?utf-8?b?dHdv?= three\nSubject: second\nDate: Fri, 02 Jan 2026 03:04:05 +0100\nMessage-Id: <1@x>\n\n")
	got := fmt.Sprintf("%q %q %q %q %s %s %t", m.From, m.To, m.Cc, m.Subject, m.Date.UTC().Format(time.RFC3339),
		m.MessageID, m.Malformed)
	want := `{"B, A" "a@x.example"} [{"Björn" "b@x.example"} {"" "c@x.example"}] [] "one two three" 2026-01-02T02:04:05Z <1@x> false`
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
		if got := fmt.Sprintf("%s %q", from, m.Subject); got != want || !m.Malformed {
			t.Errorf("%.40q: got %s, malformed %t; want %s", raw, got, m.Malformed, want)
		}
		check(t, m)
	}
}

func TestNotesOfParameters(t *testing.T) {
	for value, want := range map[string]uint64{
		"filename*=utf-8''a%20b":                              0,
		"filename*=utf-8''a%2":                                1 << BadMIME,
		"filename*=a%20b":                                     1 << BadMIME,
		"filename*0=a; filename*1*=b":                         0,
		"filename*=iso-8859-1''a%E4":                          1 << BadMIME,
		"filename=\"" + strings.Repeat("x", 8000) + "\"":      0,
		"filename=\"" + strings.Repeat("x", 9<<10) + "\"":     1 << BadMIME,
		"filename=x" + strings.Repeat("; a=b", maxStructured): 1 << BadMIME,
	} {
		if m := parseText(t, "Content-Disposition: attachment; "+value+"\n\nx"); uint64(m.Noted) != want {
			t.Errorf("%.50s: noted %b, want %b", value, m.Noted, want)
		}
	}
}
