package drivertest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
)

// cell is a row of the table grid, whose clustering is x desc, y, z desc.
type cell struct {
	x int
	y string
	z int
}

func (k cell) compare(l cell) int {
	return cmp.Or(-cmp.Compare(k.x, l.x), cmp.Compare(k.y, l.y), -cmp.Compare(k.z, l.z))
}

func (k cell) value() string { return fmt.Sprintf("%d/%s/%d", k.x, k.y, k.z) }

func (k cell) line(a string, b int) string { return row(a, b, k.x, k.y, k.z, k.value(), nil) }

// cells returns all rows of a grid in clustering order.
func cells() []cell {
	var all []cell
	for _, x := range []int{-2, -1, 0, 1, 300} {
		for _, y := range []string{"", "a", "a\x00", "aa", "b"} {
			for _, z := range []int{-1, 0, 1} {
				all = append(all, cell{x, y, z})
			}
		}
	}
	slices.SortFunc(all, cell.compare)
	return all
}

// fillGrid puts a grid into a partition, in reverse clustering order.
func fillGrid(c *client, a string, b int) {
	for _, k := range slices.Backward(cells()) {
		c.write("put", a, b, k.x, k.y, k.z, k.value(), nil)
	}
}

// where returns the lines of the cells that keep holds for, in clustering order.
func where(a string, b int, keep func(cell) bool) []string {
	var want []string
	for _, k := range cells() {
		if keep(k) {
			want = append(want, k.line(a, b))
		}
	}
	return want
}

func everywhere(cell) bool { return true }

func backward(lines []string) []string {
	slices.Reverse(lines)
	return lines
}

// composite tests keys of several columns with mixed directions.
func composite(t testing.TB, open Open) {
	s := begin(t, open, "composite.yaml")
	c := s.client()
	fillGrid(c, "p", 0)
	for _, b := range []int{-1, 1} { // neighbours of the partition on both sides
		c.write("put", "p", b, 0, "a", 0, "neighbour", nil)
	}
	c.write("put", "p\x00", 0, 0, "a", 0, "neighbour", nil)
	c.write("put", "", 0, 0, "a", 0, "neighbour", nil)
	expect := func(keep func(cell) bool, pattern string, vals ...any) {
		c.fail.Helper()
		c.expect(where("p", 0, keep), pattern, append([]any{"p", 0}, vals...)...)
	}
	backwards := func(keep func(cell) bool, pattern string, vals ...any) {
		c.fail.Helper()
		c.expect(backward(where("p", 0, keep)), pattern, append([]any{"p", 0}, vals...)...)
	}
	expect(everywhere, "all")
	backwards(everywhere, "back")
	for _, k := range []cell{{-2, "", -1}, {0, "a", 0}, {0, "b", -1}, {300, "a\x00", 1}} {
		expect(func(l cell) bool { return l.x == k.x }, "at_x", k.x)
		backwards(func(l cell) bool { return l.x == k.x }, "at_x_back", k.x)
		expect(func(l cell) bool { return l.x == k.x && l.y == k.y }, "at_xy", k.x, k.y)
		expect(func(l cell) bool { return l == k }, "at_xyz", k.x, k.y, k.z)
		expect(func(l cell) bool { return l == k }, "get", k.x, k.y, k.z)
		expect(func(l cell) bool { return l.compare(k) > 0 }, "page", k.x, k.y, k.z, 1000)
		backwards(func(l cell) bool { return l.compare(k) < 0 }, "page_back", k.x, k.y, k.z, 1000)
		expect(func(l cell) bool { return l.x == k.x && l.compare(k) > 0 }, "page_x", k.x, k.y, k.z, 1000)
		expect(func(l cell) bool { return l.x < k.x }, "after_x", k.x)
		expect(func(l cell) bool { return l.x < k.x || l.x == k.x && l.y > k.y }, "after_xy", k.x, k.y)
		backwards(func(l cell) bool { return l.x > k.x || l.x == k.x && l.y < k.y }, "after_xy_back", k.x, k.y)
		expect(func(l cell) bool { return l.x >= k.x && l.x < 300 }, "range_x", k.x, 300)
		backwards(func(l cell) bool { return l.x > -2 && l.x <= k.x }, "range_x_back", -2, k.x)
		expect(func(l cell) bool { return l.x == k.x && l.y > k.y && l.y <= "aa" }, "range_y", k.x, k.y, "aa")
		expect(func(l cell) bool { return l.x == k.x && l.y == k.y && l.z >= 0 && l.z <= 1 }, "range_z", k.x, k.y, 0, 1)
		expect(func(l cell) bool { return l.x >= -1 && l.x <= 1 && l.compare(k) > 0 }, "range_page", -1, 1, k.x, k.y, k.z,
			1000)
	}
	expect(everywhere, "page", nil, nil, nil, 1000)
	backwards(everywhere, "page_back", nil, nil, nil, 1000)
	expect(func(l cell) bool { return l.x >= -1 && l.x <= 1 }, "range_page", -1, 1, nil, nil, nil, 1000)
	expect(func(l cell) bool { return l.x == 7 }, "at_x", 7)
	c.expect([]string{row("p", 1, 0, "a", 0, "neighbour", nil)}, "all", "p", 1)
	c.expect([]string{row("", 0, 0, "a", 0, "neighbour", nil)}, "all", "", 0)
}
