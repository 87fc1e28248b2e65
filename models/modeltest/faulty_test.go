package modeltest

import (
	"os"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/faulty"
)

const faultEnv = "MAILBENCH_FAULT"

// withFault puts the fault that the environment names in front of a store.
func withFault(t testing.TB, st drivers.Store) drivers.Store {
	name := os.Getenv(faultEnv)
	if name == "" {
		return st
	}
	all := faulty.Faults()
	i := slices.IndexFunc(all, func(f faulty.Fault) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("%s: unknown fault %q", faultEnv, name)
	}
	return faulty.Wrap(st, all[i])
}
