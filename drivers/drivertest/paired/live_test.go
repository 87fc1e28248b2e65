package paired

import "testing"

// agree checks that each client reads what the other has written.
func agree(t *testing.T, bare, driver Sides) {
	t.Helper()
	exchange(t, bare, driver, 0)
	exchange(t, driver, bare, 50)
	const several = 500
	for _, s := range []Side{driver.Write, bare.Read, bare.Write, driver.Read} {
		Each(t, s, several)
	}
}

// compare measures both sides, with reads of rows that are there.
func compare(b *testing.B, bare, driver Sides) {
	Each(b, bare.Write, Rows)
	b.Run("write", func(b *testing.B) { inTurns(b, bare.Write, driver.Write) })
	b.Run("read", func(b *testing.B) { inTurns(b, bare.Read, driver.Read) })
}

// exchange writes 50 rows through one client and reads them through the other.
func exchange(t *testing.T, writer, reader Sides, first uint64) {
	t.Helper()
	write, err := writer.Write.Client()
	if err != nil {
		t.Fatal(err)
	}
	read, err := reader.Read.Client()
	if err != nil {
		t.Fatal(err)
	}
	if err := read(t.Context(), first); err == nil {
		t.Fatalf("%s finds a row that nobody has written yet", reader.Read.Name)
	}
	for n := first; n < first+50; n++ {
		if err := write(t.Context(), n); err != nil {
			t.Fatalf("%s writes: %v", writer.Write.Name, err)
		}
		if err := read(t.Context(), n); err != nil {
			t.Fatalf("%s reads what %s wrote: %v", reader.Read.Name, writer.Write.Name, err)
		}
	}
}

// Each does n operations with 16 clients. n = Rows is one operation on each row.
func Each(t testing.TB, s Side, n uint64) {
	t.Helper()
	if err := open(t, s, 16).do(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}
