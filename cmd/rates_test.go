package cmd

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// rates are how often readers may have to translate a word: per 1,000 words of a page, or of all help.
var rates = []struct {
	word *regexp.Regexp
	most float64
}{
	{regexp.MustCompile(`(?i)\bwhat\b`), 2},
	{regexp.MustCompile(`(?i)\b(ask(s|ed|ing)?|tells?|told|telling)\b`), 0.3},
	{regexp.MustCompile(`(?i)\b(beside|behind|anew|stands)\b`), 0.1},
	{regexp.MustCompile(`(?i)\b(\w*(avour|ehaviour|olour|onour|eighbour)\w*|\w+[ln]is(e[ds]?|ing|ations?)|(recogn|organ|summar)is\w+|analys(e[ds]?|ing)|` +
		`(labe|cance|mode|trave|signa|leve)ll(ed|ing)|judgement|licence|centre|catalogue|grey)\b`), 0}, // British spelling
}

var (
	quoted = regexp.MustCompile("(?s)```.*?```|<!-- (?:findings|races).*?end -->|\\w+(?:-\\w+)+|`[^`]*`|\\]\\([^)]*\\)|(?m)^    [^\n]*$")
	aWord  = regexp.MustCompile(`[A-Za-z']+`)
	reader = regexp.MustCompile(`(?i)\byours?\b|\byou\b`)
)

// Pages and help have few of the words that CONTRIBUTING.md replaces, American spelling, and pages for users and texts of
// help address the reader 8 times in 1,000 words, tables and quoted output left out.
func TestRates(t *testing.T) {
	texts := map[string]string{"help": helpOfAll(t, newRoot(bundled()))}
	long, err := filepath.Glob("help/*.help.txt")
	for _, path := range long {
		text, _ := os.ReadFile(path)
		prose, _, _ := strings.Cut(string(text), "Examples:")
		texts["help/"] += prose
	}
	if err != nil || len(long) < 30 {
		t.Fatalf("%d texts of help: %v", len(long), err)
	}
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "results") {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".md") || strings.HasSuffix(path, "CHANGELOG.md") {
			return err
		}
		text, err := os.ReadFile(path)
		texts[filepath.ToSlash(path)] = quoted.ReplaceAllString(string(text), " ")
		return err
	})
	if err != nil || len(texts) < 24 {
		t.Fatalf("%d texts: %v", len(texts), err)
	}
	forUsers := regexp.MustCompile(`^help/$|^\.\./(README|docs/(ci/)?\w[^/]*)\.md$`)
	for name, text := range texts {
		words := float64(len(aWord.FindAllString(text, -1)))
		for _, r := range rates {
			if found := r.word.FindAllString(text, -1); float64(len(found)) > r.most*words/1000 {
				t.Errorf("%s: %d in %.0f words, at most %v in 1,000: %s", name, len(found), words, r.most, strings.Join(found, ", "))
			}
		}
		prose := regexp.MustCompile(`(?m)^\|.*$`).ReplaceAllString(text, "")
		if n, words := len(reader.FindAllString(prose, -1)), len(aWord.FindAllString(prose, -1)); forUsers.MatchString(name) && n*125 < words-125 {
			t.Errorf("%s: %d times you or your in %d words of prose, at least 8 in 1,000", name, n, words)
		}
	}
}
