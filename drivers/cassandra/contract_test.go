package cassandra

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/launch/live"
)

// newNamespace returns a namespace that no other test has.
func newNamespace() string { return "t" + strings.ToLower(rand.Text()[:15]) }

// openLive opens a store in a namespace of its own on the node that tests
// share; the namespace goes with the test.
func openLive(t testing.TB, settings map[string]string) *Store {
	t.Helper()
	return openIn(t, newNamespace(), settings)
}

func openIn(t testing.TB, namespace string, settings map[string]string) *Store {
	t.Helper()
	return drivertest.OpenLive(t, Engine(), drivers.Options{
		Contact: []string{live.Contact(t, "cassandra")}, Namespace: namespace, Settings: settings,
	}).(*Store)
}

// TestContract runs the contract of all engines over one store.
func TestContract(t *testing.T) { drivertest.RunShared(t, openLive(t, nil)) }

// TestClosing runs the contract of Close.
func TestClosing(t *testing.T) {
	drivertest.Closing(t, Engine(), drivers.Options{Contact: []string{live.Contact(t, "cassandra")}, Namespace: newNamespace()})
}

// TestReadOnly runs the contract of stores that are open for reading only.
func TestReadOnly(t *testing.T) {
	o := drivers.Options{Contact: []string{live.Contact(t, "cassandra")}, Namespace: newNamespace()}
	drivertest.ReadOnly(t, Engine(), o, func(schema string) string { return drivers.Prefix + o.Namespace + "_" + schema })
}
