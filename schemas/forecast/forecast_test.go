package forecast

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/schemas"
)

var update = flag.Bool("update", false, "rewrite the golden file in testdata")

// bare returns an engine whose rows are their keys and values, whose partitions take 10
// bytes more and whose files 100.
func bare(unit int) *Engine {
	return &Engine{
		Row: func(r *Row) Size {
			s := Size{Rows: 1}
			for _, n := range r.Key {
				s.Bytes += n
			}
			for _, c := range r.Cells {
				s.Bytes += c.Bytes
				s.Cells += c.Count
			}
			return s
		},
		Partition: func(*schemas.Table, []float64, Size) float64 { return 10 },
		Table:     func(*schemas.Table, Size) float64 { return 100 },
		Unit:      func(t *schemas.Table) int { return max(unit, len(t.Partition)) },
		Space:     Space{Replicas: 2, Compaction: 0.5, Why: "a test says so", Tombstones: 73},
		Limits: []Limit{
			{Name: "partition over 600 bytes", Of: PartitionBytes, Most: 600, Source: "a test"},
			{Name: "partition over 1 KB", Of: PartitionBytes, Most: 1000, Source: "a test"},
			{Name: "partition over 30 rows", Of: PartitionRows, Most: 30, Hard: true},
			{Name: "partition over 5 tombstones", Of: PartitionTombstones, Most: 5},
			{Name: "value over 25 bytes", Of: CellBytes, Most: 25},
			{Name: "table over 10 KB", Of: TableBytes, Most: 10_000},
			{Name: "partition over 1 million cells", Of: PartitionCells, Most: 1e6},
		},
	}
}

const schema = `
schema: 1
name: s
tables:
  inbox:
    partition: [user text, folder text]
    clustering: [id bigint]
    static: {title: text}
    columns: {subject: text, tags: set<text>}
    rows:
      - {each: folder, static: true, sizes: {user: address, folder: folder, title: 3}}
      - each: message
        partition: folder
        sizes: {user: address, folder: folder, subject: 2 + subject, tags: {cells: 2, bytes: 8}}
        ends: [move, delete]
  blocks:
    partition: [id bigint, n int]
    columns: {data: blob}
    rows: [{each: message, shared: true, pieces: {of: raw, bytes: 20}, sizes: {data: piece}}]
  users: {partition: [user text], rows: [{each: user, times: 2, sizes: {user: address}}]}
  later: {partition: [user text]}
`

// people are two users: one folder of 10 messages, and folders of 20 and of none.
func people() *Population {
	message := func(subject, raw float64) Message {
		return Message{Quantities: map[string]float64{"subject": subject, "raw": raw}}
	}
	return &Population{
		Users: [][]int32{{10}, {20, 0}}, Address: 5, Folder: 4,
		Sample: []Message{message(2, 50), message(4, 30)},
		Growth: Growth{Yearly: 1, Recipients: 2, Operations: map[string]float64{"delete": 0.25, "move": 0.25}},
	}
}

