package schemas

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// TestErrors compares what Parse says about each broken file with the .err file
// beside it; on a mismatch the new text is left in a .err.new file.
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
				got = err.Error() + "\n"
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
	want := `s.yaml:3:9: unknown engine "casandra" in native; did you mean "cassandra"?
s.yaml:5:51: unknown engine "pebble" in hints of table t; expected one of cassandra, hbase`
	if err := s.CheckEngines([]string{"cassandra", "hbase"}); err == nil || err.Error() != want {
		t.Errorf("error is %v, want\n%s", err, want)
	}
	if err := s.CheckEngines([]string{"casandra", "hbase", "pebble"}); err != nil {
		t.Errorf("with engines that there are: %v", err)
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
