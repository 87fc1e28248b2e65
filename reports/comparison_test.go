package reports

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads/results"
)

// comparison is a run of five models, four trials each, as a user makes one to choose
// between them. Counts are those of a real run; times are made up.
func comparison(t *testing.T) *results.Run {
	t.Helper()
	type figures struct {
		p50     int64
		store   results.StoreCost
		ran     []results.PatternRequests
		missing string
	}
	ran := func(names ...string) (all []results.PatternRequests) {
		for _, n := range names {
			all = append(all, results.PatternRequests{Name: n, Requests: 1})
		}
		return all
	}
	read := func(calls, rows, bytes float64) results.StoreCost {
		return results.StoreCost{Requests: calls, RowsScanned: &rows, RowsRead: rows, BytesRead: bytes}
	}
	written := func(calls, rows, bytes float64) results.StoreCost {
		return results.StoreCost{Requests: calls, RowsWritten: rows, BytesWritten: bytes}
	}
	scanned := func(s results.StoreCost, examined float64) results.StoreCost {
		s.RowsScanned = &examined
		return s
	}
	models := []string{"elasticinbox", "james", "datastax", "oracle", "conversation"}
	ops := map[string][]figures{
		"list": {
			{451_000, read(2, 204, 9740), ran("index_page", "messages"), ""},
			{155_000, read(1, 20, 505), ran("page"), "from, subject"},
			{161_000, read(1, 20, 1490), ran("page"), "size"},
			{628_000, read(1, 20, 160_000), ran("inbox"), ""},
			{663_000, read(1, 20, 156_000), ran("newest"), "subject, size"},
		},
		"deliver": {
			{3_580_000, written(4.63, 25.9, 40_300), ran("blocks_put", "store", "counts"), ""},
			{6_170_000, written(4.56, 6.1, 38_900), ran("next_uid", "append", "count"), ""},
			{4_230_000, written(5.52, 6, 20_800), ran("put_email", "index", "counters"), ""},
			{1_000_000, written(1.52, 1.52, 32_100), ran("deliver"), ""},
			{814_000, written(1.52, 1.52, 36_900), ran("posts"), ""},
		},
		"login": {
			{144_000, read(1, 5, 62), ran("account"), ""},
			{563_000, scanned(read(1, 4, 118), 4000), ran("mailboxes_of"), ""},
			{148_000, read(1, 4, 47), ran("any_folder"), ""},
			{302_000, scanned(read(2, 5, 58), 1004), ran("scan_by_address", "folders"), ""},
			{143_000, read(1, 4, 90), ran("any_conversation"), ""},
		},
		"purge": {{997_000, read(3.29, 12, 599), ran("purge_page"), ""}, {}, {}, {}, {}},
	}
	r := &results.Run{
		Format: results.Format, Seed: 1, Started: "2026-11-22T04:48:54Z", Seconds: 412, Workload: results.Workload{Name: "mine"},
		Environment: results.Environment{Version: "v0.2.0", Go: "go1.26.8", OS: "linux", Arch: "amd64", CPU: "AMD EPYC", CPUs: 16, Memory: 64e9, Disk: "ext4"},
	}
	for n := 1; n <= 4; n++ {
		for i, model := range models {
			all := map[string]results.Op{}
			for op, of := range ops {
				f, count := of[i], map[string]int64{"list": 20_000, "deliver": 5000, "login": 400, "purge": 20}[op]
				if f.p50 == 0 {
					all[op] = results.Op{Support: results.NotOffered}
					continue
				}
				ns := f.p50 * int64(95+2*n) / 100
				lat := results.Latency{P50: ns, P90: 2 * ns, P99: 4 * ns, P999: 11 * ns, Max: 20 * ns, Mean: float64(ns)}
				var quantiles []int64
				for _, share := range results.QuantileShares { // 0.2 to 4 times the median
					quantiles = append(quantiles, int64(float64(ns)*math.Exp(math.Log(5)*(2*share-1)*share)))
				}
				o := results.Op{Quantiles: quantiles, Count: count, Support: results.Native, Missing: f.missing, Rate: float64(count) / 60, Times: results.Times{Response: lat, Service: lat}, Store: f.store, Patterns: f.ran}
				if op == "login" && model == "oracle" {
					o.Support, o.Fallback = results.EmulatedOp, "user_by_address"
				}
				all[op] = o
			}
			c := trial(model, n, results.OK, all)
			c.Offered, c.Doubts = &results.Offered{Due: 26_000, Rate: 424, Achieved: 424}, []results.Doubt{{Code: "shared-machine", Text: "shared machine: engine and client run in one process"}}
			if model == "datastax" && n == 3 {
				c.Doubts = append(c.Doubts, results.Doubt{Code: "not-warm", Text: "not warm: the warm-up had not become steady in the time allowed"})
			}
			load := trial(model, n, results.OK, map[string]results.Op{"deliver": {Count: 5636, Support: results.Native, Rate: 5912, Times: results.Times{Response: results.Latency{P50: 36_700, P99: 186_000, P999: 247_000_000}}, Store: ops["deliver"][i].store}})
			load.Phase, load.Kind, load.Arrivals, load.Rate = "load", results.KindLoad, "none", 0
			mail := results.Evidence{Settled: true, Copies: 5636, MailBytes: 5636 * 23_700}
			load.Evidence, load.Before = &mail, &results.EngineInfo{}
			settle := results.Cell{Key: c.Key, Kind: results.KindSettle, Verdict: results.OK, Evidence: &mail}
			settle.Phase, settle.Engines = "settle", &results.EngineInfo{DiskBytes: int64(5636*26_700 + i*20_000_000), LogBytes: 0}
			c.Client = &results.ClientInfo{CPUSeconds: 20 + float64(i+n)}
			r.Cells = append(r.Cells, load, settle, c)
		}
	}
	for _, model := range models {
		s, err := schemas.Bundled(model)
		if err != nil {
			t.Fatal(err)
		}
		r.Schemas = append(r.Schemas, results.Schema{Model: model, Text: string(s.Source)})
	}
	return r
}

func TestComparisonIsAsItWas(t *testing.T) {
	for _, width := range []int{60, 80, 100, 160} {
		var buf bytes.Buffer
		if err := writeText(&buf, comparison(t), width); err != nil {
			t.Fatal(err)
		}
		golden(t, fmt.Sprintf("comparison-%d.txt", width), buf.Bytes())
	}
}

// A p50 is shaded by how many times the best of its row it is.
func TestShades(t *testing.T) {
	var got []string
	for _, s := range Of(comparison(t), "").Sections {
		if s.ID != "operations" {
			continue
		}
		for _, r := range s.Table.Rows {
			for i, c := range r.Cells {
				if column := s.Table.Columns[i]; column.Title == "p50" && r.Cells[0].Text == "deliver" {
					got = append(got, fmt.Sprintf("%s %s %s", column.Group, c.Text, c.Style))
				}
			}
		}
	}
	slices.Sort(got)
	want := []string{"conversation 0.81 best", "datastax 4.23 h3", "elasticinbox 3.58 h2", "james 6.17 h3", "oracle 1.00 "}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
