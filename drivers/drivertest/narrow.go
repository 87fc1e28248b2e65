package drivertest

import "testing"

// narrow tests tables of one plain column. Some engines keep their rows as single cells.
// A row exists whatever its column holds.
func narrow(t testing.TB, open Open) {
	c := begin(t, open, "narrow.yaml").client()
	c.write("put", "p", "a", "v")
	c.write("put", "p", "b", "")
	c.write("put", "p", "c", nil)
	c.write("touch", "p", "a") // the column stays as it is
	c.write("touch", "p", "d")
	all := []string{"a v", `b ""`, "c null", "d null"}
	c.expect(all, "all", "p")
	c.expect([]string{"null"}, "get", "p", "d")
	c.expect(nil, "get", "p", "e")
	c.expect([]string{"a"}, "with_v", "p", "v")
	c.expect([]string{"b"}, "with_v", "p", "")

	attempt := func(applied bool, pattern string, vals ...any) {
		t.Helper()
		r, err := c.try(pattern, vals...)
		if err != nil {
			t.Fatal(err)
		}
		if r.Applied != applied {
			t.Fatalf("%s %v: applied %v, expected %v", pattern, vals, r.Applied, applied)
		}
	}
	for _, k := range []string{"a", "b", "c", "d"} {
		attempt(false, "create", "p", k, "new")
	}
	c.expect(all, "all", "p")
	attempt(true, "create", "p", "e", "")
	attempt(false, "create", "p", "e", "again")
	attempt(false, "change", "p", "b", "x", nil) // empty is not null
	attempt(false, "change", "p", "b", "x", "v")
	attempt(true, "change", "p", "b", "x", "")
	attempt(true, "change", "p", "c", "y", nil)
	attempt(true, "change", "p", "a", nil, "v")
	attempt(true, "change", "p", "a", "z", nil)
	c.expect([]string{"a z", "b x", "c y", "d null", `e ""`}, "all", "p")
	c.write("put", "p", "b", nil)
	c.write("drop", "p", "c")
	c.expect([]string{"a z", "b null", "d null", `e ""`}, "all", "p")
	attempt(true, "create", "p", "c", nil)
	attempt(false, "create", "p", "c", "again")
	c.expect([]string{"a z", "b null", "c null", "d null", `e ""`}, "all", "p")

	// A blob is neither null nor another blob, whatever it holds.
	var want []string
	values := []any{
		[]byte{},
		nil,
		[]byte{0},
		[]byte{1},
		[]byte{0xff},
		[]byte{0xff, 0},
		[]byte("\xff\x00mb"), []byte("\xff\x00mbe"),
		[]byte("\xff\x00mbn"), []byte("\xff\x00mbv"), []byte("\xff\x00mbvv"), []byte("null"),
	}
	for k, v := range values {
		c.write("put_blob", "p", k, v)
		want = append(want, row(k, v))
	}
	c.expect(want, "blobs", "p")
}
