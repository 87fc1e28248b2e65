package drivertest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

// conditions tests put-if.
func conditions(t testing.TB, open Open) {
	s := begin(t, open, "conditions.yaml")
	c := s.client()
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
	attempt(true, "create", "p", 1, "a", 1, true)
	attempt(false, "create", "p", 1, "b", 2, false)
	attempt(false, "create_a", "p", 1, "c")
	c.expect([]string{"a 1 true"}, "get", "p", 1)
	c.write("drop", "p", 1)
	attempt(true, "create_a", "p", 1, "c")
	c.expect([]string{"c null null"}, "get", "p", 1)
	c.write("put", "p", 2, nil, nil, nil)
	attempt(false, "create", "p", 2, "d", 4, true) // a row of nulls exists

	attempt(true, "change_n", "p", 1, 5, nil) // null: the column is absent
	attempt(false, "change_n", "p", 1, 6, nil)
	attempt(false, "change_n", "p", 1, 6, 4)
	attempt(true, "change_n", "p", 1, 6, 5)
	c.expect([]string{"c 6 null"}, "get", "p", 1)
	attempt(false, "change_an", "p", 1, "x", "c", 5) // one of two does not hold
	attempt(false, "change_an", "p", 1, "x", "C", 6)
	attempt(false, "change_an", "p", 1, "x", nil, 6)
	attempt(true, "change_an", "p", 1, "", "c", 6)
	c.expect([]string{`"" 6 null`}, "get", "p", 1)
	attempt(false, "change_an", "p", 1, "x", nil, 6) // empty is not null
	attempt(true, "change_n", "p", 1, nil, 6)
	c.expect([]string{`"" null null`}, "get", "p", 1)
	attempt(false, "change_n", "p", 9, 1, 7)
	c.expect(nil, "get", "p", 9)

	// The columns of an absent row are null.
	attempt(false, "change_an", "p", 10, "x", nil, 1)
	attempt(true, "change_an", "p", 10, "x", nil, nil)
	c.expect([]string{"x null null"}, "get", "p", 10)
	attempt(true, "change_n", "p", 11, 5, nil)
	c.expect([]string{"null 5 null"}, "get", "p", 11)
	attempt(false, "change_one", "p", 1, "x", "y")
	attempt(true, "change_one", "p", 1, "x", nil)
	attempt(false, "change_one", "p", 1, "y", nil)
	attempt(true, "change_one", "p", 1, "y", "x")
	c.expect([]string{"y"}, "get_one", "p", 1)

	// One of many sessions that try at once wins.
	const racers, races = 8, 20
	var won [races]atomic.Int32
	s.parallel(racers, func(i int, c *client) error {
		for n := range races {
			r, err := c.try("create", "race", n, fmt.Sprint(i), i, true)
			if err != nil {
				return err
			}
			if r.Applied {
				won[n].Add(1)
			}
		}
		return nil
	})
	for n := range races {
		if got := won[n].Load(); got != 1 {
			t.Errorf("race %d: %d of %d creators of one row were applied", n, got, racers)
		}
	}

	// Compare-and-set counts up and loses no count.
	c.write("put", "cas", 0, nil, 0, nil)
	s.parallel(4, func(_ int, c *client) error {
		for done := 0; done < 10; {
			rows, err := c.lines("get", "cas", 0)
			if err != nil {
				return err
			}
			var now int
			if _, err := fmt.Sscanf(strings.Join(rows, "; "), "null %d null", &now); err != nil {
				return fmt.Errorf("rows %q: %w", rows, err)
			}
			r, err := c.try("change_n", "cas", 0, now+1, now)
			if err != nil {
				return err
			}
			if r.Applied {
				done++
			}
		}
		return nil
	})
	c.expect([]string{"null 40 null"}, "get", "cas", 0)
}
