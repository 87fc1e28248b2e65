// release builds the archives of a release: mailbench for each system, with its license, SBOMs and
// checksums. Two builds of one commit by one Go are equal to the byte.
//
//	go run .ci/release.go -version v0.1.0 -systems 'linux/amd64 windows/arm64' -o dist
package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing/fstest"
	"time"
)

var (
	version = flag.String("version", "", "`VERSION`, such as v0.1.0")
	systems = flag.String("systems", "linux/amd64", "`OS/ARCH`, separated by blanks")
	dir     = flag.String("o", "dist", "`DIR` to write to, new or empty")
)

// extras are the files that every archive has next to the program.
var extras = []string{"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"}

func main() {
	flag.Parse()
	if err := release(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func release() error {
	if *version == "" || strings.ContainsAny(*version, "/\\ ") {
		return fmt.Errorf("-version %q: expected one such as v0.1.0", *version)
	}
	at, err := commitTime()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*dir, 0o755); err != nil {
		return err
	}
	if there, err := os.ReadDir(*dir); err != nil || len(there) > 0 {
		return errors.Join(err, fmt.Errorf("%s is not empty", *dir))
	}
	var sums strings.Builder
	for _, system := range strings.Fields(*systems) {
		names, err := build(system, at)
		if err != nil {
			return fmt.Errorf("%s: %w", system, err)
		}
		for _, name := range names {
			b, err := os.ReadFile(filepath.Join(*dir, name))
			if err != nil {
				return err
			}
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(b), name)
			fmt.Println(filepath.Join(*dir, name))
		}
	}
	return os.WriteFile(filepath.Join(*dir, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// commitTime is when the commit was made. Files of archives are as old.
func commitTime() (time.Time, error) {
	out, err := exec.Command("git", "log", "-1", "--format=%ct").Output()
	if err != nil {
		return time.Time{}, fmt.Errorf("read the commit from git: %w", err)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// build makes the archive and the SBOM of a system and returns their names.
func build(system string, at time.Time) ([]string, error) {
	goos, goarch, _ := strings.Cut(system, "/")
	name := fmt.Sprintf("mailbench_%s_%s_%s", strings.TrimPrefix(*version, "v"), goos, goarch)
	work, err := os.MkdirTemp("", "mailbench-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	program := filepath.Join(work, "mailbench")
	if goos == "windows" {
		program += ".exe"
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/mailbench")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	files := fstest.MapFS{name: {Mode: fs.ModeDir | 0o755, ModTime: at}}
	for _, file := range append(extras, program) {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		files[path.Join(name, filepath.Base(file))] = &fstest.MapFile{Data: b, Mode: 0o644, ModTime: at}
	}
	files[path.Join(name, filepath.Base(program))].Mode = 0o755
	archive := name + ".tar.gz"
	if goos == "windows" {
		archive = name + ".zip"
	}
	err = create(archive, func(w io.Writer) error {
		if goos == "windows" {
			z := zip.NewWriter(w)
			return errors.Join(z.AddFS(files), z.Close())
		}
		packed := gzip.NewWriter(w)
		t := tar.NewWriter(packed)
		return errors.Join(t.AddFS(files), t.Close(), packed.Close())
	})
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	sbom := name + ".cdx.json"
	return []string{archive, sbom}, create(sbom, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(components(info, at))
	})
}

func create(name string, write func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(*dir, name))
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// components is the SBOM of a program in CycloneDX 1.5, https://cyclonedx.org/docs/1.5/json: the modules that were
// linked into it, as it says itself.
func components(info *buildinfo.BuildInfo, at time.Time) any {
	module := func(kind, path, version string) map[string]string {
		purl := "pkg:golang/" + path + "@" + version
		return map[string]string{"type": kind, "name": path, "version": version, "purl": purl, "bom-ref": purl}
	}
	modules := []map[string]string{module("library", "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		modules = append(modules, module("library", m.Path, m.Version))
	}
	return map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata": map[string]any{
			"timestamp": at.Format(time.RFC3339),
			"component": module("application", info.Main.Path, *version),
		},
		"components": modules,
	}
}
