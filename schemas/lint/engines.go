package lint

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/forecast"
	"github.com/mailbench/mailbench/schemas/words"
)

// fallbackRules are about what runs where an engine cannot run a pattern.
var fallbackRules = finders{
	"no-fallback": ofEngines(ofPatterns(func(c *checker, p *schemas.Pattern) {
		if why := c.unable(c.engine, p); why != "" && p.Fallback == nil {
			c.atPattern(p, "%s cannot run it: %s", c.engine, why)
		}
	})),
	"fallback-scan": ofPatterns(func(c *checker, p *schemas.Pattern) {
		if fb := p.Fallback; fb != nil && fb.Kind == schemas.Scan && p.Kind != schemas.Scan {
			where := cmp.Or(words.List(c.without(p)), "an engine that cannot run it")
			c.atPattern(p, "%s runs instead on %s: %s", fb.Name, where, cost(p))
		}
	}),
	"fallback-runs": ofEngines(ofPatterns(func(c *checker, p *schemas.Pattern) {
		if why := c.unable(c.engine, p); why != "" && p.Fallback != nil {
			c.atPattern(p, "%s cannot run it (%s); %s runs instead: %s",
				c.engine, why, p.Fallback.Name, cost(p))
		}
	})),
	"fallback-idle": ofPatterns(func(c *checker, p *schemas.Pattern) {
		if c.Facts != nil && p.Fallback != nil && len(c.without(p)) == 0 {
			c.atPattern(p, "unused fallback %s: no engine needs it", p.Fallback.Name)
		}
	}),
}

// unable says why an engine cannot run a pattern as it is declared, or "". A statement of CQL runs on
// Cassandra as it is: its driver refuses only the pattern that mailbench made of it.
func (c *checker) unable(engine string, p *schemas.Pattern) string {
	if c.Facts == nil || engine == cassandra && p.Imported != nil {
		return ""
	}
	return c.Facts.Unable(engine, p)
}

// without returns the engines that cannot run a pattern.
func (c *checker) without(p *schemas.Pattern) []string {
	return slices.DeleteFunc(EngineNames(), func(engine string) bool { return c.unable(engine, p) == "" })
}

// cost says what the fallback of a pattern does in addition or in another way.
func cost(p *schemas.Pattern) string {
	fb, a, b := p.Fallback, answer(p), answer(p.Fallback)
	switch {
	case p.Kind == schemas.Batch && p.Atomic != fb.Atomic:
		return fmt.Sprintf("one request per part, and an interruption leaves it partially applied (atomic: %s, not %s)",
			fb.Atomic, p.Atomic)
	case fb.Kind == schemas.PutIf && p.Kind != schemas.PutIf:
		return "a read, then a conditional write, and both again after each lost race"
	case a.Partitions != b.Partitions:
		return fmt.Sprintf("it reads %s, not %s", b.Partitions, a.Partitions)
	case a.Order != b.Order:
		return fmt.Sprintf("its order is %s, not %s", b.Order, a.Order)
	}
	return "as many partitions, in the same order"
}

// hintRules are about the settings of engines.
var hintRules = finders{
	"unknown-hint": func(c *checker) {
		if c.Hints == nil {
			return
		}
		for _, t := range c.schema.Tables { // headers, too
			for _, engine := range slices.Sorted(maps.Keys(t.Hints)) {
				if err := c.Hints(engine, t); err != nil {
					c.atTable(t, "%s: %s", engine, strings.TrimPrefix(err.Error(), "table "+t.Name+": "))
				} else if t.Header() && len(t.Hints[engine]) > 0 {
					c.atTable(t, "%s: a row header stores no rows and accepts no hints", engine)
				}
			}
		}
	},
}

// mostInDatabase is the size in bytes below which a database is better for a blob than a file.
const mostInDatabase = 256 << 10

