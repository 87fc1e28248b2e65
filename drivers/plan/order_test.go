package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

const orderSource = `
schema: 1
name: ordered
tables:
  mail: {partition: [user text], clustering: [folder uuid, id int], static: {title: text}, columns: {size: bigint, seen: boolean}}
  other: {partition: [user text], clustering: [folder uuid, id int], columns: {size: bigint}}
patterns:
  put: {put: mail}
  size: {put: mail, columns: size}
  seen: {put: mail, columns: seen}
  title: {put: mail, static: true, columns: title}
  drop: {delete: mail, by: [user, folder, id]}
  drop_folder: {delete: mail, by: [user, folder]}
  drop_all: {delete: mail, by: user}
  elsewhere: {put: other}
  batch: {batch: [{run: put, each: x}, {run: size, each: x}, {run: seen, each: x}, {run: title, each: x},
    {run: drop, each: x}, {run: drop_folder, each: x}, {run: drop_all, each: x}, {run: elsewhere, each: x}]}
`

// TestOrderCounts: two parts are found whose order counts, and no others. A part is written as its
// pattern and its key.
func TestOrderCounts(t *testing.T) {
	s, err := schemas.Parse("ordered.yaml", []byte(orderSource))
	if err != nil {
		t.Fatal(err)
	}
	batch := s.Pattern("batch")
	mail := func(table *schemas.Table) bool { return table.Name == "mail" }
	for parts, want := range map[string]string{
		"":                                            "",
		"put u 1 1, put u 1 2, put v 1 1":             "",
		"put u 1 1, put u 1 2, put u 1 1":             "parts 1 (put) and 3 (put)",
		"size u 1 1, seen u 1 1":                      "",
		"size u 1 1, seen u 1 1, put u 1 1":           "parts 1 (size) and 3 (put)",
		"drop u 1 1, drop_folder u 1, drop_all u":     "",
		"drop u 1 1, put u 1 1":                       "parts 1 (drop) and 2 (put)",
		"put u 1 1, drop u 1 1":                       "parts 1 (put) and 2 (drop)",
		"drop u 1 1, put u 1 2, put u 2 1":            "",
		"put u 2 7, drop_folder u 1, drop_folder u 2": "parts 1 (put) and 3 (drop_folder)",
		"drop_all u, put v 1 1, put t 1 1":            "",
		"put u 9 9, title v, drop_all u":              "parts 1 (put) and 3 (drop_all)",
		"title u, drop u 1 1, put u 1 2":              "",
		"title u, drop_all u":                         "parts 1 (title) and 2 (drop_all)",
		"drop_all u, title u":                         "parts 1 (drop_all) and 2 (title)",
		"title u, put u 1 1, title u":                 "parts 1 (title) and 3 (title)",
		"elsewhere u 1 1, elsewhere u 1 1, put u 1 1": "",
	} {
		err := plan.OrderCounts(batch, callsOf(t, batch, parts), mail)
		if want != "" {
			want += " write the same row"
		}
		if got := fmt.Sprint(err); got != want && (err != nil || want != "") {
			t.Errorf("%s: %v, want %q", parts, err, want)
		}
	}
}

// callsOf reads parts as "PATTERN USER FOLDER ID, ...".
func callsOf(t *testing.T, batch *schemas.Pattern, text string) (calls []drivers.Call) {
	t.Helper()
	for part := range strings.SplitSeq(text, ", ") {
		words := strings.Fields(part)
		for i, p := range batch.Parts {
			if len(words) == 0 || p.Pattern.Name != words[0] {
				continue
			}
			args := make([]drivers.Value, len(p.Pattern.Args()))
			for k, w := range words[1:] {
				args[k] = [3]drivers.Value{drivers.Text(w), drivers.ID(schemas.UUID, [16]byte{w[0]}), drivers.Int(int32(w[0]))}[k]
			}
			calls = append(calls, drivers.Call{Part: i, Args: args})
		}
	}
	return calls
}
