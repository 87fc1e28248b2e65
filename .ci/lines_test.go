package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// literal is text or a regular expression in a line of Go. One of 60 characters and more is
// seldom better in two parts.
var literal = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.){60,}\"|`[^`]{60,}`?|https://\\S{60,}|- measure: ")

// link is a link to a file of the repository, to a heading of it, or to one of the same document.
var link = regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)\s]+))?\)`)

var heading, notInAnchor = regexp.MustCompile(`(?m)^#+ (.*)$`), regexp.MustCompile(`[^a-z\d -]`)

// hasHeading reports whether a document has a heading of that anchor.
func hasHeading(text, anchor string) bool {
	return slices.ContainsFunc(heading.FindAllStringSubmatch(text, -1), func(h []string) bool {
		return strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == anchor
	})
}

// wrongWords are words that readers of Cassandra's and HBase's documentation have to translate. CONTRIBUTING.md has
// better ones. And no text installs a version: there is no release.
var wrongWords = regexp.MustCompile(`(?i)cannot be told|broken off|dangling|adrift|\banew\b|of before\b|\basks? of\b|\btells\b|\bforetell` +
	`|\bnot told\b|[^-]\bbeside\b[^-]|\bnobody (knows|names|can)\b|\bfor ever\b|sign of life|the document's\b|\bstood still\b|\blive messages?\b|\bdocument 00|asked for|\bcarried out\b|(?-i: lacks )|@latest`)

// wrongInTexts are more of them, which comments may need: there, ok is the name of an outcome.
var wrongInTexts = regexp.MustCompile(wrongWords.String() + `|\bbroke off\b|\b(was|were|ended) ok\b`)

// wrongInComments are more of them, which texts may need: persons do such things, and quotations keep their spelling.
var wrongInComments = regexp.MustCompile(wrongWords.String() + `|(?-i:\b(What|Those that)\b)|(?i)\b(asks?|asked|tells?|told|beside|nobody|broke off|everything that was due)\b|` +
	`colour|neighbour|behaviour|favour|honour|(cance|labe|mode|signa)ll(ed|ing)\b|judgement|recognis|organis|analys(e|ing)\b`)

// each yields the files whose names end so, with their text, and fails if there are not so many. Hidden folders,
// those of tests and results are left out.
func each(t *testing.T, suffix string, least int, yield func(path, text string)) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "results") &&
			path != "workloads/results" && path != ".ci" {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, suffix) {
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		yield(path, string(text))
		return err
	})
	if err != nil || files < least {
		t.Fatalf("%d files: %v", files, err)
	}
}

// A line of a document has at most 140 characters, unless it is a row of a table or a table of a diagram, and its links
// lead to files and headings. README.md has up to 110 lines. A page for users has no word of the list.
func TestLineLengthOfDocuments(t *testing.T) {
	const most = 140
	each(t, ".md", 20, func(path, text string) {
		page := path == "README.md" || strings.HasPrefix(path, "docs/") && !strings.HasPrefix(path, "docs/internals/")
		if lines := strings.Count(text, "\n"); path == "README.md" && lines > 110 {
			t.Errorf("README.md has %d lines, at most 110", lines)
		}
		for n, line := range strings.Split(text, "\n") {
			if utf8.RuneCountInString(line) > most && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "  t") {
				t.Errorf("%s:%d has more than %d characters: %s", path, n+1, most, line)
			}
			for _, to := range link.FindAllStringSubmatch(line, -1) {
				file := path
				if to[1] != "" {
					file = filepath.Join(filepath.Dir(path), to[1])
				}
				if _, err := os.Stat(file); err != nil {
					t.Errorf("%s:%d: dead link: %v", path, n+1, err)
				} else if linked, _ := os.ReadFile(file); to[2] != "" && !hasHeading(string(linked), to[2]) {
					t.Errorf("%s:%d: dead link: %s has no heading %s", path, n+1, file, to[2])
				}
			}
			if word := wrongInTexts.FindString(line); page && word != "" {
				t.Errorf("%s:%d: %q is a word that CONTRIBUTING.md replaces", path, n+1, word)
			}
		}
	})
}

// Bundled schemas and workloads, texts that commands print, the module of "models new", the dashboard, and the JSON Schema
// of results have no word of the list.
func TestWordsOfBundled(t *testing.T) {
	for suffix, files := range map[string]int{".yaml": 40, ".schema.json": 1, "_guide.txt": 2, ".help.txt": 30, ".go.txt": 5, ".yaml.txt": 1, "grafana.json": 1} {
		each(t, suffix, files, func(path, text string) {
			for n, line := range strings.Split(text, "\n") {
				if _, description, found := strings.Cut(line, `"description": `); found || suffix == ".schema.json" {
					line = description // the keys are a format
				}
				if suffix == ".go.txt" {
					_, line, _ = strings.Cut(line, "// ")
				}
				if word := wrongInTexts.FindString(line); word != "" {
					t.Errorf("%s:%d: %q is a word that CONTRIBUTING.md replaces", path, n+1, word)
				}
			}
		})
	}
}

// Comments of scripts, also of those that test the command line, workflows and images have no word of the list, but for
// the name with which one begins.
func TestWordsOfScripts(t *testing.T) {
	comment := regexp.MustCompile(`(?m)(?:^|\s)#+ .*$`)
	files := 0
	for _, pattern := range []string{"Makefile", ".ci/*", "docs/ci/*", "docker/*", "docker/*/*", ".github/workflows/*", "cmd/testdata/script/*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil || strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".md") {
				continue // a folder, or a file of another test
			}
			files++
			for _, line := range comment.FindAllString(string(text), -1) {
				line = regexp.MustCompile(`^\s*#+ \w+ `).ReplaceAllString(line, "")
				if word := wrongInComments.FindString(line); word != "" {
					t.Errorf("%s: %q is a word that CONTRIBUTING.md replaces: %s", path, word, line)
				}
			}
		}
	}
	if files < 70 {
		t.Errorf("%d files", files)
	}
}

// declared is the name with which a comment begins.
var declared = regexp.MustCompile(`^// \w+ `)

// A line of code has at most 120 characters, unless a long literal is in it. Tests may have
// tables with longer rows. Its texts, which users read, have no word of the list, nor have its comments; those of
// tests may begin with the name of a helper.
func TestLineLength(t *testing.T) {
	const most = 120
	texts := 0
	each(t, ".go", 100, func(path, text string) {
		test := strings.HasSuffix(path, "_test.go")
		for n, line := range strings.Split(text, "\n") {
			if !test && utf8.RuneCountInString(line) > most && !literal.MatchString(line) {
				t.Errorf("%s:%d has more than %d characters: %s", path, n+1, most, line)
			}
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Error(err)
			return
		}
		for _, group := range f.Comments {
			for _, c := range group.List {
				text := c.Text
				if test {
					text = declared.ReplaceAllString(text, "// ")
				}
				if word := wrongInComments.FindString(text); word != "" {
					t.Errorf("%s: %q is a word that CONTRIBUTING.md replaces", files.Position(c.Pos()), word)
				}
			}
		}
		if test {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.BasicLit)
			if !ok || s.Kind != token.STRING || strings.HasPrefix(s.Value, "`json:") { // run.json is a format
				return true
			}
			if texts++; wrongInTexts.MatchString(s.Value) {
				t.Errorf("%s: %q is a word that CONTRIBUTING.md replaces", files.Position(s.Pos()), wrongInTexts.FindString(s.Value))
			}
			return true
		})
	})
	if texts < 10_000 {
		t.Errorf("only %d texts", texts)
	}
}
