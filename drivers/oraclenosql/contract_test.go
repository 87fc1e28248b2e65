package oraclenosql

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/drivers/plan"
)

func newNamespace() string { return "t" + strings.ToLower(rand.Text()[:10]) }

func liveOptions(t testing.TB) drivers.Options {
	t.Helper()
	return drivers.Options{Contact: []string{live.Contact(t, engineName)}, Namespace: newNamespace()}
}

// TestContract runs the contract of all engines over one store.
func TestContract(t *testing.T) {
	drivertest.RunShared(t, drivertest.OpenLive(t, Engine(), liveOptions(t)))
}

// TestClosing: a store that is closed leaves no goroutine and no connection.
func TestClosing(t *testing.T) { drivertest.Closing(t, Engine(), liveOptions(t)) }

// TestReadOnly tests stores that are open for reading only.
func TestReadOnly(t *testing.T) {
	o := liveOptions(t)
	drivertest.ReadOnly(t, Engine(), o, func(schema string) string { return plan.PlaceName(o.Namespace, plan.Identifier(schema)) })
}
