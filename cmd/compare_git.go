package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mailbench/mailbench/cmd/gitbuild"
	"github.com/mailbench/mailbench/reports/scratch"
	"github.com/mailbench/mailbench/workloads/run"
)

// builds are the programs of both sides, built from commits.
type builds struct {
	scratch *scratch.Folder
	paths   map[string]string // program of each side
}

// build builds both sides from the repository that this process is in: one commit and the
// working tree, or two commits.
func (f *compareFlags) build(ctx context.Context, progress io.Writer) (_ *builds, err error) {
	source, err := gitbuild.Find(ctx, ".")
	if err != nil {
		return nil, usage(err)
	}
	revisions := map[string]string{}
	for i, side := range []string{baseSide, newSide}[:len(f.git)] {
		if revisions[side], err = source.Commit(ctx, f.git[i]); err != nil {
			return nil, usagef("--git: %w", err)
		}
	}
	dir, err := os.MkdirTemp("", run.TemporaryPattern)
	if err != nil {
		return nil, fmt.Errorf("make a temporary folder for the builds (TMPDIR says where): %w", err)
	}
	b := &builds{paths: map[string]string{}}
	if b.scratch, err = scratch.Claim(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("make a temporary folder for the builds: %w", err), os.Remove(dir))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.remove())
		}
	}()
	for i, side := range []string{baseSide, newSide} {
		what := "the working tree"
		if i < len(f.git) {
			what = fmt.Sprintf("%s (%.12s)", f.git[i], revisions[side])
		}
		if !f.quiet {
			fmt.Fprintf(progress, "building %s from %s\n", side, what)
		}
		path := filepath.Join(dir, side, "mailbench")
		if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
			return nil, fmt.Errorf("make a temporary folder for the builds: %w", err)
		}
		if err := source.Build(ctx, revisions[side], f.pkg, path); err != nil {
			return nil, fmt.Errorf("build %s from %s: %w", side, what, err)
		}
		b.paths[side] = path
	}
	return b, nil
}

// program is the path of a side's program, or "" if nothing was built.
func (b *builds) program(side string) string {
	if b == nil {
		return ""
	}
	return b.paths[side]
}

func (b *builds) remove() error {
	if err := b.scratch.Remove(); err != nil {
		return fmt.Errorf("remove the builds: %w", err)
	}
	return nil
}
