package limited

import (
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// TestShortCalls: a call without a whole key, or of a part that is not there, is an error of the session.
func TestShortCalls(t *testing.T) {
	s, err := schemas.Parse("short.yaml", []byte(`schema: 1
name: short
tables:
  boxes: {partition: [user text], clustering: [box text], columns: {n: int}}
patterns:
  box: {get: boxes, by: [user, box], columns: n}
  put: {put: boxes}
  some: {batch: [{run: put, each: x}], atomic: none}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range Engines() {
		st, err := e.Open(t.Context(), drivers.Options{Dir: t.TempDir(), Durability: drivers.Memory})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		if err := st.Apply(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		session, err := st.Session()
		if err != nil {
			t.Fatal(err)
		}
		prepared := map[string]drivers.Statement{}
		for _, p := range s.Patterns {
			if prepared[p.Name], err = st.Prepare(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		row := []drivers.Value{drivers.Text("a"), drivers.Text("b"), drivers.Int(1)}
		batch := func(short drivers.Call) error {
			return session.Batch(t.Context(), prepared["some"], []drivers.Call{{Args: row}, short})
		}
		_, write := session.Write(t.Context(), prepared["put"], nil)
		for want, err := range map[string]error{
			"it needs 2 arguments, found 0": session.Read(t.Context(), prepared["box"], nil, func([]drivers.Value) error { return nil }),
			"it needs 3 arguments, found 0": write,
			"it needs 3 arguments, found 1": batch(drivers.Call{Args: row[:1:1]}),
			"part put: it needs 3":          batch(drivers.Call{}),
			"no part 1: it has 1":           batch(drivers.Call{Part: 1, Args: row}),
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", e.Name, err, want)
			}
		}
		if err := batch(drivers.Call{Args: row}); err != nil {
			t.Errorf("%s: two whole calls: %v", e.Name, err)
		}
	}
}
