package pebble

import (
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// BenchmarkPut measures writes in this driver: a put that changes the entry of an index over a plain column, the next
// number of a counter, and a conditional put.
func BenchmarkPut(b *testing.B) {
	e, err := openEnv(drivers.Options{Dir: b.TempDir(), Durability: drivers.Memory})
	if err != nil {
		b.Fatal(err)
	}
	e.t = b
	b.Cleanup(e.close)
	words := [2]drivers.Value{drivers.Text("one"), drivers.Text("two")}
	large := [2]drivers.Value{drivers.Text(strings.Repeat("x", 8<<10)), drivers.Text(strings.Repeat("y", 8<<10))}
	row := values([]any{"u", "f", 1, 1})
	e.write("put", "u", "f", 1, 1, "one", 1, true)
	n := 0
	for name, args := range map[string]func() []drivers.Value{
		"note": func() []drivers.Value { return []drivers.Value{drivers.Int(7), words[n%2]} },
		"next": func() []drivers.Value { return values([]any{"u", "uid", 1}) },
		"swap": func() []drivers.Value { return append(row[:4:4], words[(n+1)%2], words[n%2]) },
		"put":  func() []drivers.Value { return append(row[:4:4], words[0], drivers.Bigint(1), drivers.Boolean(true)) },
		"mark": func() []drivers.Value { return append(row[:4:4], drivers.Boolean(true)) },
		"put8": func() []drivers.Value { return append(row[:4:4], large[n%2], drivers.Bigint(1), drivers.Boolean(true)) },
	} {
		b.Run(name, func(b *testing.B) {
			st := e.stmt(strings.TrimSuffix(name, "8"))
			n = 0
			if name == "swap" {
				e.write("put", "u", "f", 1, 1, "one", 1, true)
			}
			calls := [2][]drivers.Value{}
			for n = range 2 {
				calls[n] = args()
			}
			n = 0
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.sess.Write(b.Context(), st, calls[n%2]); err != nil {
					b.Fatal(err)
				}
				n++
			}
		})
	}
}
