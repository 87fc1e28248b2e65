package drivertest

import (
	"fmt"
	"testing"
)

// deletes tests every scope of delete. It removes all that it names, and nothing else.
func deletes(t testing.TB, open Open) {
	c := begin(t, open, "composite.yaml").client()
	for i, d := range []struct {
		pattern string
		vals    []any
		goes    func(k cell) bool
	}{
		{"drop", []any{0, "a", 0}, func(k cell) bool { return k == cell{0, "a", 0} }},
		{"drop", []any{0, "a", 9}, func(k cell) bool { return false }},
		{"drop", []any{300, "", 1}, func(k cell) bool { return k == cell{300, "", 1} }},
		{"drop_x", []any{-1}, func(k cell) bool { return k.x == -1 }},
		{"drop_x", []any{9}, func(k cell) bool { return false }},
		{"drop_xy", []any{0, "a"}, func(k cell) bool { return k.x == 0 && k.y == "a" }},
		{"drop_xy", []any{0, ""}, func(k cell) bool { return k.x == 0 && k.y == "" }},
		{"drop_all", nil, everywhere},
	} {
		a := fmt.Sprint("p", i)
		neighbours := []any{a, -1, a, 1, a + "\x00", 0, a + "0", 0}
		for j := 0; j < len(neighbours); j += 2 {
			c.write("put", neighbours[j], neighbours[j+1], 0, "a", 0, "neighbour", nil)
		}
		fillGrid(c, a, 0)
		c.write(d.pattern, append([]any{a, 0}, d.vals...)...)
		stays := where(a, 0, func(k cell) bool { return !d.goes(k) })
		c.expect(stays, "all", a, 0)
		for j := 0; j < len(neighbours); j += 2 {
			c.expect([]string{row(neighbours[j], neighbours[j+1], 0, "a", 0, "neighbour", nil)}, "all", neighbours[j],
				neighbours[j+1])
		}
		c.write(d.pattern, append([]any{a, 0}, d.vals...)...) // a delete of nothing is no error
		c.expect(stays, "all", a, 0)
		fillGrid(c, a, 0) // rows that are put after the delete stay
		c.expect(where(a, 0, everywhere), "all", a, 0)
	}
}

// ties tests writes that follow each other within a clock tick of any engine. The later
// one counts.
func ties(t testing.TB, open Open) {
	c := begin(t, open, "rows.yaml").client()
	for i := range 100 {
		k := i % 3
		c.write("put_a", "p", k, fmt.Sprint("old", i))
		c.write("drop", "p", k)
		if i%10 == 0 {
			c.expect(nil, "several", "p", list{k})
		}
		c.write("put_a", "p", k, fmt.Sprint(i))
		c.expect([]string{row(k, fmt.Sprint(i))}, "several", "p", list{k})
	}
	c.write("drop_all", "p")
	c.write("put_a", "p", 2, "after a partition")
	c.expect([]string{row(2, "after a partition")}, "all", "p")
	c.write("put_a", "p", 2, "z")
	c.write("put_a", "p", 2, "a") // the smaller value, at the same time
	c.expect([]string{"2 a"}, "all", "p")
	c.write("put_a", "p", 2, nil)
	c.write("put_a", "p", 2, "after null")
	c.write("drop_all", "p")
	c.expect(nil, "all", "p")
	// A row is deleted and put again, as when a message is moved away and back.
	for range 50 {
		c.write("put_a", "q", 1, "m")
		c.write("drop", "p", 1)
		c.write("put_a", "p", 1, "m")
		c.write("drop", "q", 1)
	}
	c.expect([]string{"1 m"}, "all", "p")
	c.expect(nil, "all", "q")
}
