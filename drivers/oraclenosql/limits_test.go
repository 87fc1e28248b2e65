package oraclenosql

import (
	"errors"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// TestLimits: a request that is too large for a server or the cloud service is refused before it is sent.
func TestLimits(t *testing.T) {
	s := asked(t)
	for _, c := range []struct {
		name, limits string
		user         int // bytes of the key
		address      int // bytes of the other column
		parts        int // of an atomic batch; 0: a put
		sent         bool
	}{
		{"key", "onprem", 32767, 1, 0, true},
		{"longer key", "onprem", 32768, 1, 0, false},
		{"key in the cloud", "cloud", 64, 1, 0, true},
		{"longer key in the cloud", "cloud", 65, 1, 0, false},
		{"row", "onprem", 1, 1 << 20, 0, true},
		{"row in the cloud", "cloud", 1, 512<<10 - 1, 0, true},
		{"larger row in the cloud", "cloud", 1, 512 << 10, 0, false},
		{"parts", "onprem", 1, 1, 51, true},
		{"parts in the cloud", "cloud", 1, 1, 50, true},
		{"more parts in the cloud", "cloud", 1, 1, 51, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProxy(t)
			st := p.store(t, s, map[string]string{"limits": c.limits})
			if got := st.Capabilities().MaxRowBytes; got != int64(limitsOf[c.limits].row) {
				t.Errorf("rows have at most %d bytes", got)
			}
			se, err := st.Session()
			if err != nil {
				t.Fatal(err)
			}
			name := "put"
			if c.parts > 0 {
				name = "move"
			}
			stmt, err := st.Prepare(t.Context(), s.Pattern(name))
			if err != nil {
				t.Fatal(err)
			}
			p.take()
			if c.parts > 0 {
				var calls []drivers.Call
				for range c.parts {
					calls = append(calls, drivers.Call{Args: drivers.Example(stmt.Pattern().Parts[0].Pattern)})
				}
				err = se.Batch(t.Context(), stmt, calls)
			} else {
				args := []drivers.Value{drivers.Text(strings.Repeat("u", c.user)), drivers.Text(strings.Repeat("a", c.address))}
				_, err = se.Write(t.Context(), stmt, args)
			}
			if sent := len(p.take()) > 0; sent != c.sent || errors.Is(err, drivers.ErrTooLarge) == sent {
				t.Errorf("sent: %v, %v", sent, err)
			}
		})
	}
}