// outsideRules are about bodies in a store of blobs outside of the engine.
var outsideRules = finders{
	"content-outside": ofTables(func(c *checker, t *schemas.Table) {
		c.outside(t, func(r *schemas.Rows, store string) {
			c.atTable(t, "%s of more than %s is a file of %s: the engine neither replicates nor backs it up, and no batch includes it",
				schemas.Content[r.Of], words.Size(float64(r.Above)), store)
		})
	}),
	"small-files": ofTables(func(c *checker, t *schemas.Table) {
		c.outside(t, func(r *schemas.Rows, store string) {
			if r.Above < mostInDatabase {
				c.atTable(t, "%s becomes a file of %s from %s on, and a database handles less than %s better",
					schemas.Content[r.Of], store, words.Size(float64(r.Above)), words.Size(mostInDatabase))
			}
		})
	}),
}

// outside yields the rows of a table whose contents a store outside of the engine may have.
func (c *checker) outside(t *schemas.Table, yield func(r *schemas.Rows, store string)) {
	for _, r := range t.Rows {
		if store := r.Store(); store != "" && schemas.Content[r.Of] != "" {
			yield(r, store)
		}
	}
}

// hotRules are about writes and reads that all go to one place.
var hotRules = finders{
	"time-ordered-key": ofTables(func(c *checker, t *schemas.Table) {
		first := t.Partition[0]
		rising := []schemas.Kind{schemas.TimeUUID, schemas.Timestamp, schemas.Bigint, schemas.Int}
		rises := Serves(t, first, schemas.Bucket) || slices.Contains(rising, first.Type.Kind)
		if t.Parent == nil && rises && !Serves(t, first, schemas.Salt) && len(c.of(t, schemas.Put, schemas.PutIf)) > 0 {
			c.atColumn(t, first, "row keys of %s begin with %s %s, so that all new rows go to one region",
				t.Name, first.Type, first.Name)
		}
	}),
	"hot-partition-key": ofTables(func(c *checker, t *schemas.Table) {
		spread := slices.ContainsFunc(t.Partition, func(col *schemas.Column) bool {
			return !fewValues(col) && !Serves(t, col, schemas.Bucket)
		})
		fixed, several := "", false // the partition that all statements of the table name by literals
		for _, p := range c.of(t) {
			several = several || fixed != "" && carried(p, "fixed") != fixed || carried(p, "fixed") == ""
			fixed = carried(p, "fixed")
		}
		switch {
		case t.Parent != nil || len(t.Clustering) == 0:
		case fixed != "" && !several:
			c.atTable(t, "all statements name one partition (%s): all rows and all requests are on its replicas", fixed)
		case !spread:
			c.atTable(t, "partition key (%s) has few values, or the same value for all writes at a time", names(t.Partition))
		}
	}),
	"long-names": ofTables(func(c *checker, t *schemas.Table) {
		var long []*schemas.Column
		for _, col := range slices.Concat(t.Static, t.Columns) {
			if len(col.Name) > 16 && c.rowColumns(t) == len(t.Key()) { // else the key is the name
				long = append(long, col)
			}
		}
		if len(long) > 0 {
			c.atColumn(t, long[0], "each value of (%s) is stored with its name", names(long))
		}
	}),
	"many-versions": ofTables(func(c *checker, t *schemas.Table) {
		if n, err := strconv.Atoi(t.Hints[hbase]["versions"]); err == nil && n >= 100 {
			c.atTable(t, "stores %d versions of each cell", n)
		}
	}),
	"many-families": ofTables(func(c *checker, t *schemas.Table) {
		families := 0
		for _, o := range c.tables() {
			if o.Root() == t.Root() {
				families++
			}
		}
		if families > 3 && (t.Parent == nil || t.Root().Header() && t.Root().Children[0] == t) {
			c.atTable(t, "%d tables are families of HBase table %s", families, t.Root().Name)
		}
	}),
}

// fewValues guesses whether a column has a handful of values: a boolean, or what is named
// after a state or a kind.
func fewValues(c *schemas.Column) bool {
	words := wordsOf(c.Name)
	return c.Type.Kind == schemas.Boolean || (c.Type.Kind == schemas.Text || c.Type.Kind == schemas.Int) &&
		slices.Contains(guessed.Few, words[len(words)-1])
}

