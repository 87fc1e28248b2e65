package lint

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	drivercassandra "github.com/mailbench/mailbench/drivers/cassandra"
	driverhbase "github.com/mailbench/mailbench/drivers/hbase"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/schemas"
)

// TestUnable: what lint says that an engine cannot run, its driver refuses, and
// nothing else.
func TestUnable(t *testing.T) {
	compare(t, pebble.Engine(), drivers.Options{Dir: t.TempDir()}, schemas.BundledNames())
}

// TestUnableLive takes the schemas whose patterns most often need a fallback, since
// real engines take seconds to create the tables of each.
func TestUnableLive(t *testing.T) {
	for _, engine := range []drivers.Engine{drivercassandra.Engine(), driverhbase.Engine()} {
		t.Run(engine.Name, func(t *testing.T) {
			t.Parallel()
			compare(t, engine, drivers.Options{
				Contact: []string{live.Contact(t, engine.Name)}, Namespace: "l" + strings.ToLower(rand.Text()[:15]),
			}, []string{"james", "oracle", "conversation@asc"})
		})
	}
}

func compare(t *testing.T, e drivers.Engine, o drivers.Options, names []string) {
	st, err := e.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if e.Remote {
			if err := drivers.Drop(context.Background(), st); err != nil {
				t.Errorf("drop the namespace: %v", err)
			}
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	refused := 0
	for _, s := range withAll(t, names) {
		if err := st.Apply(t.Context(), s); err != nil {
			t.Fatalf("apply %s: %v", s.Name, err)
		}
		for _, p := range s.Patterns {
			_, err := st.Prepare(t.Context(), p)
			if err != nil && !errors.Is(err, drivers.ErrUnsupported) {
				t.Errorf("%s: %v", s.Name, err)
			}
			if err != nil {
				refused++
			}
			if why := unable(e.Name, p); (why != "") != (err != nil) {
				t.Errorf("%s: lint says of %s and pattern %s: %q; the driver says: %v", s.Name, e.Name, p.Name, why, err)
			}
		}
	}
	if refused == 0 && e.Name != "embedded" { // which runs all
		t.Errorf("%s refuses no pattern: the test shows nothing", e.Name)
	}
}

// withAll returns bundled schemas, and one with every construct.
func withAll(t *testing.T, names []string) []*schemas.Schema {
	src, err := os.ReadFile("../testdata/valid.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := []*schemas.Schema{parse(t, string(src))}
	for _, name := range names {
		s, err := schemas.Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}
