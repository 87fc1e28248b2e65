package reports

import (
	"strings"
	"testing"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads/results"
)

// TestAdditions: requests of added patterns and tables are reported by model, and half of a batch whose
// second part is about an added table. A value in an extended form is no request of an extension.
func TestAdditions(t *testing.T) {
	r := &results.Run{Config: results.Config{Models: []string{"datastax", "oracle", "elasticinbox"}}}
	for _, model := range r.Config.Models {
		s, err := schemas.Bundled(model)
		if err != nil {
			t.Fatal(err)
		}
		r.Schemas = append(r.Schemas, results.Schema{Model: model, Text: string(s.Source)})
	}
	cell := func(model string, ran ...results.PatternRequests) results.Cell {
		return results.Cell{
			Key: results.Key{Model: model, Engine: "embedded"}, Kind: results.KindMeasure,
			Ops: map[string]results.Op{"deliver": {Count: 10, Patterns: ran, Store: results.StoreCost{BytesRead: 60, BytesWritten: 40, BytesAdded: 3}}},
		}
	}
	r.Cells = []results.Cell{
		cell("datastax", results.PatternRequests{Name: "put_email", Requests: 1}, results.PatternRequests{Name: "counters", Requests: 2},
			results.PatternRequests{Name: "current_label", Requests: 1}),
		cell("oracle", results.PatternRequests{Name: "deliver", Requests: 1}),
		cell("elasticinbox", results.PatternRequests{Name: "blocks_put", Requests: 3}, results.PatternRequests{Name: "size_put", Requests: 1}),
	}
	const want = "share of requests and bytes that the source design does not have: datastax 50%/3% (counters, current_label), oracle 0%/3%, elasticinbox 25%/3% (size_put). " +
		"Added columns count as bytes only"
	if got := newExplainer(r).additions(r); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
	for _, want := range []string{want} {
		if md := writtenOf(t, r, writeMarkdown); !strings.Contains(strings.ReplaceAll(md, "\\", ""), want) {
			t.Errorf("no %q in the Markdown:\n%s", want, md)
		}
	}
	r.Cells = r.Cells[1:2]
	r.Cells[0].Ops["deliver"] = results.Op{Count: 10, Patterns: []results.PatternRequests{{Name: "deliver", Requests: 1}}}
	if got := newExplainer(r).additions(r); got != "" {
		t.Errorf("no additions: %q", got)
	}
}
