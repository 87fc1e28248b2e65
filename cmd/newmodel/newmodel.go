// Package newmodel writes the Go module of a new model, outside of this repository: a
// schema, the mail logic that runs its patterns, the contract test, and a program that
// is mailbench with this model and the bundled ones. The texts are in the folder files,
// with "mymail" for the model's name. The module builds and passes the contract as it is, and
// its owner changes it from there.
package newmodel

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench"
)

//go:embed files/*.txt
var files embed.FS

const modulePath = "github.com/mailbench/mailbench"

// Module is a module to write.
type Module struct {
	Name string // name of the model, its schema and the module; see CheckName
	// Version is the version of mailbench that the module requires, such as v0.2.0.
	Version string
	// Checkout is the folder of mailbench's source that replaces that version, or "".
	Checkout string
}

// nameForm matches names that every engine takes in a namespace, and Go as a module.
var nameForm = regexp.MustCompile(`^[a-z][a-z0-9]{0,19}$`)

// CheckName returns an error if a model cannot have the name.
func CheckName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("model name %q must be a lower-case letter, then lower-case letters and digits, 20 at most", name)
	}
	return nil
}

// Write writes the module into dir, which it makes, and returns the names of the files. If dir
// is not empty, the error wraps fs.ErrExist and nothing was written.
func Write(dir string, m Module) ([]string, error) {
	there, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("write module: %w", err)
	}
	if len(there) > 0 {
		return nil, fmt.Errorf("%s is not empty: %w", dir, fs.ErrExist)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("write module: %w", err)
	}
	entries, err := files.ReadDir("files")
	if err != nil {
		return nil, fmt.Errorf("read embedded files: %w", err)
	}
	names, texts := []string{"go.mod", "go.sum"}, [][]byte{m.goMod(), mailbench.GoSum}
	for _, e := range entries {
		text, err := files.ReadFile("files/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("read embedded files: %w", err)
		}
		names = append(names, strings.TrimSuffix(e.Name(), ".txt"))
		texts = append(texts, bytes.ReplaceAll(text, []byte("mymail"), []byte(m.Name)))
	}
	for i, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), texts[i], 0o644); err != nil {
			for _, written := range names[:i+1] {
				_ = os.Remove(filepath.Join(dir, written))
			}
			if there == nil { // it was made here; it stays if somebody else wrote into it
				_ = os.Remove(dir)
			}
			return nil, fmt.Errorf("write module: %w", err)
		}
	}
	return names, nil
}

// direct matches a requirement of mailbench's own go.mod that is not marked as indirect.
var direct = regexp.MustCompile(`(?m)^\t\S+ v\S+$`)

// goMod returns the go.mod. It requires mailbench, and all that mailbench requires in the same
// versions, so that building needs no network on a machine that built mailbench.
func (m Module) goMod() []byte {
	// The path has a domain in it. So it is not that of a standard package, such as "time".
	head := fmt.Sprintf("module example.com/%s\n\nrequire %s %s\n", m.Name, modulePath, m.Version)
	if path := m.Checkout; path != "" {
		if strings.ContainsAny(path, " \t\"'`()[]{},;") {
			path = strconv.Quote(path)
		}
		head += fmt.Sprintf("\n// The source of mailbench on this machine, in place of a released version.\nreplace %s => %s\n",
			modulePath, path)
	}
	mod := strings.Replace(string(mailbench.GoMod), "module "+modulePath+"\n", head, 1)
	return direct.ReplaceAll([]byte(mod), []byte("$0 // indirect"))
}
