package drivertest

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
)

// counters tests adds without reading, to both kinds of column.
func counters(t testing.TB, open Open) {
	s := begin(t, open, "counters.yaml")
	c := s.client()
	c.expect(nil, "get", "p", "k")
	c.write("add", "p", "k", 5)
	c.expect([]string{"5 null"}, "get", "p", "k")
	c.write("add", "p", "k", -7)
	c.write("add_both", "p", "k", 0, 1<<40)
	c.expect([]string{row(-2, 1<<40)}, "get", "p", "k")
	c.write("add_both", "p", "k", math.MaxInt64, -1)
	c.expect([]string{row(math.MaxInt64-2, 1<<40-1)}, "get", "p", "k")
	c.write("add", "p", "j", 1)
	c.write("add", "p", "l", 2)
	c.write("add", "o", "k", 3)
	c.expect([]string{"j 1", row("k", math.MaxInt64-2), "l 2"}, "all", "p")
	c.write("drop", "p", "l") // the test never adds to it again: Cassandra does not define the result
	c.expect([]string{"j 1", row("k", math.MaxInt64-2)}, "all", "p")
	c.same([]string{"p j 1 null", row("p", "k", math.MaxInt64-2, 1<<40-1), "o k 3 null"}, "scan")

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
		c.write("grow", "u", 3)
		c.expect([]string{"u null 3"}, "get_uids", "u")
		c.write("put_uids", "u", "name", 10)
		c.write("grow", "u", -4)
		c.expect([]string{"u name 6"}, "get_uids", "u")
		c.write("put_uids", "u", "name", nil) // null counts as 0
		c.write("grow", "u", 1)
		c.expect([]string{"u name 1"}, "get_uids", "u")
		for range 100 { // an add may stamp its cell later than the clock: HBase does
			c.write("grow", "u", 3)
			c.write("grow", "u", -4)
			c.write("put_uids", "u", "name", nil)
			c.expect([]string{"u name null"}, "get_uids", "u")
		}
	}
}

// returns tests adds that return their new values.
func returns(t testing.TB, open Open) {
	s := begin(t, open, "counters.yaml")
	if s.caps.ReturnsNew && !s.offers("next") {
		t.Errorf("the engine says that an add can return the new value, and cannot run one")
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
	for i := 1; i <= 5; i++ {
		if got := c.returned("next", "n", 1); got != fmt.Sprint(i) {
			s.Fatalf("add number %d returns the new value %s", i, got)
		}
	}
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
