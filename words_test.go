package mailbench_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// wrongWords are words that readers of Cassandra's and HBase's documentation have to translate. CONTRIBUTING.md has
// better ones.
var wrongWords = regexp.MustCompile(`cannot be told|broken off|\banew\b|of before\b|\basks? of\b|\btells\b|\bforetell`)

// No text that a user reads has a word of the list: string literals of the product, and the pages for users.
func TestWords(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != "." {
			return filepath.SkipDir
		}
		if path == "docs/internals" {
			return filepath.SkipDir
		}
		if strings.HasPrefix(path, "docs/") && strings.HasSuffix(path, ".md") || path == "README.md" {
			text, err := os.ReadFile(path)
			for n, line := range strings.Split(string(text), "\n") {
				if word := wrongWords.FindString(line); word != "" {
					t.Errorf("%s:%d: %q in a text", path, n+1, word)
				}
			}
			return err
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING && wrongWords.MatchString(s.Value) {
					t.Errorf("%s: %q in a text", files.Position(s.Pos()), wrongWords.FindString(s.Value))
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
