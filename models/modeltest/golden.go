package modeltest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update-contract", false, "rewrite the golden files of testdata/contract")

// compare compares text with a golden file. If they differ, it writes the text beside the file.
func (s *suite) compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(s.golden, "testdata", "contract", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test -run %s -update-contract writes it", err, t.Name())
	}
	if got == string(want) {
		return
	}
	beside := path + ".new"
	if !s.faulty {
		if err := os.WriteFile(beside, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("%s:%d: %s\nwant: %s\nall of it is in %s; -update-contract if it is right", path, i+1, g[i], w[i], beside)
		}
	}
	t.Fatalf("%s: %d lines, want %d; all of it is in %s", path, len(g), len(w), beside)
}
