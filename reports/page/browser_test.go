package page

import (
	"context"
	_ "embed"
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads/results"
)

//go:embed check.js
var checkScript string

// A4 on its side without the margins of the style sheet, in CSS pixels.
const paperWidth, paperHeight = 1032, 703

// mostPages is how many pages of paper a run of five models takes at most.
const mostPages = 8

// onFirstScreen says what of the whole load is not on the first screen.
const onFirstScreen = `(() => {
  const t = document.querySelector("#table-load");
  if (!t || document.querySelector("#alerts, #search") || matchMedia("print").matches || innerWidth < 700) return [];
  scrollTo(0, 0);
  const bottom = t.getBoundingClientRect().bottom;
  return bottom > innerHeight ? ["the whole load ends at " + bottom + ", the screen at " + innerHeight] : [];
})()`

// pdfPage matches a page in the PDF of Chromium.
var pdfPage = regexp.MustCompile(`/Type /Page\b[^s]`)

// looks are the widths and colors in which pages are shown.
var looks = map[string]look{
	"phone":     {360, 740, true, "screen", "light"},
	"tablet":    {768, 1024, false, "screen", "light"},
	"wide":      {1280, 900, false, "screen", "light"},
	"very wide": {1920, 1080, false, "screen", "light"},
	"dark":      {1280, 900, false, "screen", "dark"},
	"print":     {paperWidth, paperHeight, false, "print", "light"},
}

// browserPath finds Chromium. Without it the test is skipped, unless
// MAILBENCH_REQUIRE_BROWSER is set.
func browserPath(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("MAILBENCH_REQUIRE_BROWSER") != "" {
		t.Fatal("no Chromium was found, and MAILBENCH_REQUIRE_BROWSER is set")
	}
	t.Skip("no Chromium was found: pages are not looked at")
	return ""
}

// browserPages are the pages that the browser shows, each in a file.
func browserPages(t *testing.T) map[string]string {
	t.Helper()
	s := sample(t)
	one := sample(t)
	one.Run.Cells = nil
	for _, c := range s.Run.Cells {
		if c.Model == "james" {
			one.Run.Cells = append(one.Run.Cells, c)
		}
	}
	many := sample(t) // as many operations as the language has, with schemas and curves of all models
	for i := range many.Run.Cells {
		for n := range 16 {
			name := fmt.Sprintf("op-%d", n)
			many.Run.Cells[i].Ops[name] = many.Run.Cells[i].Ops["list"]
		}
	}
	clean := sample(t)
	clean.Run.Cells, clean.Run.Searches, clean.Run.Audits, clean.Run.Left, clean.Run.Interrupted = nil, nil, nil, nil, false
	for _, c := range s.Run.Cells {
		if c.Objectives = nil; c.Verdict == results.OK {
			clean.Run.Cells = append(clean.Run.Cells, c)
		}
	}
	for i := range many.Run.Schemas {
		many.Run.Schemas[i].Text = many.Run.Schemas[0].Text
	}
	bad := makeHostile(t, sample(t))
	texts := map[string]string{"history": writeHistory(t, s, bad, s, bad), "comparison": writeComparison(t, s)}
	for name, source := range map[string]Source{
		"five models": s, "all is well": clean, "many operations": many, "one model": one, "nothing": {Run: &results.Run{}}, "hostile": bad,
	} {
		texts[name] = write(t, source)
	}
	urls := map[string]string{}
	for name, text := range texts {
		file := filepath.Join(t.TempDir(), "page.html")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		urls[name] = (&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String()
	}
	return urls
}

// Nothing of a page is cut, lies over other things, or is closed on paper, whatever it is
// shown in; and the browser has nothing to complain of.
func TestPagesInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	path, pages := browserPath(t), browserPages(t)
	var faults []string
	inspect := func(b *browser) (err error) {
		faults, err = inspect(b, pages)
		return err
	}
	const tries, patience = 2, 3 * time.Minute
	for try := 1; ; try++ {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := withBrowser(ctx, path, filepath.Join(t.TempDir(), "profile"), inspect)
		cancel()
		if err == nil {
			break
		}
		if t.Logf("try %d: %v", try, err); try == tries {
			t.Fatal("the browser could not be used")
		}
	}
	for _, f := range faults {
		t.Error(f)
	}
}

// inspect shows all pages in all ways and returns what is wrong with them.
func inspect(b *browser, pages map[string]string) (faults []string, err error) {
	if err := b.attach(); err != nil {
		return nil, err
	}
	for page, address := range pages {
		if err := b.open(address); err != nil {
			return nil, err
		}
		papers := map[string]bool{}
		for name, l := range looks {
			if err := b.look(l); err != nil {
				return nil, err
			}
			var found []string
			if err := b.eval(checkScript, &found); err != nil {
				return nil, err
			}
			var below []string
			if err := b.eval(onFirstScreen, &below); err != nil {
				return nil, err
			}
			for _, f := range append(found, below...) {
				faults = append(faults, fmt.Sprintf("%s, %s: %s", page, name, f))
			}
			var paper string
			if err := b.eval("getComputedStyle(document.body).backgroundColor", &paper); err != nil {
				return nil, err
			}
			papers[l.scheme+" "+paper] = true
		}
		if len(papers) != 2 {
			faults = append(faults, fmt.Sprintf("%s: light and dark are %v", page, papers))
		}
		if err := b.look(looks["print"]); err != nil { // else the last look's width is that of the paper
			return nil, err
		}
		var pdf struct {
			Data string `json:"data"`
		}
		if err := b.call("Page.printToPDF", map[string]any{"preferCSSPageSize": true}, &pdf); err != nil {
			return nil, err
		}
		text, err := base64.StdEncoding.DecodeString(pdf.Data)
		if err != nil || !strings.HasPrefix(string(text), "%PDF-") {
			faults = append(faults, fmt.Sprintf("%s: it cannot be printed: %v", page, err))
		}
		if n := len(pdfPage.FindAll(text, -1)); page == "many operations" && (n < 1 || n > mostPages) {
			faults = append(faults, fmt.Sprintf("%s: it takes %d pages of paper, at most %d are right", page, n, mostPages))
		}
		for _, c := range b.complaints {
			faults = append(faults, fmt.Sprintf("%s: the browser says %s", page, c))
		}
		b.complaints = nil
	}
	return faults, nil
}
