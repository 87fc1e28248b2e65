package subject

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/workloads"
)

// Namespaces lists the namespaces that runs have made on a shared engine and not dropped:
// kept for a data folder, left by a killed run, or in use by a run under way. The engine
// does not know which is which.
func Namespaces(ctx context.Context, e drivers.Engine, w *workloads.Workload) (all []drivers.Namespace, err error) {
	s, err := Reach(ctx, e, w, drivers.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if all, err = drivers.Describe(ctx, s); err != nil {
		return nil, fmt.Errorf("list the namespaces of %s: %w", e.Name, err)
	}
	return all, nil
}

// DropNamespace removes one namespace from a shared engine, with all its data. It returns
// what the engine still keeps of it, or "".
func DropNamespace(ctx context.Context, e drivers.Engine, w *workloads.Workload, name string) (left string, err error) {
	s, err := Reach(ctx, e, w, drivers.Options{Namespace: name})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := drivers.Drop(ctx, s); err != nil {
		return "", fmt.Errorf("drop namespace %s of %s: %w", name, e.Name, err)
	}
	return drivers.Left(s), nil
}

// Note is a data set that a folder of this machine notes on a shared engine.
type Note struct {
	Folder string
	Began  time.Time
}

// Notes are the data sets in the folders below dir whose names match a pattern of
// [filepath.Match], by their namespaces. Folders that cannot be read are left out.
func Notes(dir, pattern string) map[string]Note {
	found := make(map[string]Note)
	files, _ := filepath.Glob(filepath.Join(dir, pattern, "*", datasetFile))
	for _, f := range files {
		if d, err := ReadDataset(filepath.Dir(f)); err == nil && d != nil && d.Namespace != "" {
			found[d.Namespace] = Note{filepath.Dir(filepath.Dir(f)), d.Began}
		}
	}
	return found
}
