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

// substitutes checks what runs where an engine cannot run a pattern.
func (c *checker) substitutes() {
	for _, p := range c.of(nil) {
		fb, without := p.Fallback, c.without(p)
		if fb != nil && fb.Kind == schemas.Scan && p.Kind != schemas.Scan {
			where := cmp.Or(words.List(without), "an engine that cannot run it")
			c.atPattern("fallback-scan", p, "%s runs instead on %s: %s", fb.Name, where, cost(p))
		}
		if c.Facts != nil && fb != nil && len(without) == 0 {
			c.atPattern("fallback-idle", p, "unused fallback %s: no engine needs it", fb.Name)
		}
	}
	c.onEngines(func(engine string) {
		for _, p := range c.of(nil) {
			switch why := c.unable(engine, p); {
			case why == "":
			case p.Fallback == nil:
				c.atPattern("no-fallback", p, "%s cannot run it: %s", engine, why)
			default:
				c.atPattern("fallback-runs", p, "%s cannot run it (%s); %s runs instead: %s",
					engine, why, p.Fallback.Name, cost(p))
			}
		}
	})
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

// settings checks the settings of engines.
func (c *checker) settings() {
	if c.Facts == nil {
		return
	}
	for _, t := range c.schema.Tables { // headers, too
		for _, engine := range slices.Sorted(maps.Keys(t.Hints)) {
			if err := c.Facts.CheckHints(engine, t); err != nil {
				c.atTable("unknown-hint", t, "%s: %s", engine, strings.TrimPrefix(err.Error(), "table "+t.Name+": "))
			} else if t.Header() && len(t.Hints[engine]) > 0 {
				c.atTable("unknown-hint", t, "%s: a row header stores no rows and accepts no hints", engine)
			}
		}
	}
}

// mostInDatabase is the size in bytes below which a database is better for a blob than a file.
const mostInDatabase = 256 << 10

// outside checks bodies in a store of blobs outside of the engine.
func (c *checker) outside(t *schemas.Table) {
	for _, r := range t.Rows {
		what, store, above := schemas.Content[r.Of], r.Store(), words.Size(float64(r.Above))
		if store == "" || what == "" {
			continue
		}
		c.atTable("content-outside", t,
			"%s of more than %s is a file of %s: the engine neither replicates nor backs it up, and no batch includes it",
			what, above, store)
		if r.Above < mostInDatabase {
			c.atTable("small-files", t,
				"%s becomes a file of %s from %s on, and a database handles less than %s better",
				what, store, above, words.Size(mostInDatabase))
		}
	}
}

// hot checks for writes and reads that all go to one place, and what makes that place large.
func (c *checker) hot(t *schemas.Table) {
	first := t.Partition[0]
	rising := []schemas.Kind{schemas.TimeUUID, schemas.Timestamp, schemas.Bigint, schemas.Int}
	rises := Serves(t, first, schemas.Bucket) || slices.Contains(rising, first.Type.Kind)
	if t.Parent == nil && rises && !Serves(t, first, schemas.Salt) && len(c.of(t, schemas.Put, schemas.PutIf)) > 0 {
		c.atColumn("time-ordered-key", t, first, "row keys of %s begin with %s %s, so that all new rows go to one region",
			t.Name, first.Type, first.Name)
	}
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
		c.atTable("hot-partition-key", t,
			"all statements name one partition (%s): all rows and all requests are on its replicas", fixed)
	case !spread:
		c.atTable("hot-partition-key", t,
			"partition key (%s) has few values, or the same value for all writes at a time", names(t.Partition))
	}
	long := slices.DeleteFunc(slices.Concat(t.Static, t.Columns), func(col *schemas.Column) bool {
		return len(col.Name) <= 16
	})
	if len(long) > 0 && c.rowColumns(t) == len(t.Key()) { // else the key is the name
		c.atColumn("long-names", t, long[0], "each value of (%s) is stored with its name", names(long))
	}
	if n, err := strconv.Atoi(t.Hints[hbase]["versions"]); err == nil && n >= 100 {
		c.atTable("many-versions", t, "stores %d versions of each cell", n)
	}
	families := slices.DeleteFunc(slices.Clone(c.tables), func(o *schemas.Table) bool { return o.Root() != t.Root() })
	if len(families) > 3 && (t.Parent == nil || t.Root().Header() && t.Root().Children[0] == t) {
		c.atTable("many-families", t, "%d tables are families of HBase table %s", len(families), t.Root().Name)
	}
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

// sizes checks how large a workload makes tables, and how hot.
func (c *checker) sizes() {
	if c.Numbers == nil {
		return
	}
	c.onEngines(func(engine string) {
		if made := c.Numbers.Forecasts[engine]; made != nil {
			for _, t := range made.Tables {
				c.size(engine, t)
			}
		}
		if copies := copies[engine]; copies > 0 {
			for _, t := range c.tables {
				c.shares(t, copies)
			}
		}
	})
}

// size checks the largest cell of a table, and the largest of each kind of partition.
func (c *checker) size(engine string, t *forecast.Table) {
	switch n, most := t.LargestCell(), mostCell[engine]; {
	case most > 0 && n > most:
		c.atTable("cell-too-wide", t.Table, "the largest cell has %s; %s accepts up to %s",
			words.Size(n), engine, words.Size(most))
	case engine == cassandra && n > 1<<20:
		c.atTable("cell-wide", t.Table, "the largest cell has %s; less than 1MB is recommended", words.Size(n))
	}
	for _, g := range t.Groups {
		size := func(q float64) string {
			s := g.Quantile(q, c.Numbers.Years)
			return fmt.Sprintf("%s, %.0f rows and %.0f cells", words.Size(s.Bytes), s.Rows, s.Cells)
		}
		rule := ""
		switch s := g.Quantile(1, c.Numbers.Years).Size; {
		case engine == cassandra && s.Cells > mostCells, engine == hbase && s.Bytes > mostRow:
			rule = "impossible-partition"
		case engine != cassandra || s.Bytes <= aimBytes && s.Rows <= largeRows:
			continue
		case s.Bytes > largeBytes || s.Rows > largeRows:
			rule = "large-partition"
		default:
			rule = "partition-over-aim"
		}
		c.atTable(rule, t.Table, "the largest partition of a %s has %s; the median has %s", g.Each, size(1), size(0.5))
	}
}

// shares checks which share of the operations goes to one partition of a table, for which so many nodes answer.
func (c *checker) shares(t *schemas.Table, copies float64) {
	shares := map[string]float64{"user": c.Numbers.Hottest.User, "folder": c.Numbers.Hottest.Folder, "all": 1}
	for _, r := range t.Rows {
		if share := shares[r.Partition]; share > hotShare && gathers(r) {
			c.atTable("hot-partition", t,
				"%.0f%% of the operations of %s go to the partition of one %s; more than %.0f nodes gain nothing",
				100*share, c.Numbers.Workload, r.Partition, math.Ceil(copies/share))
			return
		}
	}
}