func parsed(t *testing.T, text string) *schemas.Schema {
	t.Helper()
	s, err := schemas.Parse("s.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func made(t *testing.T, e *Engine) *Forecast {
	t.Helper()
	f, err := Make(parsed(t, schema), people(), e)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestTotals compares sums with those made by hand.
func TestTotals(t *testing.T) {
	f := made(t, bare(0))
	// A message's row: key 5+4+8, subject 2+3 on average, tags 8: 30 bytes in 3 cells. A
	// folder's static row: 5+4+3 bytes in 1 cell, and its partition 10.
	check := func(table int, years float64, rows, cells, bytes float64) {
		t.Helper()
		at := f.Tables[table].At(years)
		if diff := cmp.Diff(Size{bytes, rows, cells}, at); diff != "" {
			t.Errorf("%s after %g years (-want +got):\n%s", f.Tables[table].Name, years, diff)
		}
	}
	check(0, 0, 33, 93, 30*30+3*(12+10)+100)
	// A quarter of the new messages is deleted: 22.5 messages more a year.
	check(0, 2, 3+30+45, 3+3*75, 75*30+3*(12+10)+100)
	// Blocks of 50 bytes: 20, 20 and 10; of 30: 20 and 10. On average 2.5 rows and 40 bytes.
	// Two accounts share the messages that come.
	check(1, 0, 75, 75, 30*40+75*(12+10)+100)
	check(1, 2, 150, 150, 60*40+150*(12+10)+100)
	check(2, 2, 4, 0, 4*5+2*10+100)
	check(3, 2, 0, 0, 0)
}

// TestQuantiles: partitions in order of size, each with its rows and bytes.
func TestQuantiles(t *testing.T) {
	g := made(t, bare(0)).Tables[0].Groups[0]
	for q, want := range map[float64]Part{
		0: {Size{22, 1, 1}, 0}, 0.5: {Size{322, 11, 31}, 10 * 0.5 * 73 / 365}, 1: {Size{622, 21, 61}, 20 * 0.5 * 73 / 365},
	} {
		if diff := cmp.Diff(want, g.Quantile(q, 0)); diff != "" {
			t.Errorf("quantile %g (-want +got):\n%s", q, diff)
		}
	}
	blocks := made(t, bare(0)).Tables[1].Groups[0]
	if n, most := blocks.Count(0), blocks.Quantile(1, 0).Bytes; n != 75 || most != 20+12+10 {
		t.Errorf("%g blocks, the largest of %g bytes", n, most)
	}
	if median, least := blocks.Quantile(0.5, 0).Bytes, blocks.Quantile(0.1, 0).Bytes; median != 42 || least != 32 {
		t.Errorf("median block %g, small one %g bytes", median, least)
	}
}

// TestUnit: an engine that keeps each row by itself has no larger partitions.
func TestUnit(t *testing.T) {
	f := made(t, bare(3))
	for _, g := range f.Tables[0].Groups {
		if g.Each == "message" {
			if p := g.Quantile(1, 0); p.Rows != 1 || p.Bytes != 31+10 || g.Count(0) != 30 {
				t.Errorf("%g rows, the largest of %g bytes with %g rows", g.Count(0), p.Bytes, p.Rows)
			}
			return
		}
	}
	t.Error("no rows of single messages")
}

// TestOutside: content larger than a threshold is a file of a store, and no row, if the parameter names one.
func TestOutside(t *testing.T) {
	text := strings.NewReplacer(
		"bytes: 20}", "bytes: 20, outside: kept, above: 40}",
		"tables:", "parameters: {kept: {default: db, enum: [db, files], description: where}}\ntables:",
	).Replace(schema)
	of := func(values map[string]int) *Report {
		s, err := parsed(t, text).With(values)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Make(s, people(), bare(0))
		if err != nil {
			t.Fatal(err)
		}
		return f.Report(people(), 1, []float64{0, 2})
	}
	in, out := of(nil), of(map[string]int{"kept": 2})
	if diff := cmp.Diff(made(t, bare(0)).Report(people(), 1, []float64{0, 2}), in); diff != "" {
		t.Errorf("a store that is not chosen changes the forecast (-want +got):\n%s", diff)
	}
	// Half of 30 messages have 50 bytes, which are a file; those of 30 bytes are rows of 20 and of 10. Two
	// recipients share a message, so that half of the deliveries are stored.
	want := []OutsideReport{{Store: "files", Files: []float64{15, 30}, Bytes: []float64{15 * 50, 30 * 50}}}
	if diff := cmp.Diff(want, out.Outside); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{2 * 15, 2 * 30}, out.Tables[1].Rows); diff != "" {
		t.Errorf("rows of messages that are in the table (-want +got):\n%s", diff)
	}
	var b strings.Builder
	if err := out.WriteText(&b); err != nil || !strings.Contains(b.String(), "files in files") {
		t.Errorf("%v; no line of files in\n%s", err, &b)
	}
}

// TestLimits: the day on which each limit is passed, by whom.
func TestLimits(t *testing.T) {
	day := 1.0 / 365
	// The largest folder has 22 + 20 × 30 bytes in 21 rows at the start, and in each year
	// 15 × 30 bytes in 15 rows more; the median half of that. No other folder passes a limit.
	type passing struct {
		Limit, Table          string
		Median, P999, Largest *float64
	}
	at := func(years float64) *float64 { return &years }
	var got []passing
	for _, p := range made(t, bare(0)).Limits(3) {
		got = append(got, passing{p.Limit, p.Table, p.Median, p.P999, p.Largest})
	}
	want := []passing{
		{"partition over 600 bytes", "inbox", at((600.0 - 322) / 225), at(0), at(0)},
		{"partition over 1 KB", "inbox", nil, at(378.0 / 450), at(378.0 / 450)},
		{"partition over 30 rows", "inbox", at(19 / 7.5), at(9.0 / 15), at(9.0 / 15)},
	}
	near := cmp.Comparer(func(a, b float64) bool { return a == b || a > 0 && b > 0 && math.Abs(a-b) <= 2*day })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestReport holds the text, and the JSON, of a forecast to the written ones.
func TestReport(t *testing.T) {
	p := people()
	r := made(t, bare(0)).Report(p, 2, []float64{0, 1, 3})
	r.Engine, r.Workload = "bare", "people"
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	if err := e.Encode(r); err != nil {
		t.Fatal(err)
	}
	const file = "testdata/report.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("the report differs from %s (-want +got); rewrite it with -update if it is right:\n%s", file, diff)
	}
}

// TestImpossible: an error says why no forecast can be made.
func TestImpossible(t *testing.T) {
	s := parsed(t, schema)
	for want, make := range map[string]func() error{
		"no users":  func() error { _, err := Make(s, &Population{}, bare(0)); return err },
		"no sample": func() error { _, err := Make(s, &Population{Users: [][]int32{{1}}}, bare(0)); return err },
		"s.yaml:5:3: no table of schema s declares its rows": func() error {
			_, err := Make(parsed(t, "\nschema: 1\nname: s\ntables:\n  t: {partition: [k text]}\n"), people(), bare(0))
			return err
		},
	} {
		if err := make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want an error with %q", err, want)
		}
	}
}

