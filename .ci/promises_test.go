package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNamedTests: the tests that a document names for its promises exist. TestScripts/NAME is a script
// of the command line.
func TestNamedTests(t *testing.T) {
	named := regexp.MustCompile("`(Test[A-Z]\\w*)(?:/(\\w+))?`")
	all := functions(t)
	for _, document := range []string{"SECURITY.md", "docs/internals/reliability.md"} {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		found := named.FindAllStringSubmatch(string(text), -1)
		if len(found) < 5 {
			t.Errorf("%s names %d tests", document, len(found))
		}
		for _, name := range found {
			if !all[name[1]] {
				t.Errorf("%s names %s, and there is no such test", document, name[1])
			}
			if name[2] == "" {
				continue
			}
			if _, err := os.Stat(filepath.Join("cmd/testdata/script", name[2]+".txt")); err != nil {
				t.Errorf("%s names a script: %v", document, err)
			}
		}
	}
}

// TestTopLevel: no results, and no output of a command that was tried, are in the top folder of the repository.
func TestTopLevel(t *testing.T) {
	tracked, err := exec.Command("git", "ls-files").Output()
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("this is no clone")
	} else if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	const known = " .ci .gitignore .github ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md LICENSE Makefile README.md SECURITY.md cmd docker " +
		"docs drivers go.mod go.sum models module.go reports schemas staticcheck.conf workloads "
	for file := range strings.Lines(string(tracked)) {
		top, _, _ := strings.Cut(strings.TrimSpace(file), "/")
		if !strings.Contains(known, " "+top+" ") {
			t.Errorf("%s is committed", strings.TrimSpace(file))
		}
	}
}

// functions are the names of all tests.
func functions(t *testing.T) map[string]bool {
	t.Helper()
	all, declared := map[string]bool{}, regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, f := range declared.FindAllSubmatch(text, -1) {
			all[string(f[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestNamedCode: the files, and the names of packages and files, that documents for contributors name exist.
func TestNamedCode(t *testing.T) {
	packages := map[string]string{} // their source, by the last part of their path
	each(t, ".go", 100, func(path, text string) {
		if !strings.HasSuffix(path, "_test.go") {
			packages[filepath.Base(filepath.Dir(path))] += text
		}
	})
	path := regexp.MustCompile("`((?:\\.ci|cmd|docker|docs|drivers|models|reports|schemas|workloads)/[a-z\\d_./-]+)`")
	name := regexp.MustCompile("`([a-z]+)\\.([A-Z]\\w+)")
	inFile := regexp.MustCompile("`(?:\\w+\\.)?(\\w+)` \\(`([a-z\\d_./-]+/[a-z\\d_]+\\.go)`\\)")
	for _, document := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "docs/own-model.md"} {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range path.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(found[1]); err != nil {
				t.Errorf("%s: %v", document, err)
			}
		}
		for _, found := range inFile.FindAllStringSubmatch(string(text), -1) {
			source, err := os.ReadFile(found[2])
			if err != nil || !regexp.MustCompile(`\b`+found[1]+`\b`).Match(source) {
				t.Errorf("%s: %s has no %s, %v", document, found[2], found[1], err)
			}
		}
		for _, found := range name.FindAllStringSubmatch(string(text), -1) {
			source, known := packages[found[1]]
			if known && !regexp.MustCompile(`\b`+found[2]+`\b`).MatchString(source) {
				t.Errorf("%s: package %s has no %s", document, found[1], found[2])
			}
		}
	}
}

// TestGoroutinesAreGuarded: a goroutine that a driver or a runner starts guards what it calls, so that a panic costs
// a phase and not the process. One that only waits or divides work needs no guard.
func TestGoroutinesAreGuarded(t *testing.T) {
	guarded := regexp.MustCompile(`\.Guard(Write)?\(|\.Wait\(\)|defer close\(h\.ended\)`)
	found := 0
	for _, root := range []string{"drivers", "workloads"} {
		err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") ||
				strings.Contains(filepath.ToSlash(path), "drivers/drivertest/") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, text, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if s, ok := n.Fun.(*ast.SelectorExpr); !ok || s.Sel.Name != "Go" {
						return true
					}
				case *ast.GoStmt:
				default:
					return true
				}
				found++
				if !guarded.Match(text[files.Position(n.Pos()).Offset:files.Position(n.End()).Offset]) {
					t.Errorf("%s starts a goroutine without crash.Guard", files.Position(n.Pos()))
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 10 {
		t.Errorf("found %d goroutines", found)
	}
}
