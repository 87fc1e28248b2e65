package drivertest

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// sharedChecks is how many random sequences run on a shared engine, where each call
// crosses the network.
const sharedChecks = 25

// random compares random sequences of calls on one partition with a plain map.
// The seed of a failure is printed, with the shortest sequence that fails.
func random(t testing.TB, open Open) {
	s := begin(t, open, "composite.yaml")
	if s.shared {
		limitChecks(t, sharedChecks)
	}
	c := s.client()
	partitions := 0
	rapid.Check(t, func(rt *rapid.T) {
		partitions++
		m := &model{
			client: &client{suite: c.suite, fail: rt, session: c.session},
			a:      fmt.Sprint("random", partitions),
			rows:   make(map[cell]*entry),
		}
		rt.Repeat(map[string]func(*rapid.T){
			"put":     m.put,
			"part":    m.part,
			"delete":  m.delete,
			"compare": m.compare,
			"":        func(*rapid.T) { m.expectCount(len(m.rows), "all", m.a, 0) },
		})
		m.client.expect(m.lines(everywhere, false), "all", m.a, 0)
	})
}

// limitChecks makes rapid run n sequences in this test, unless its flag says how many.
func limitChecks(t testing.TB, n int) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	if f.Value.String() != f.DefValue {
		return
	}
	if err := flag.Set(f.Name, strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { flag.Set(f.Name, f.DefValue) })
}

// entry is what a row of the grid holds; nil is null.
type entry struct{ v, w any }

// model is a partition of the grid as a map.
type model struct {
	*client
	a    string
	rows map[cell]*entry
}

// There are few values, so that calls meet the same rows often.
var (
	someX = rapid.SampledFrom([]int{-1, 0, 1, 256})
	someY = rapid.SampledFrom([]string{"", "a", "a\x00", "aa"})
	someZ = rapid.SampledFrom([]int{-1, 0, 1})
	someV = rapid.SampledFrom([]any{nil, "", "v", "\x00"})
	someW = rapid.SampledFrom([]any{nil, 0, -7})
)

var someCell = rapid.Custom(func(t *rapid.T) cell {
	return cell{someX.Draw(t, "x"), someY.Draw(t, "y"), someZ.Draw(t, "z")}
})

// lines returns the rows for which keep returns true, in reading order.
func (m *model) lines(keep func(cell) bool, reverse bool) []string {
	var keys []cell
	for k := range m.rows {
		if keep(k) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, cell.compare)
	if reverse {
		slices.Reverse(keys)
	}
	var want []string
	for _, k := range keys {
		want = append(want, row(m.a, 0, k.x, k.y, k.z, m.rows[k].v, m.rows[k].w))
	}
	return want
}

func (m *model) put(t *rapid.T) {
	k, e := someCell.Draw(t, "key"), &entry{someV.Draw(t, "v"), someW.Draw(t, "w")}
	m.write("put", m.a, 0, k.x, k.y, k.z, e.v, e.w)
	m.rows[k] = e
}

func (m *model) part(t *rapid.T) {
	k := someCell.Draw(t, "key")
	old := m.rows[k]
	if old == nil {
		old = &entry{}
	}
	if rapid.Bool().Draw(t, "of v") {
		old.v = someV.Draw(t, "v")
		m.write("put_v", m.a, 0, k.x, k.y, k.z, old.v)
	} else {
		old.w = someW.Draw(t, "w")
		m.write("put_w", m.a, 0, k.x, k.y, k.z, old.w)
	}
	m.rows[k] = old
}

func (m *model) delete(t *rapid.T) {
	k := someCell.Draw(t, "key")
	pattern := rapid.SampledFrom([]string{"drop", "drop", "drop", "drop_x", "drop_xy", "drop_all"}).Draw(t, "delete")
	var vals []any
	var goes func(cell) bool
	switch pattern {
	case "drop":
		vals, goes = []any{k.x, k.y, k.z}, func(l cell) bool { return l == k }
	case "drop_x":
		vals, goes = []any{k.x}, func(l cell) bool { return l.x == k.x }
	case "drop_xy":
		vals, goes = []any{k.x, k.y}, func(l cell) bool { return l.x == k.x && l.y == k.y }
	case "drop_all":
		goes = everywhere
	}
	m.write(pattern, append([]any{m.a, 0}, vals...)...)
	for l := range m.rows {
		if goes(l) {
			delete(m.rows, l)
		}
	}
}

func (m *model) compare(t *rapid.T) {
	k, to := someCell.Draw(t, "key"), someX.Draw(t, "to")
	limit := rapid.IntRange(1, 5).Draw(t, "limit")
	first := func(want []string) []string { return want[:min(limit, len(want))] }
	m.expect(m.lines(everywhere, true), "back", m.a, 0)
	m.expect(m.lines(func(l cell) bool { return l == k }, false), "get", m.a, 0, k.x, k.y, k.z)
	m.expect(m.lines(func(l cell) bool { return l.x == k.x }, false), "at_x", m.a, 0, k.x)
	m.expect(first(m.lines(func(l cell) bool { return l.compare(k) > 0 }, false)), "page", m.a, 0, k.x, k.y, k.z, limit)
	m.expect(first(m.lines(func(l cell) bool { return l.compare(k) < 0 }, true)), "page_back", m.a, 0, k.x, k.y, k.z,
		limit)
	m.expect(m.lines(func(l cell) bool { return l.x >= k.x && l.x < to }, false), "range_x", m.a, 0, k.x, to)
	m.expect(m.lines(func(l cell) bool { return l.x > k.x && l.x <= to }, true), "range_x_back", m.a, 0, k.x, to)
}
