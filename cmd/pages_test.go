package cmd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFilesOfPages: the workloads, schemas and variants that docs show are right: schemas have no lint errors, and
// a dry run accepts the others. A workload of access patterns is for the schema of docs/schemas.md.
func TestFilesOfPages(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var texts strings.Builder
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		texts.Write(text)
	}
	t.Chdir(t.TempDir())
	name := regexp.MustCompile(`(?m)^name: (\S+)$`)
	dryRuns := map[string][]string{}
	files := regexp.MustCompile("(?s)```yaml\n((?:version|schema): 1\n.*?)```").FindAllStringSubmatch(texts.String(), -1)
	for _, file := range files {
		text, path := file[1], name.FindStringSubmatch(file[1])[1]+".yaml"
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.Contains(text, "\nextends: james\n"):
			dryRuns[path] = []string{"-m", "james," + path}
		case strings.Contains(text, "population: {rows:"):
			dryRuns[path] = []string{path, "--schema", "shop.yaml"}
		case strings.HasPrefix(text, "version:"):
			dryRuns[path] = []string{path}
		default:
			printedAll(t, "schema", "lint", path)
		}
	}
	for _, args := range dryRuns {
		printedAll(t, append([]string{"run", "--dry-run"}, args...)...)
	}
	if len(files) != 4 || len(dryRuns) != 3 {
		t.Errorf("docs have %d files", len(files))
	}
}
