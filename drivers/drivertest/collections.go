package drivertest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// appends tests lists to which several sessions append many elements: each keeps its order, and none is
// lost. Maps and their elements may be large.
func appends(s *suite) {
	c := s.client()
	const readers, each = 4, 25
	s.parallel(readers, func(i int, c *client) error {
		for n := range each {
			if _, err := c.try("add_seen", "p", 2, list{fmt.Sprintf("%d.%02d", i, n)}); err != nil {
				return err
			}
		}
		return nil
	})
	got := strings.Join(c.read("several", "p", list{2}), "; ")
	words := strings.Split(strings.Trim(strings.TrimPrefix(got, "2 "), "[]"), ",")
	if len(words) != readers*each {
		s.Fatalf("a list after %d appends has %d elements: %s", readers*each, len(words), got)
	}
	next := make([]int, readers)
	for _, w := range words {
		var i, n int
		if _, err := fmt.Sscanf(w, "%d.%d", &i, &n); err != nil || n != next[i] {
			s.Fatalf("appends of one session are out of order, at %s of %s", w, got)
		}
		next[i]++
	}
	const n = 500
	var pairs list
	var pairsText []string
	for i := range n {
		pairs = append(pairs, fmt.Sprintf("%04d", i), i)
		pairsText = append(pairsText, fmt.Sprintf("%04d:%d", i, i))
	}
	c.write("put_files", "p", 3, pairs)
	c.expect([]string{"null null null {" + strings.Join(pairsText, ",") + "}"}, "get", "p", 3)
	c.expect([]string{"321"}, "file", "p", 3, "0321")
	big := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	c.write("put_rest", "p", 3, nil, list{1, big, 2, big[1:]})
	c.expect([]string{row(big[1:])}, "blob", "p", 3, 2)
}

// counters tests adds of several sessions to the same counters, and adds to columns that are also put.
func counters(s *suite) {
	c := s.client()
	const workers, each = 8, 50
	s.parallel(workers, func(i int, c *client) error {
		for n := range each {
			if _, err := c.try("add_both", "sum", "all", n, -1); err != nil {
				return err
			}
			if _, err := c.try("add", "sum", fmt.Sprint("own", i), 1); err != nil {
				return err
			}
		}
		return nil
	})
	c.expect([]string{row(workers*each*(each-1)/2, -workers*each)}, "get", "sum", "all")
	for i := range workers {
		c.expect([]string{row(each, nil)}, "get", "sum", fmt.Sprint("own", i))
	}
	if s.offers("grow") {
		for range 100 { // an add may stamp its cell later than the clock: HBase does
			c.write("grow", "g", 3)
			c.write("grow", "g", -4)
			c.write("put_uids", "g", "name", nil)
			c.expect([]string{"g name null"}, "get_uids", "g")
		}
	}
}

// returns tests that an engine can run an add which returns the new value if it says so.
func returns(s *suite) {
	if s.caps.ReturnsNew && !s.offers("next") {
		s.Errorf("the engine says that an add can return the new value, and cannot run one")
	}
	if s.offers("next") {
		ascendingUIDs(s)
	}
}

// ascendingUIDs tests what James' UIDs need. Concurrent adds that return the new value
// return different values. An add that ended before another began returns the lower one.
func ascendingUIDs(s *suite) {
	s.Helper()
	c := s.client()
	const workers, each = 8, 40
	var mu sync.Mutex
	var all []int64
	s.parallel(workers, func(_ int, c *client) error {
		for range each {
			mu.Lock()
			var floor int64
			if len(all) > 0 {
				floor = slices.Max(all) // returned before this add begins
			}
			mu.Unlock()
			r, err := c.try("next", "u", 1)
			if err != nil {
				return err
			}
			if len(r.Row) != 1 {
				return fmt.Errorf("an add that returns one column returned %d", len(r.Row))
			}
			got := r.Row[0].Int64()
			if got <= floor {
				return fmt.Errorf("an add returned %d, though an add before it had returned %d", got, floor)
			}
			mu.Lock()
			all = append(all, got)
			mu.Unlock()
		}
		return nil
	})
	slices.Sort(all)
	for i, n := range all {
		if n != int64(i)+1 {
			s.Fatalf("%d adds of 1 returned %v, expected each number from 1 on once", workers*each, all)
		}
	}
	c.expect([]string{row("u", nil, workers*each)}, "get_uids", "u")
}
