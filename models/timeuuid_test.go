package models_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models"
)

func TestTimeUUIDKeepsItsTime(t *testing.T) {
	g := models.NewTimeUUIDs(7)
	for _, want := range []time.Time{
		time.Date(1582, 10, 15, 0, 0, 0, 0, time.UTC),
		time.Date(1969, 12, 31, 23, 59, 59, 999_999_900, time.UTC),
		time.Date(2026, 11, 21, 4, 0, 0, 123_456_700, time.UTC),
		time.Date(5000, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		u := g.Next(want)
		if got := models.TimeOf(u); !got.Equal(want) {
			t.Errorf("TimeOf(Next(%v)) = %v", want, got)
		}
		if u[6]>>4 != 1 || u[8]>>6 != 2 {
			t.Errorf("%x is not an RFC 9562 version 1 UUID", u)
		}
	}
}

func TestTimeUUIDClampsForeignTimes(t *testing.T) {
	g := models.NewTimeUUIDs(7)
	if got := models.TimeOf(g.Next(time.Time{})); got.Year() != 1582 {
		t.Errorf("year 1 came out as %v", got)
	}
	if got := models.TimeOf(g.Next(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))); got.Year() != 5236 {
		t.Errorf("year 9999 came out as %v", got)
	}
}

func TestEqualTimesAscendAndStayWithinTheirBounds(t *testing.T) {
	g, at := models.NewTimeUUIDs(0), time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	lo, hi := models.MinTimeUUID(at), models.MaxTimeUUID(at)
	last := lo
	for range 300_000 { // past the first three bytes of the counter
		u := g.Next(at)
		if bytes.Compare(u[8:], last[8:]) <= 0 {
			t.Fatalf("%x does not follow %x", u, last)
		}
		for i := 8; i < 16; i++ {
			if u[i]&0x80 == 0 {
				t.Fatalf("%x: byte %d changes sign, so engines would disagree on its order", u, i)
			}
		}
		last = u
	}
	if d := models.TimeOf(hi).Sub(models.TimeOf(lo)); d != time.Millisecond-100 {
		t.Errorf("bounds are %v apart", d)
	}
	if got := models.TimeOf(models.MinTimeUUID(at.Add(999 * time.Microsecond))); !got.Equal(at) {
		t.Errorf("MinTimeUUID of the millisecond's end is of %v", got)
	}
}

func TestConcurrentTimeUUIDsDiffer(t *testing.T) {
	const workers, each = 4, 5000
	g, at := models.NewTimeUUIDs(1), time.Unix(1, 0)
	out := make([][][16]byte, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range each {
				out[w] = append(out[w], g.Next(at))
			}
		})
	}
	wg.Wait()
	seen := map[[16]byte]bool{}
	for _, us := range out {
		for _, u := range us {
			seen[u] = true
		}
	}
	if len(seen) != workers*each {
		t.Errorf("%d of %d are distinct", len(seen), workers*each)
	}
	if n := testing.AllocsPerRun(100, func() { g.Next(at) }); n != 0 {
		t.Errorf("Next allocates %v times", n)
	}
}
