package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// sums returns an engine's list of jars, config/NAME.sha256, as sha256sum writes it. Only
// the jars of the list may run. "make check CHECK=jars" writes it anew.
func sums(engine string) string {
	list, err := configFiles.ReadFile("config/" + engine + ".sha256")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(list)
}

// errDamaged says that the jars are not those of the list.
var errDamaged = errors.New("jars are not those that mailbench knows")

// checkJars compares the jars of a folder with the list: java runs every jar that lies
// there. The error is fs.ErrNotExist if there is no folder, and errDamaged if a jar is
// missing, differs, or is not in the list.
func checkJars(dir, list string) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w, in %s: %s", errDamaged, dir, fmt.Sprintf(format, args...))
	}
	want := make(map[string]string) // name → SHA-256
	for line := range strings.Lines(list) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			return fmt.Errorf("list of jars: the line %q is not a SHA-256 and a name", line)
		}
		want[name] = sum
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := 0
	for _, entry := range there {
		name := entry.Name()
		if filepath.Ext(name) != ".jar" {
			continue
		}
		sum, known := want[name]
		if !known {
			return wrong("%s is not in the list", name)
		}
		got, err := sumOf(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if got != sum {
			return wrong("%s has the SHA-256 %s; it should be %s", name, got, sum)
		}
		found++
		delete(want, name)
	}
	for name := range want {
		return wrong("%s is missing: %d of %d jars are there", name, found, found+len(want))
	}
	return nil
}

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
