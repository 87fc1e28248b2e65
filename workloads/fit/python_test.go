package fit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models/mail"
)

// pythonMail is mail that Python must read as mailbench does: mbox files by name.
func pythonMail() map[string]string {
	const sep = "From a@example.org Sat Jan  1 10:00:00 2022\n"
	files := map[string]string{}
	add := func(kind, text string) { files[fmt.Sprintf("%s-%03d.mbox", kind, len(files))] = text }
	message := func(i int) string { return fmt.Sprintf("Subject: s\n\n%s\n", strings.Repeat("x", i+1)) }
	for i, s := range []string{
		sep, "From - Sat Jan  1 10:00:00 2022\n", "From x Sat Jan 01 10:00:00 +0000 2022\n", "From x Sat Jan 1 10:00 EST 2022\n",
		"From x Sat Jan  1 10:00:00 2022 +0100\n", "From x Sat, 1 Jan 2022 10:00:00 +0000\n", "From x@y Sat Jan  1 10:00:00 2022 remote from z\n",
	} {
		for _, between := range []string{"", "\n", "\n\n\n", " \n"} {
			add("separator", s+message(i)+between+s+message(2)+between+sep+message(3))
		}
		add("crlf", strings.ReplaceAll(s+message(i)+"\n"+s+message(2)+"\n", "\n", "\r\n"))
	}
	for _, zone := range []string{
		"+0000", "-0000", "+0530", "-1200", "+1400", "GMT", "UT", "Z", "EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT", "est", "+0200 (x)",
	} {
		for _, date := range []string{"Sat, 1 Jan 2022 23:30:00 ", "1 Jul 2022 02:30 ", "Mon,  1 Feb 99 00:00:00 ", "29 Feb 2000 12:00:59 "} {
			add("date", sep+"Date: "+date+zone+"\n\nx\n")
		}
	}
	parts := func(typ, disposition, boundary string) string {
		return sep + "Content-Type: " + typ + "\n\n--" + boundary + "\nContent-Type: text/plain\nContent-Disposition: " + disposition +
			"\n\nHello\n--" + boundary + "\nContent-Type: application/pdf\nContent-Transfer-Encoding: base64\n\naGFsbG8gd2VsdA==\n--" + boundary + "--\n"
	}
	for _, typ := range []string{
		`multipart/mixed; boundary="b"`, `Multipart/Mixed;boundary=b`, `multipart/mixed; boundary="b"; charset=utf-8`, `multipart/mixed; boundary="b" (note)`,
		`multipart/mixed; boundary=b; type`, "multipart/mixed;\n\tboundary=b", `multipart/mixed; x="a;b=c"; boundary=b`, `multipart/mixed; boundary*0=b`,
	} {
		for _, disposition := range []string{
			"inline", "attachment", "ATTACHMENT; filename=a", `attachment; filename="a"; filename="b"`, "attachment (note); filename=x", "attachment;",
			`attachment; filename*=utf-8''%C3%9C`, `inline; filename="attachment; x"`,
		} {
			add("parts", parts(typ, disposition, "b"))
		}
	}
	add("boundary", parts(`multipart/mixed; boundary="----=_Part 1.2"`, "inline", "----=_Part 1.2"))
	for _, encoding := range []string{"base64", "BASE64", " base64 ", "base64 (x)"} {
		for _, data := range []string{"aGFsbG8=", "aGFs\nbG8=", "aG Fs bG8=", "aGFs!bG8=", "aGFsbG8", "aGFsbG8=\n_____\nlist"} {
			add("encoding", sep+"Content-Transfer-Encoding: "+encoding+"\n\n"+data+"\n")
		}
	}
	for _, people := range []string{
		"To: a@x.org\nTo: b@x.org", "To: a@x.org\nCc: b@x.org, c@x.org\nCc: d@x.org", `To: "Doe, Jane" <a@x.org>, b@x.org (x, y)`,
		"To: friends: a@x.org, b@x.org;", "To: =?utf-8?q?J=C3=BC?= <a@x.org>,\n b@x.org",
	} {
		add("people", sep+people+"\n\nx\n")
	}
	for _, typ := range []string{"text/html", "TEXT/HTML; charset=x", "text/html;", `text/html; charset="x`, "text/html (x)", "(x) text/html"} {
		add("type", sep+"Content-Type: "+typ+"\n\nx\n")
	}
	return files
}

// TestPython reads mail as Python's mailbox and email packages read it.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed; its mailbox and email packages are the reference")
	}
	dir := t.TempDir()
	files := pythonMail()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(python, "testdata/reference.py", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := map[string][]string{}
	for l := range strings.Lines(string(out)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(l), " ")
		_, rest, _ = strings.Cut(rest, " ") // its number
		want[name] = append(want[name], rest)
	}
	for name, text := range files {
		got := read(t, filepath.Join(dir, name))
		if !slices.Equal(got, want[name]) {
			t.Errorf("%q\n got %q\nwant %q", text, got, want[name])
		}
	}
}

// read describes each message of an mbox as reference.py does.
func read(t *testing.T, path string) (lines []string) {
	t.Helper()
	f, err := mail.Open(t.Context(), path, t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := f.Reader()
	for n := range uint64(f.Info().Messages) {
		var m mail.Message
		if err := r.Message(n, time.Time{}, &m); err != nil {
			t.Fatal(err)
		}
		leaves, attached := m.Attachments, 0
		if m.Body.Length > 0 || len(leaves) == 0 {
			leaves = append(slices.Clone(leaves), m.Body)
		}
		slices.SortFunc(leaves, func(a, b mail.Part) int { return int(a.Offset - b.Offset) })
		var sizes []string
		for i := range leaves {
			sizes = append(sizes, fmt.Sprint(leaves[i].Content.Size()))
			if strings.HasPrefix(leaves[i].Type, "text/") && leaves[i].Name != "" {
				attached++
			}
		}
		date := "none"
		if !m.Date.IsZero() {
			date = fmt.Sprint(m.Date.Unix())
		}
		lines = append(lines, fmt.Sprintf("%s attached %d, date %s, to %d, first %s", strings.Join(sizes, " "), attached, date,
			len(m.To)+len(m.Cc), leaves[0].Type))
	}
	return lines
}
