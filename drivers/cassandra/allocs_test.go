package cassandra

import (
	"testing"

	"github.com/mailbench/mailbench/drivers/drivertest/paired"
)

// TestAllocs: a call allocates no more than the bare loop does that sends the
// same statement. (All of it is gocql's: what the driver needs is kept.)
func TestAllocs(t *testing.T) {
	bare, driver := openPaired(t)
	count := func(s paired.Side) float64 {
		t.Helper()
		op, err := s.Client()
		if err != nil {
			t.Fatal(err)
		}
		n := uint64(0)
		return testing.AllocsPerRun(200, func() {
			if err := op(t.Context(), n%20); err != nil {
				t.Fatal(err)
			}
			n++
		})
	}
	for what, sides := range map[string][2]paired.Side{"write": {bare.Write, driver.Write}, "read": {bare.Read, driver.Read}} {
		if what == "read" {
			count(driver.Write) // what is read must be there
		}
		if b, d := count(sides[0]), count(sides[1]); d > b {
			t.Errorf("a %s allocates %.0f times, the bare loop %.0f", what, d, b)
		}
	}
}
