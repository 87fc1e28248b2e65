package mailbench_test

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// literal is text or a regular expression in a line of Go. One of 60 characters and more is
// seldom better in two parts.
var literal = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.){60,}\"|`[^`]{60,}`?|https://\\S{60,}|- measure: ")

// link is a link to a file of the repository.
var link = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)

// A line of a document has at most 140 characters, unless it is a row of a table, and its links lead to files.
func TestLineLengthOfDocuments(t *testing.T) {
	const most = 140
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "results") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".md") {
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		for n, line := range strings.Split(string(text), "\n") {
			if utf8.RuneCountInString(line) > most && !strings.HasPrefix(line, "|") {
				t.Errorf("%s:%d has more than %d characters: %s", path, n+1, most, line)
			}
			for _, to := range link.FindAllStringSubmatch(line, -1) {
				if _, err := os.Stat(filepath.Join(filepath.Dir(path), to[1])); err != nil {
					t.Errorf("%s:%d: dead link: %v", path, n+1, err)
				}
			}
		}
		return err
	})
	if err != nil || files < 20 {
		t.Fatalf("%d files: %v", files, err)
	}
}

// A line of code has at most 120 characters, unless a long literal is in it. Tests may have
// tables with longer rows.
func TestLineLength(t *testing.T) {
	const most = 120
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for n := 1; lines.Scan(); n++ {
			if line := lines.Text(); utf8.RuneCountInString(line) > most && !literal.MatchString(line) {
				t.Errorf("%s:%d has more than %d characters: %s", path, n, most, line)
			}
		}
		return lines.Err()
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files: %v", files, err)
	}
}
