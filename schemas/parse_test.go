package schemas

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// TestErrors compares what Parse says about each broken file with the .err file
// next to it; on a mismatch the new text is left in a .err.new file.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d files in testdata/errors, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if _, err := Parse(filepath.Base(file), src); err != nil {
				var all Errors
				if !errors.As(err, &all) {
					t.Fatalf("error is a %T, want Errors", err)
				}
				got = allFaults(err)
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".err", got)
		})
	}
}

// TestCheckEngines: a file may name any engine; CheckEngines knows which there are.
func TestCheckEngines(t *testing.T) {
	s, err := Parse("s.yaml", []byte(`schema: 1
name: s
native: casandra
tables:
  t: {partition: [k text], hints: {hbase: {a: 1}, pebble: {a: 1}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := `s.yaml:3:9: unknown engine "casandra"; did you mean "cassandra"?
s.yaml:5:51: unknown engine "pebble"; expected one of cassandra, hbase`
	if err := s.CheckEngines([]string{"cassandra", "hbase"}); err == nil || err.Error() != want {
		t.Errorf("error is %v, want\n%s", err, want)
	}
	if err := s.CheckEngines([]string{"casandra", "hbase", "pebble"}); err != nil {
		t.Errorf("with engines that there are: %v", err)
	}
}

// TestReference: README.md has each key of the language.
func TestReference(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range slices.Concat(schemaKeys, tableKeys, patternKeys, rowsKeys) {
		if !regexp.MustCompile(`[^\w-]` + key + `[^\w-]`).Match(text) {
			t.Errorf("README.md does not have the key %s", key)
		}
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		beside := file + ".new"
		if err := os.WriteFile(beside, []byte(got), 0o666); err != nil {
			t.Error(err)
		}
		t.Errorf("%s differs from %s (-want +got); rewrite it with -update if it is right:\n%s", beside, file, diff)
	}
}

// allFaults are all lines of an error, of which a message lists the first 20.
func allFaults(err error) string {
	var faults Errors
	if !errors.As(err, &faults) {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for _, one := range faults {
		b.WriteString(one.Error() + "\n")
	}
	return b.String()
}

// A type of many levels, and many faults, cost little and are reported in few lines.
func TestCostlySchemas(t *testing.T) {
	deep := "tables: {t: {columns: {a: text, b: " + strings.Repeat("frozen<", 8000) + "text" + strings.Repeat(">", 8000) + "}, partition: [a]}}"
	if _, err := Parse("deep.yaml", []byte("version: 1\nname: deep\n"+deep)); err == nil || !strings.Contains(err.Error(), "8000 levels") {
		t.Errorf("8,000 levels: %.200v", err)
	}
	if _, err := Parse("many.yaml", []byte("version: 1\nname: many\n"+strings.Repeat("x: 1\n", 50))); err == nil || strings.Count(err.Error(), "\n") > 20 {
		t.Errorf("50 faults: %v", err)
	}
}
