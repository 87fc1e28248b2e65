package pebble

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// TestCellsOfRows reads the collections of several rows with one call, in all orders. Rows have no cells,
// few, and more between two sets that are read than an iterator steps over.
func TestCellsOfRows(t *testing.T) {
	e := newEnv(t, drivers.Options{Durability: drivers.Memory})
	want := map[int]string{}
	ids := []int{1, 2, 3, 4, 5, 6, 7}
	for _, id := range ids {
		if id%3 == 0 {
			e.write("post", "r", id, "body", nil, nil, nil)
			want[id] = fmt.Sprint(id, " -")
			continue
		}
		to, seen := fmt.Sprint("to", id), make([]any, id*4)
		for i := range seen {
			seen[i] = "reader"
		}
		e.write("post", "r", id, "body", set(to), list(seen...), pairs("file", id))
		want[id] = fmt.Sprintf("%d (%s)", id, to)
	}
	e.write("post", "s", 1, "body", set("neighbor"), nil, nil)
	lines := func(ids ...int) string {
		var all []string
		for _, id := range ids {
			all = append(all, want[id])
		}
		return strings.Join(all, "; ")
	}
	e.want(lines(ids...), "posts_back", "r")
	down := slices.Clone(ids)
	slices.Reverse(down)
	for _, order := range [][]int{ids, down, {7, 6, 4, 1}, {4, 7, 5, 2, 1, 3, 6}, {5, 1, 7, 2}, {2, 2, 1, 1}} {
		var in []any
		for _, id := range order {
			in = append(in, id)
		}
		e.want(lines(order...), "posts_of", "r", list(in...))
	}
}
