package validate

import (
	"math"
	"strings"
	"testing"
)

// TestUnseen: 30,000 rows exclude more than 3 in 30,000; 10 parts leave 1 - 0.05^0.1 = 25.9% of them.
func TestUnseen(t *testing.T) {
	if got := unseen(30_000); math.Abs(got-1e-4) > 2e-7 {
		t.Errorf("30,000 rows: %g, want nearly 0.0001", got)
	}
	if unseen(0) != 1 || math.Abs(unseen(1)-0.95) > 1e-9 {
		t.Errorf("no row: %g, one row: %g; want 1 and 0.95", unseen(0), unseen(1))
	}
	r := Report{
		Tables: []Table{
			{Name: "whole", Rows: 9, Parts: 4, Read: 4},
			{Name: "part", Rows: 30_000, Parts: 1000, Read: 10},
			{Name: "damaged", Rows: 30_000, Parts: 1000, Read: 10},
			{Name: "empty", Parts: 1000, Read: 10},
		},
		Findings: []Finding{{About: About{Table: "damaged"}, Rows: 1}, {About: About{Table: "part", Leftover: true}, Rows: 1}},
	}
	var b strings.Builder
	r.writeUnseen(&b)
	want := "  part: up to 0.01% of its rows are broken, if they are spread evenly;\n      up to 26% of its parts have broken rows"
	want += ", if they are together\n  empty: up to 100% of its rows"
	if got := b.String(); !strings.Contains(got, want) || strings.Contains(got, "whole") || strings.Contains(got, "damaged") {
		t.Errorf("got %s, want %s for these tables only", got, want)
	}
}
