package reports

import (
	"testing"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas"
)

// asked is an operation that asked so much of the store, by these patterns.
func asked(store results.StoreCost, ran ...results.PatternCalls) results.Op {
	return results.Op{Count: 1000, Support: results.Native, Store: store, Patterns: ran, Response: results.Latency{P50: 100}}
}

// slow has times that four trials tell apart from those of asked.
func slow(o results.Op) results.Op {
	o.Response.P50 = 1000
	return o
}

func TestWhy(t *testing.T) {
	one := func(name string) results.PatternCalls { return results.PatternCalls{Name: name, Calls: 1} }
	sameCalls := results.StoreCost{Calls: 1, RowsRead: 4, BytesRead: 100}
	for _, tc := range []struct {
		name   string
		ops    map[string]results.Op // by model
		trials int
		want   string
	}{
		{"content in rows", map[string]results.Op{
			"james":  asked(results.StoreCost{Calls: 1, RowsRead: 20, BytesRead: 499}, one("page")),
			"oracle": asked(results.StoreCost{Calls: 1, RowsRead: 20, BytesRead: 160_000}, one("inbox_by_id")),
		}, 1, "james reads 499B, oracle 160KB: its pattern inbox_by_id reads a message's body with every row"},
		{"pieces", map[string]results.Op{
			"james":  asked(results.StoreCost{Calls: 2, RowsRead: 2, BytesRead: 90_000}, one("message"), one("chunk")),
			"oracle": asked(results.StoreCost{Calls: 1, RowsRead: 1, BytesRead: 8000}, one("message")),
		}, 1, "oracle reads 8.00KB, james 90.0KB: its pattern chunk reads pieces of a whole message"},
		{"a pattern that nobody knows", map[string]results.Op{
			"james":  asked(results.StoreCost{Calls: 1, RowsRead: 20, BytesRead: 499}, one("page")),
			"oracle": asked(results.StoreCost{Calls: 1, RowsRead: 20, BytesRead: 160_000}, one("mailbox")),
		}, 1, "james reads 499B, oracle 160KB"},
		{"all rows of a folder", map[string]results.Op{
			"datastax": asked(results.StoreCost{Calls: 1, RowsRead: 1, BytesRead: 9}, one("unread_of")),
			"oracle":   asked(results.StoreCost{Calls: 1, RowsRead: 33, BytesRead: 297}, one("numbers")),
		}, 1, "datastax reads 1 row, oracle 33: its pattern numbers reads all rows of users.folder.message by userID, folderId"},
		{"a message is several rows", map[string]results.Op{
			"elasticinbox": asked(results.StoreCost{Calls: 1, RowsWritten: 230, BytesWritten: 500}, one("store")),
			"james":        asked(results.StoreCost{Calls: 1, RowsWritten: 2, BytesWritten: 500}, one("append")),
		}, 1, "james writes 2 rows, elasticinbox 230: its pattern column_put writes several rows of MessageMetadata.columns for each message, " +
			"its pattern index_put writes several rows of IndexLabels for each message"},
		{"calls", map[string]results.Op{
			"datastax": asked(results.StoreCost{Calls: 5.5}, results.PatternCalls{Name: "counters", Calls: 3}, one("index"), one("put_email"), results.PatternCalls{Name: "put_chunks", Calls: 0.5}),
			"oracle":   asked(results.StoreCost{Calls: 1}, one("deliver")),
			"james":    asked(results.StoreCost{Calls: 1}, one("append")),
		}, 1, "james and oracle make 1 call, datastax 5.50 (counters 3×, index, put_email, put_chunks 0.50×)"},
		{"reads against writes", map[string]results.Op{
			"datastax": asked(results.StoreCost{Calls: 1, RowsWritten: 1}, one("set_read")),
			"james":    asked(results.StoreCost{Calls: 1, RowsRead: 500}, one("unread")),
		}, 1, "datastax writes 1 row, james reads 500 rows: its pattern unread reads all rows of JAMES_MESSAGES by mailbox"},
		{"no difference", map[string]results.Op{"james": asked(sameCalls), "oracle": asked(sameCalls)}, 1, ""},
		{"times that calls explain", map[string]results.Op{
			"james":  asked(results.StoreCost{Calls: 1}, one("page")),
			"oracle": slow(asked(results.StoreCost{Calls: 4}, one("inbox"), results.PatternCalls{Name: "message", Calls: 3})),
		}, 4, "james makes 1 call (page), oracle 4 (message 3×, inbox)"},
		{"times that a scan explains", map[string]results.Op{
			"james":  slow(asked(sameCalls, one("mailboxes_of"))),
			"oracle": asked(sameCalls, one("folders")),
		}, 4, "james: its pattern mailboxes_of scans all of JAMES_MAILBOXES, and rows that it drops are not counted"},
		{"times that a comparison explains", map[string]results.Op{
			"james":  slow(asked(sameCalls, one("claim"))),
			"oracle": asked(sameCalls, one("put_message")),
		}, 4, "james: its pattern claim compares before it writes"},
		{"times that nothing explains", map[string]results.Op{
			"james":  slow(asked(sameCalls, one("page"))),
			"oracle": asked(sameCalls, one("inbox")),
		}, 4, "calls, rows and bytes do not say why james takes longer than oracle"},
	} {
		r := &results.Run{}
		for _, model := range []string{"datastax", "elasticinbox", "james", "oracle"} {
			s, err := schemas.Bundled(model)
			if err != nil {
				t.Fatal(err)
			}
			r.Schemas = append(r.Schemas, results.Schema{Model: model, Text: string(s.Source)})
			for n := range tc.trials {
				if op, ok := tc.ops[model]; ok {
					r.Cells = append(r.Cells, trial(model, n+1, results.OK, map[string]results.Op{"list": op}))
				}
			}
		}
		if got := OverviewOf(r).Parts[0].Rows[0].Why; got != tc.want {
			t.Errorf("%s:\n%s, want\n%s", tc.name, got, tc.want)
		}
	}
}

// One model on two engines asks the same of both.
func TestWhyOfEngines(t *testing.T) {
	r := &results.Run{}
	for n := range 4 {
		fast := trial("james", n+1, results.OK, map[string]results.Op{"list": asked(results.StoreCost{Calls: 1})})
		far := trial("james", n+1, results.OK, map[string]results.Op{"list": slow(asked(results.StoreCost{Calls: 1}))})
		far.Engine = "hbase"
		r.Cells = append(r.Cells, fast, far)
	}
	row := OverviewOf(r).Parts[0].Rows[0]
	if got, want := row.Why, "the model asks the same of both engines"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A run whose schema cannot be read any more still says what was counted.
func TestWhyWithoutSchema(t *testing.T) {
	r := &results.Run{
		Schemas: []results.Schema{{Model: "james", Text: "tables: []"}},
		Cells: []results.Cell{
			trial("james", 1, results.OK, map[string]results.Op{"list": asked(results.StoreCost{Calls: 1, BytesRead: 160_000}, results.PatternCalls{Name: "page", Calls: 1})}),
			trial("oracle", 1, results.OK, map[string]results.Op{"list": asked(results.StoreCost{Calls: 1, BytesRead: 500}, results.PatternCalls{Name: "inbox", Calls: 1})}),
		},
	}
	if got, want := OverviewOf(r).Parts[0].Rows[0].Why, "oracle reads 500B, james 160KB"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
