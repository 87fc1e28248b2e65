package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/drivers/validate"
	"github.com/mailbench/mailbench/schemas"
)

// journal opens the file of --resume, or returns nil.
func (f *validateFlags) journal(
	ctx context.Context, st drivers.Store, s *schemas.Schema,
) (_ *validate.Journal, err error) {
	if f.resume == "" {
		return nil, nil
	}
	store := f.engine + ", "
	switch {
	case f.keyspace != "":
		store += "keyspace " + f.keyspace
	case f.namespace != "":
		store += "namespace " + f.namespace
	case f.data != "":
		store += "data " + f.data
	default:
		store += "mailbench's own " + s.Name
	}
	of := validate.Of{Store: store, Sample: float64(f.sample), Seed: f.seed}
	if known, ok := st.(drivers.Identified); ok {
		id, err := known.Identity(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("--resume: %w", err)
		}
		of.Tables = id
	} else if f.data != "" {
		if of.Tables, err = filepath.Abs(f.data); err != nil {
			return nil, fmt.Errorf("--resume: %w", err)
		}
	}
	j, err := validate.OpenJournal(f.resume, of, s)
	if errors.Is(err, private.ErrLocked) {
		return nil, fmt.Errorf("--resume %s: it is %w; wait for that check, or name another file", f.resume, err)
	}
	if path := (*fs.PathError)(nil); err != nil && !errors.As(err, &path) {
		return nil, usagef("--resume %s: %w; name another file, or remove it to begin again", f.resume, err)
	} else if err != nil {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	return j, nil
}

// endJournal removes the file of a check that has come to its end, and leaves that of another one.
func endJournal(j *validate.Journal, whole bool) error {
	switch {
	case j == nil:
		return nil
	case whole:
		return j.Remove()
	}
	return j.Close()
}
