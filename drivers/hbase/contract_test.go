package hbase

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/schemas"
)

// newNamespace returns a namespace that no other test has.
func newNamespace() string { return strings.ToLower(rand.Text()[:16]) }

// openLive opens a store in a namespace on the HBase that tests share; what was
// applied to it goes with the test.
func openLive(t testing.TB, namespace string, settings map[string]string) *Store {
	t.Helper()
	o := drivers.Options{Contact: []string{live.Contact(t, "hbase")}, Namespace: namespace, Settings: settings}
	return drivertest.OpenLive(t, Engine(), o).(*Store)
}

// parse reads a schema of a test.
func parse(t testing.TB, source string) *schemas.Schema {
	t.Helper()
	s, err := schemas.Parse("test.yaml", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestContract runs the contract of all engines over one store.
func TestContract(t *testing.T) { drivertest.RunShared(t, openLive(t, newNamespace(), nil)) }

// TestClosing runs the contract of Close.
func TestClosing(t *testing.T) {
	drivertest.Closing(t, Engine(), drivers.Options{Contact: []string{live.Contact(t, "hbase")}, Namespace: newNamespace()})
}

// TestReadOnly runs the contract of stores that are open for reading only.
func TestReadOnly(t *testing.T) {
	o := drivers.Options{Contact: []string{live.Contact(t, "hbase")}, Namespace: newNamespace()}
	drivertest.ReadOnly(t, Engine(), o, func(schema string) string { return drivers.Prefix + o.Namespace + "_" + schema })
}
