package paired

import (
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
)

// TestEmbedded runs the loops where no server is needed: an engine with itself.
func TestEmbedded(t *testing.T) {
	bare, driver := embedded(t)
	agree(t, bare, driver)
}

// BenchmarkEmbedded shows how far apart two equal sides are.
func BenchmarkEmbedded(b *testing.B) {
	bare, driver := embedded(b)
	b.Run("write", func(b *testing.B) { inTurns(b, bare.Write, driver.Write) })
}

// embedded returns the same loops twice.
func embedded(t testing.TB) (bare, driver Sides) {
	t.Helper()
	st, err := pebble.Engine().Open(t.Context(), drivers.Options{Dir: t.TempDir(), Durability: drivers.Memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	bare = Driver(t, st)
	bare.Write.Name, bare.Read.Name = "bare", "bare"
	return bare, Driver(t, st)
}

func TestRows(t *testing.T) {
	row, seen := NewRow(), map[[16]byte]bool{}
	for n := range uint64(Rows) {
		row.Turn(3<<40 + n)
		seen[row.ID] = true
	}
	if len(seen) != Rows {
		t.Errorf("%d rows in turn, want all %d", len(seen), Rows)
	}
	if n := len(row.Mailbox) + len(row.ID) + len(row.From) + len(row.Subject) + 8 + 8 + 1 + len(row.Body); n != 1024 {
		t.Errorf("a row has %d bytes, want 1024", n)
	}
}

func TestCheck(t *testing.T) {
	row, read := NewRow(), NewRow()
	row.Turn(1)
	for name, damage := range map[string]func(){
		"":        func() {},
		"another": func() { read.Turn(2) },
		"from":    func() { read.From += " " },
		"subject": func() { read.Subject = "" },
		"date":    func() { read.Date = read.Date.Add(time.Millisecond) },
		"size":    func() { read.Size++ },
		"seen":    func() { read.Seen = !read.Seen },
		"body":    func() { read.Body = append(read.Body[:len(read.Body)-1:len(read.Body)-1], '!') },
		"short":   func() { read.Body = nil },
	} {
		read = NewRow()
		read.Turn(1)
		damage()
		err := row.Check([]byte(read.From), []byte(read.Subject), read.Date, read.Size, read.Seen, read.Body)
		if (err != nil) != (name != "") {
			t.Errorf("damaged %q: %v", name, err)
		}
	}
}
