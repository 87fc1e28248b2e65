package main_test

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestRelease: the archive of this system holds a mailbench that runs, with its license; the sums are
// those of the files, and the SBOM names each module that go.mod requires and the program has.
func TestRelease(t *testing.T) {
	if err := exec.Command("git", "rev-parse", "HEAD").Run(); err != nil {
		t.Skip("no clone: ", err)
	}
	dir := filepath.Join(t.TempDir(), "dist")
	release := func() (string, error) {
		cmd := exec.Command(".ci/release", "v0.0.9", dir, runtime.GOOS+"/"+runtime.GOARCH)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := release(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	name := "mailbench_0.0.9_" + runtime.GOOS + "_" + runtime.GOARCH
	files := untar(t, filepath.Join(dir, name+".tar.gz"))
	for _, f := range []string{"LICENSE", "README.md", "mailbench"} {
		if len(files[name+"/"+f]) == 0 {
			t.Errorf("the archive has no %s", f)
		}
	}
	program := filepath.Join(t.TempDir(), "mailbench")
	if err := os.WriteFile(program, files[name+"/mailbench"], 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "version").CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "mailbench ") {
		t.Errorf("the program says %s, %v", out, err)
	}
	for line := range strings.Lines(string(readFile(t, filepath.Join(dir, "SHA256SUMS")))) {
		sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got := fmt.Sprintf("%x", sha256.Sum256(readFile(t, filepath.Join(dir, file)))); got != sum {
			t.Errorf("%s has the sum %s, and SHA256SUMS says %s", file, got, sum)
		}
	}
	var bom struct {
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(readFile(t, filepath.Join(dir, name+".cdx.json")), &bom); err != nil {
		t.Fatal(err)
	}
	linked := map[string]string{}
	for _, c := range bom.Components {
		linked[c.Name] = c.Version
	}
	for _, m := range []string{"std", "github.com/cockroachdb/pebble/v2", "github.com/gocql/gocql", "github.com/spf13/cobra"} {
		if linked[m] == "" {
			t.Errorf("the SBOM lacks %s: %v", m, linked)
		}
	}
	if out, err := release(); err == nil || !strings.Contains(out, "is not empty") {
		t.Errorf("a second release into the same folder: %v, %s", err, out)
	}
}

// untar returns the files of an archive by their names.
func untar(t *testing.T, name string) map[string][]byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(packed); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err == nil {
			files[h.Name], err = io.ReadAll(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