// Numbers are the sizes of a schema's data with the mail of a workload, and the shares
// of its operations.
type Numbers struct {
	Workload string
	// Forecasts are those of the engines whose sizes a driver knows, by their names. Rules judge the sizes after Years.
	Forecasts map[string]*forecast.Forecast
	Years     float64
	// Hottest is the share, from 0 to 1, of a phase's operations that go to its busiest
	// user and to its busiest folder.
	Hottest struct{ User, Folder float64 }
}

// NumbersOf forecasts the sizes of a schema's tables, with the mail that people get, or after a year of
// the rows that the schema itself says (forecast.Own).
func NumbersOf(s *schemas.Schema, people *forecast.Population, facts Facts) (*Numbers, error) {
	n := &Numbers{Forecasts: make(map[string]*forecast.Forecast)}
	if forecast.Own(s) {
		n.Years = 1
	}
	for _, name := range EngineNames() {
		if engine := facts.Forecast(name); engine != nil {
			made, err := forecast.Make(s, people, engine)
			if err != nil {
				return nil, err
			}
			n.Forecasts[name] = made
		}
	}
	return n, nil
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
var sizeRules = finders{
	"partition-over-aim": ofSize(func(_ string, s forecast.Size) bool { return s.Bytes > aimBytes && !tooLarge(s) }),
	"large-partition":    ofSize(func(_ string, s forecast.Size) bool { return tooLarge(s) && s.Cells <= mostCells }),
	"impossible-partition": ofSize(func(engine string, s forecast.Size) bool {
		return engine == cassandra && s.Cells > mostCells || engine == hbase && s.Bytes > mostRow
	}),
	"cell-too-wide": ofForecasts(func(c *checker, t *forecast.Table) {
		if n := t.LargestCell(); n > mostCell[c.engine] {
			most := words.Size(mostCell[c.engine])
			c.atTable(t.Table, "the largest cell has %s; %s accepts up to %s", words.Size(n), c.engine, most)
		}
	}),
	"cell-wide": ofForecasts(func(c *checker, t *forecast.Table) {
		if n := t.LargestCell(); n > 1<<20 && n <= mostCell[c.engine] {
			c.atTable(t.Table, "the largest cell has %s; less than 1MB is recommended", words.Size(n))
		}
	}),
	"hot-partition": ofTables(func(c *checker, t *schemas.Table) {
		shares := map[string]float64{"user": c.Numbers.Hottest.User, "folder": c.Numbers.Hottest.Folder, "all": 1}
		for _, r := range t.Rows {
			if share := shares[r.Partition]; share > hotShare && gathers(r) {
				const what = "%.0f%% of the operations of %s go to the partition of one %s; more than %.0f nodes gain nothing"
				c.atTable(t, what, 100*share, c.Numbers.Workload, r.Partition, math.Ceil(copies[c.engine]/share))
				return
			}
		}
	}),
}

func tooLarge(s forecast.Size) bool { return s.Bytes > largeBytes || s.Rows > largeRows }

// ofForecasts runs a rule on each table that there is a forecast of for the rule's engine.
func ofForecasts(rule func(*checker, *forecast.Table)) func(*checker) {
	return func(c *checker) {
		if made := c.Numbers.Forecasts[c.engine]; made != nil {
			for _, t := range made.Tables {
				rule(c, t)
			}
		}
	}
}

// ofSize finds the partitions of all tables whose largest one is of a size on the rule's engine.
func ofSize(found func(engine string, largest forecast.Size) bool) func(*checker) {
	return ofForecasts(func(c *checker, t *forecast.Table) {
		for _, g := range t.Groups {
			size := func(q float64) string {
				s := g.Quantile(q, c.Numbers.Years)
				return fmt.Sprintf("%s, %.0f rows and %.0f cells", words.Size(s.Bytes), s.Rows, s.Cells)
			}
			if found(c.engine, g.Quantile(1, c.Numbers.Years).Size) {
				c.atTable(t.Table, "the largest partition of a %s has %s; the median has %s", g.Each, size(1), size(0.5))
			}
		}
	})
}
