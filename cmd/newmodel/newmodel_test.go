package newmodel

import (
	"bytes"
	"errors"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestModule writes a module and does with it what its owner does first: it builds it,
// runs its contract, and lists the models of its program.
func TestModule(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "own")
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	names, err := Write(dir, Module{Name: "mine", Version: "v0.0.0", Checkout: checkout})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".go") {
			if formatted, err := format.Source(text); err != nil || !bytes.Equal(text, formatted) {
				t.Errorf("%s is not as gofmt writes it, %v", name, err)
			}
		}
		if bytes.Contains(text, []byte("mymail")) {
			t.Errorf("%s has the name %s in it", name, "mymail")
		}
	}
	// A workspace reads the go.mod of each module, also of those for other systems only.
	download := exec.CommandContext(t.Context(), "go", "mod", "download")
	download.Dir = checkout
	if out, err := download.CombinedOutput(); err != nil {
		t.Fatalf("go mod download: %v\n%s", err, out)
	}
	// Without the network: all versions are mailbench's own.
	run := func(work string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=readonly -trimpath", "GOWORK="+work)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	// go.mod and go.sum name all that the program and its tests need.
	run("off", "list", "-deps", "-test", ".")
	// Go would compile a module again that go.mod replaces by a folder. In a workspace, Go's
	// build cache has its packages.
	work := filepath.Join(filepath.Dir(dir), "go.work")
	run(work, "work", "init", dir, checkout)
	out := run(work, "run", "-ldflags=-s -w", ".", "models")
	if !strings.Contains(out, "\nmine ") || !strings.Contains(out, "\njames ") {
		t.Errorf("models of the new program:\n%s", out)
	}
	run(work, "test", "-vet=off", "-run", "TestContract$/^(embedded|calls|several at once|races|allocations)$", "-update-contract")
	if golden, err := os.ReadFile(filepath.Join(dir, "testdata/contract/calls.golden")); err != nil || len(golden) == 0 {
		t.Errorf("golden file of calls: %d bytes, %v", len(golden), err)
	}
}

// TestWriteKeepsFiles: a file that is there stays as it is, and no other is written.
func TestWriteKeepsFiles(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "go.sum") // the last one
	if err := os.WriteFile(own, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Write(dir, Module{Name: "mine", Version: "v0.2.0"})
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v, want that %s is not empty", err, dir)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	text, _ := os.ReadFile(own)
	if !slices.Equal(left, []string{own}) || string(text) != "mine" {
		t.Errorf("there is %q with %q", left, text)
	}
}

func TestGoMod(t *testing.T) {
	if got := string(Module{Name: "time", Version: "v0.2.0"}.goMod()); !strings.HasPrefix(got, "module example.com/time\n") {
		t.Errorf("of a model with the name of a standard package:\n%s", got)
	}
	released := string(Module{Name: "mine", Version: "v0.2.0"}.goMod())
	if !strings.Contains(released, "\nrequire github.com/mailbench/mailbench v0.2.0\n") || strings.Contains(released, "replace") {
		t.Errorf("of a released version:\n%s", released)
	}
	if got := string(Module{Name: "mine", Version: "v0.0.0", Checkout: "/a b"}.goMod()); !strings.Contains(got, `mailbench => "/a b"`) {
		t.Errorf("of a checkout with a space:\n%s", got)
	}
	for _, name := range []string{"", "Mine", "my-mail", "9mail", "mine@x", strings.Repeat("m", 21)} {
		if CheckName(name) == nil {
			t.Errorf("the name %q was taken", name)
		}
	}
}
