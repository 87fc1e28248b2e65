package lint

import (
	"testing"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/forecast"
)

// TestNumbers: each rule that needs numbers finds something from the number on that it
// names, and nothing below.
func TestNumbers(t *testing.T) {
	s := parse(t, `schema: 1
name: mail
tables:
  t:
    partition: [folder uuid]
    clustering: [id timeuuid]
    columns: {subject: text, size: int}
    rows: [{each: message, partition: folder, sizes: {subject: subject}}]
`)
	of := func(row forecast.Size, cell float64) Numbers { // the only row of one of two folders, with its subject
		people := &forecast.Population{
			Users: [][]int32{{1, 0}}, Sample: []forecast.Message{{Quantities: map[string]float64{"subject": cell}}},
		}
		f, err := forecast.Make(s, people, &forecast.Engine{
			Row:  func(*forecast.Row) forecast.Size { return row },
			Unit: func(t *schemas.Table) int { return len(t.Partition) },
		})
		if err != nil {
			t.Fatal(err)
		}
		return Numbers{Forecasts: map[string]*forecast.Forecast{cassandra: f, hbase: f}}
	}
	largest := func(row forecast.Size) Numbers { return of(row, 0) }
	cell := func(n float64) Numbers { return of(forecast.Size{}, n) }
	hot := func(user, folder float64) (n Numbers) {
		n.Hottest.User, n.Hottest.Folder = user, folder
		return n
	}
	cases := []struct {
		rule, engine string
		found, near  Numbers
		want         string
	}{
		{
			"partition-over-aim", cassandra, largest(forecast.Size{Bytes: 10.1e6, Rows: 99}), largest(forecast.Size{Bytes: 9.9e6, Rows: 99}),
			"the largest partition of a folder has 10.1MB, 99 rows and 0 cells; the median has 0B, 0 rows and 0 cells",
		},
		{
			"large-partition", cassandra, largest(forecast.Size{Bytes: 5e6, Rows: 100_001}), largest(forecast.Size{Bytes: 99e6, Rows: 100_000}),
			"the largest partition of a folder has 5.00MB, 100001 rows and 0 cells; the median has 0B, 0 rows and 0 cells",
		},
		{
			"impossible-partition", cassandra, largest(forecast.Size{Cells: 1<<31 + 1}), largest(forecast.Size{Cells: 1 << 31}),
			"the largest partition of a folder has 0B, 0 rows and 2147483649 cells; the median has 0B, 0 rows and 0 cells",
		},
		{
			"impossible-partition", hbase, largest(forecast.Size{Bytes: 1.1e9}), largest(forecast.Size{Bytes: 1e9}),
			"the largest partition of a folder has 1.10GB, 0 rows and 0 cells; the median has 0B, 0 rows and 0 cells",
		},
		{"cell-too-wide", hbase, cell(11 << 20), cell(10 << 20), "the largest cell has 11.5MB; hbase accepts up to 10.5MB"},
		{"cell-too-wide", cassandra, cell(17 << 20), cell(16 << 20), "the largest cell has 17.8MB; cassandra accepts up to 16.8MB"},
		{"cell-wide", cassandra, cell(2 << 20), cell(1 << 20), "the largest cell has 2.10MB; less than 1MB is recommended"},
		{
			"hot-partition", cassandra, hot(0, 0.25), hot(0.9, 0.1),
			"25% of the operations of day go to the partition of one folder; more than 12 nodes gain nothing",
		},
		{
			"hot-partition", hbase, hot(0, 0.25), hot(0.9, 0.1),
			"25% of the operations of day go to the partition of one folder; more than 4 nodes gain nothing",
		},
	}
	tried := make(map[string]bool)
	for _, c := range cases {
		tried[c.rule] = true
		for _, n := range []*Numbers{&c.found, &c.near} {
			n.Workload = "day"
			r, err := Check(s, Options{Facts: facts(s), Engines: []string{c.engine}, Numbers: n})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range r.Findings {
				if f.Rule.ID == c.rule {
					got += f.Message
				}
			}
			if n == &c.found && got != c.want || n == &c.near && got != "" {
				t.Errorf("%s for %s finds %q; want %q for the first numbers and nothing for the second", c.rule, c.engine, got, c.want)
			}
		}
	}
	for _, r := range Rules() {
		if r.Numbers && !tried[r.ID] {
			t.Errorf("no case for %s", r.ID)
		}
	}
}
