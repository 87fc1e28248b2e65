package target

import (
	"context"
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/workloads"
)

// Namespaces lists the namespaces that runs have made on a shared engine and not dropped:
// kept for a data folder, left by a killed run, or in use by a run under way. The engine
// does not know which is which.
func Namespaces(ctx context.Context, e drivers.Engine, w *workloads.Workload) (names []string, err error) {
	s, err := Reach(ctx, e, w, drivers.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if names, err = drivers.Namespaces(ctx, s); err != nil {
		return nil, fmt.Errorf("list the namespaces of %s: %w", e.Name, err)
	}
	return names, nil
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