// TestMost: rows beyond a most go to further partitions, of which the last is full in part.
func TestMost(t *testing.T) {
	text := strings.Replace(schema, "partition: folder\n", "partition: folder\n        max: 8\n", 1)
	f, err := Make(parsed(t, text), people(), bare(0))
	if err != nil {
		t.Fatal(err)
	}
	g := f.Tables[0].Groups[0]
	// Folders of 10, 20 and 0 messages: 8 + 2, 8 + 8 + 4, and none. Each partition has a title.
	if n := g.Count(0); n != 2+3+1 {
		t.Errorf("%g partitions, want 6", n)
	}
	if p := g.Quantile(1, 0); math.Abs(p.Rows-9) > 1e-9 || math.Abs(p.Bytes-(8*30+22)) > 1e-9 {
		t.Errorf("the largest has %g rows and %g bytes, want 9 and 262", p.Rows, p.Bytes)
	}
	if p := g.Quantile(1, 100); math.Abs(p.Rows-9) > 1e-9 {
		t.Errorf("after 100 years the largest has %g rows, want 9", p.Rows)
	}
	rows, partitions, tombstones := sums(f.Tables[0], 2)
	allRows, all, allTombstones := sums(made(t, bare(0)).Tables[0], 2)
	if math.Abs(rows-allRows-(partitions-all)) > 1e-6 || partitions <= 3 || math.Abs(tombstones-allTombstones) > 1e-6 {
		t.Errorf("%g rows in %g partitions and %g tombstones with a most, %g in %g and %g without: messages and tombstones "+
			"must be the same", rows, partitions, tombstones, allRows, all, allTombstones)
	}
}

// sums adds up the partitions of a table after some years.
func sums(t *Table, years float64) (rows, partitions, tombstones float64) {
	for _, g := range t.Groups {
		g.each(years, func(p Part, times float64) {
			partitions += times
			tombstones += times * p.Tombstones
		})
	}
	return t.At(years).Rows, partitions, tombstones
}
