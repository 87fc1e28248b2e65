// Package gitbuild builds a Go program from commits of the git repository that it is in.
package gitbuild

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Source is a Go module in a git repository.
type Source struct {
	top    string // folder of the working tree
	module string // folder of the module, from top
	flags  string // the variable GOFLAGS
}

// Find finds the module and the repository that a folder is in.
func Find(ctx context.Context, dir string) (*Source, error) {
	for _, tool := range []string{"git", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("there is no %s on PATH: install it, or build both sides and name them with --base and --new",
				tool)
		}
	}
	top, err := output(ctx, dir, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("find the git repository: %w; run this in the repository of the program", err)
	}
	told, err := output(ctx, dir, "go", "env", "GOMOD", "GOFLAGS")
	if err != nil {
		return nil, fmt.Errorf("find the Go module: %w", err)
	}
	mod, flags, _ := strings.Cut(told, "\n")
	if mod == "" || mod == os.DevNull {
		return nil,
			fmt.Errorf("find the Go module: there is no go.mod in %s or above it; run this in the folder of the module", dir)
	}
	// git resolves links, go does not.
	if mod, err = filepath.EvalSymlinks(mod); err != nil {
		return nil, fmt.Errorf("find the Go module: %w", err)
	}
	module, err := filepath.Rel(top, filepath.Dir(mod))
	if err != nil || !filepath.IsLocal(module) {
		return nil, fmt.Errorf("the Go module %s is not in the git repository %s: run this in the repository of the program",
			mod, top)
	}
	// -trimpath keeps the folder's path out of the build, so that a build in another folder can
	// use Go's cache. The user's flags come later and take precedence.
	return &Source{top, module, "GOFLAGS=-trimpath " + flags}, nil
}

// Commit is the full name of the commit that a revision such as main or HEAD~1 names.
func (s *Source) Commit(ctx context.Context, revision string) (string, error) {
	name := func(revision string) (string, error) {
		return output(ctx, s.top, "git", "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	}
	commit, err := name(revision)
	if err == nil || ctx.Err() != nil {
		return commit, err
	}
	if _, err := name("origin/" + revision); err == nil {
		return "", fmt.Errorf("there is no commit %q in %s; did you mean %q?", revision, s.top, "origin/"+revision)
	}
	why := "fetch it first"
	if shallow, err := output(ctx, s.top, "git", "rev-parse", "--is-shallow-repository"); err == nil && shallow == "true" {
		why = "the clone is shallow: git fetch --unshallow (in GitHub Actions: fetch-depth: 0)"
	}
	return "", fmt.Errorf("there is no commit %q in %s: %s", revision, s.top, why)
}

// Build builds a package of the module from a commit and writes the program to a file in
// an empty folder. Without a commit the working tree is built as it is.
func (s *Source) Build(ctx context.Context, commit, pkg, file string) error {
	top := s.top
	if commit != "" {
		top = file + "-tree"
		if err := s.checkOut(ctx, commit, top); err != nil {
			return fmt.Errorf("check out %.12s: %w", commit, err)
		}
	}
	dir := filepath.Join(top, s.module)
	if pkg == "" {
		pkg = program(dir)
	}
	// An interrupted go leaves temporary files. In this folder they are removed with file.
	env := []string{s.flags, "GOTMPDIR=" + filepath.Dir(file)}
	if _, err := run(ctx, dir, env, "go", "build", "-buildvcs=auto", "-o", file, pkg); err != nil {
		return fmt.Errorf("go build %s: %w", pkg, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode()&0o111 == 0 {
		return fmt.Errorf("go build %s: that is no program; name the folder of its package main with --package", pkg)
	}
	return nil
}

// checkOut makes a separate repository for a commit, which uses the objects of this one. A
// git worktree would have to be removed again, and go records no commit for programs that are
// built in a worktree.
func (s *Source) checkOut(ctx context.Context, commit, tree string) error {
	if _, err := output(ctx, s.top, "git", "init", "--quiet", "--template=", tree); err != nil {
		return err
	}
	objects, err := s.path(ctx, "objects")
	if err != nil {
		return err
	}
	if err := write(filepath.Join(tree, ".git", "objects", "info", "alternates"), []byte(objects+"\n")); err != nil {
		return err
	}
	shallow, err := s.path(ctx, "shallow") // commits whose parents are not here
	if err != nil {
		return err
	}
	switch ends, err := os.ReadFile(shallow); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := write(filepath.Join(tree, ".git", "shallow"), ends); err != nil {
			return err
		}
	}
	_, err = output(ctx, tree, "git", "-c", "core.hooksPath="+os.DevNull, "checkout", "--quiet", "--detach", commit)
	return err
}

// path is where git keeps a file of the repository.
func (s *Source) path(ctx context.Context, name string) (string, error) {
	return output(ctx, s.top, "git", "rev-parse", "--path-format=absolute", "--git-path", name)
}

// write writes a file and makes the folder that it is in.
func write(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// program is the package that is built if the user names none: mailbench itself, or the main
// package of a module that "mailbench models new" wrote.
func program(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, "cmd", "mailbench")); err == nil {
		return "./cmd/mailbench"
	}
	return "."
}

// hooked are the variables that git sets for hooks. They would point git commands at this
// repository.
var hooked = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX"}

func output(ctx context.Context, dir string, line ...string) (string, error) {
	return run(ctx, dir, nil, line...)
}

// run runs a command in a folder, with env added to the environment of this process, and returns
// what it prints. Its error has the first lines of the command's errors.
func run(ctx context.Context, dir string, env []string, line ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = slices.DeleteFunc(cmd.Environ(), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains(hooked, name)
	})
	cmd.Env = append(cmd.Env, env...)
	// The interrupt reaches all processes that the command started, so that they can clean up.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", errors.New(cmp.Or(firstLines(errs.String()), err.Error()))
	}
	return strings.TrimSpace(out.String()), nil
}

// mostLines is how many lines of an error are shown.
const mostLines = 10

// firstLines returns a message's first lines. If there are several, they begin on a new line.
func firstLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) == 1 {
		return strings.TrimPrefix(lines[0], "fatal: ")
	}
	if more := len(lines) - mostLines; more > 0 {
		lines = append(lines[:mostLines], fmt.Sprintf("and %d lines more", more))
	}
	return "\n  " + strings.Join(lines, "\n  ")
}
