package lint

import (
	"fmt"
	"math"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/forecast"
	"github.com/mailbench/mailbench/schemas/words"
)

// Numbers are the sizes of a schema's data with the mail of a workload, and the shares
// of its operations.
type Numbers struct {
	Workload string
	// Partitions are those of each table, by engine. An engine whose sizes no driver
	// knows has none.
	Partitions map[string][]Partitions
	// Cells are the bytes of the largest value in each table, among the messages that
	// were looked at.
	Cells map[string]float64
	// Hottest is the share, from 0 to 1, of a phase's operations that go to its busiest
	// user and to its busiest folder.
	Hottest struct{ User, Folder float64 }
}

// NumbersOf forecasts the sizes of a schema's tables, with the mail that people get, or after a year of
// the rows that the schema itself says (forecast.Own).
func NumbersOf(s *schemas.Schema, people *forecast.Population, facts Facts) (*Numbers, error) {
	n := &Numbers{Partitions: make(map[string][]Partitions), Cells: make(map[string]float64)}
	years := 0.0
	if forecast.Own(s) {
		years = 1
	}
	for _, name := range EngineNames() {
		engine := facts.Forecast(name)
		if engine == nil {
			continue
		}
		made, err := forecast.Make(s, people, engine)
		if err != nil {
			return nil, err
		}
		for _, t := range made.Tables {
			n.Cells[t.Name] = t.LargestCell()
			for _, g := range t.Groups {
				n.Partitions[name] = append(n.Partitions[name], Partitions{
					Table: t.Name, Each: g.Each, Median: g.Quantile(0.5, years).Size, Largest: g.Quantile(1, years).Size,
				})
			}
		}
	}
	return n, nil
}

// Partitions are the partitions of a table that hold the rows of one user, one
// folder, one message and so on. In HBase they are the rows of an HBase table.
type Partitions struct {
	Table           string
	Each            string // user, folder, message, attachment, piece or all
	Median, Largest forecast.Size
}

// The sizes that rules compare with.
const (
	aimBytes   = 10e6    // operators keep Cassandra partitions below it
	largeBytes = 100e6   // from here on, a Cassandra partition slows compactions and repairs
	largeRows  = 100_000 // the same, in rows
	mostCells  = 1 << 31 // the most cells of a Cassandra partition
	mostRow    = 1 << 30 // the most bytes of an HBase row that is read: hbase.table.max.rowsize
	hotShare   = 0.1     // of the operations of a workload
)

// copies are how many nodes answer for a partition: the usual replicas, and the one
// server of an HBase region.
var copies = map[string]float64{cassandra: 3, hbase: 1, oracle: 3}

// mostCell is the largest cell that an engine takes, in bytes.
var mostCell = map[string]float64{cassandra: 16 << 20, hbase: 10 << 20}

// sizeRules are about how large a workload makes tables, and how hot. All need numbers.
var sizeRules = []*Rule{{
	ID: "partition-over-aim", Severity: Note, Engines: []string{cassandra}, Numbers: true,
	check: ofSize(func(_ string, s forecast.Size) bool { return s.Bytes > aimBytes && !tooLarge(s) }),
}, {
	ID: "large-partition", Severity: Warning, Engines: []string{cassandra}, Numbers: true,
	check: ofSize(func(_ string, s forecast.Size) bool { return tooLarge(s) && s.Cells <= mostCells }),
}, {
	ID: "impossible-partition", Severity: Error, Engines: []string{cassandra, hbase}, Numbers: true,
	check: ofSize(func(engine string, s forecast.Size) bool {
		return engine == cassandra && s.Cells > mostCells || engine == hbase && s.Bytes > mostRow
	}),
}, {
	ID: "cell-too-wide", Severity: Error, Engines: []string{cassandra, hbase}, Numbers: true,
	table: func(c *checker, t *schemas.Table) {
		if n := c.numbers.Cells[t.Name]; n > mostCell[c.engine] {
			most := words.Size(mostCell[c.engine])
			c.atTable(t, "the largest cell has %s; %s accepts up to %s", words.Size(n), c.engine, most)
		}
	},
}, {
	ID: "cell-wide", Severity: Warning, Engines: []string{cassandra}, Numbers: true,
	table: func(c *checker, t *schemas.Table) {
		if n := c.numbers.Cells[t.Name]; n > 1<<20 && n <= mostCell[c.engine] {
			c.atTable(t, "the largest cell has %s; less than 1MB is recommended", words.Size(n))
		}
	},
}, {
	ID: "hot-partition", Severity: Warning, Engines: []string{cassandra, hbase, oracle}, Numbers: true,
	check: func(c *checker) {
		shares := map[string]float64{"user": c.numbers.Hottest.User, "folder": c.numbers.Hottest.Folder, "all": 1}
		for _, t := range c.tables() {
			for _, r := range t.Rows {
				if share := shares[r.Partition]; share > hotShare && gathers(r) {
					const what = "%.0f%% of the operations of %s go to the partition of one %s; more than %.0f nodes gain nothing"
					c.atTable(t, what, 100*share, c.numbers.Workload, r.Partition, math.Ceil(copies[c.engine]/share))
					break
				}
			}
		}
	},
}}

func tooLarge(s forecast.Size) bool { return s.Bytes > largeBytes || s.Rows > largeRows }

// ofSize finds the partitions of all tables whose largest one is of a size on the checker's engine.
func ofSize(found func(engine string, largest forecast.Size) bool) func(*checker) {
	return func(c *checker) {
		for _, p := range c.numbers.Partitions[c.engine] {
			if t := c.schema.Table(p.Table); t != nil && found(c.engine, p.Largest) {
				c.atTable(t, "%s", p)
			}
		}
	}
}

// String says how large the partitions are.
func (p Partitions) String() string {
	size := func(s forecast.Size) string {
		return fmt.Sprintf("%s, %.0f rows and %.0f cells", words.Size(s.Bytes), s.Rows, s.Cells)
	}
	return fmt.Sprintf("the largest partition of a %s has %s; the median has %s", p.Each, size(p.Largest), size(p.Median))
}
