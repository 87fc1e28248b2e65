package hbase

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
)

// compiled compiles the patterns of a schema, by name.
func compiled(t *testing.T, source string) map[string]*statement {
	t.Helper()
	s := parse(t, source)
	compile, err := compilerOf(s, drivers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]*statement)
	for _, p := range s.Patterns {
		st, err := compile(p)
		if err != nil {
			t.Fatal(err)
		}
		all[p.Name] = st.(*statement)
	}
	return all
}

// TestBounds: a range has the keys from its first to its last value, with each of them unless
// the end is open, in ascending and descending columns, in rows and in cells of a wide row.
func TestBounds(t *testing.T) {
	source := `
schema: 1
name: bounds
tables:
  up: {partition: [p text], clustering: [k int], columns: {a: text, b: text}}
  down: {partition: [p text], clustering: [k int desc], columns: {a: text, b: text}}
  cells: {partition: [p text], clustering: [k int], columns: {v: text}}
  flipped: {partition: [p text], clustering: [k int], columns: {v: text}, hints: {hbase: {order: reversed}}}
  deep: {partition: [p text], clustering: [k int, n int], columns: {a: text, b: text}}
patterns:
`
	tables, kinds := []string{"up", "down", "cells", "flipped", "deep"}, []string{"", " open"}
	for _, table := range tables {
		for i, from := range kinds {
			for k, to := range kinds {
				source += fmt.Sprintf("  %s%d%d: {slice: %s, by: p, from: k%s, to: k%s, columns: k}\n", table, i, k, table, from, to)
			}
		}
	}
	patterns := compiled(t, source)
	values := []int32{math.MinInt32, -1, 0, 1, math.MaxInt32}
	ends := []drivers.Value{{}}
	for _, v := range values {
		ends = append(ends, drivers.Int(v))
	}
	for name, st := range patterns {
		tb, p := st.table, drivers.Text("p")
		parts, fixed := tb.row, []drivers.Value{p}
		if tb.wide {
			parts, fixed = tb.rest, nil
		}
		fromOpen, toOpen := st.Pattern().From.Open, st.Pattern().To.Open
		for _, from := range ends {
			for _, to := range ends {
				var b plan.Range
				if err := b.Set(&st.Plan, parts, fixed, []drivers.Value{p, from, to}, st.backward); err != nil {
					t.Fatal(err)
				}
				for _, v := range values {
					key := slices.Concat(fixed, []drivers.Value{drivers.Int(v), drivers.Int(7)})
					k, err := parts.Append(nil, 0, key[:len(parts)])
					if err != nil {
						t.Fatal(err)
					}
					got := !b.Empty && bytes.Compare(k, b.Lower) >= 0 && (len(b.Upper) == 0 || bytes.Compare(k, b.Upper) < 0)
					want := (from.IsNull() || int64(v) > from.Int64() || int64(v) == from.Int64() && !fromOpen) &&
						(to.IsNull() || int64(v) < to.Int64() || int64(v) == to.Int64() && !toOpen)
					if got != want {
						t.Errorf("%s from %v to %v: has %d: %t, want %t", name, from, to, v, got, want)
					}
				}
			}
		}
	}
}

// TestConditions pins the comparisons of HBase. A row that is absent is null in all its columns,
// so that a comparison with nulls alone also holds of it.
func TestConditions(t *testing.T) {
	patterns := compiled(t, `
schema: 1
name: conditions
tables:
  rows: {partition: [p text], clustering: [k int], columns: {a: text, n: text}}
  cells: {partition: [p text], clustering: [k int], columns: {v: text}}
patterns:
  one: {put-if: rows, columns: a, if: n}
  two: {put-if: rows, columns: a, if: [a, n]}
  row_absent: {put-if: rows, if: absent}
  cell: {put-if: cells, columns: v, if: v}
  cell_absent: {put-if: cells, if: absent}
  put: {put: rows}
  put_cell: {put: cells}
`)
	null, x := drivers.Value{}, drivers.Text("x")
	for _, c := range []struct {
		pattern string
		args    []drivers.Value // after the key
		want    string          // the cells compared, "-" for one that must be absent
	}{
		{"one", []drivers.Value{x, x}, "n=x"},
		{"one", []drivers.Value{x, null}, "n=-"}, // of a row without the column, or no row
		{"two", []drivers.Value{x, x, x}, "filter"},
		{"two", []drivers.Value{x, x, null}, "filter"},
		{"two", []drivers.Value{x, null, null}, "filter, row=-"},
		{"row_absent", []drivers.Value{x, x}, "row=-"},
		{"cell", []drivers.Value{x, x}, "cell=x"},
		{"cell", []drivers.Value{x, null}, "cell=null, cell=-"},
		{"cell_absent", []drivers.Value{x}, "cell=-"},
		{"put", []drivers.Value{x, x}, ""},
		{"put_cell", []drivers.Value{x}, ""},
	} {
		st := patterns[c.pattern]
		args := append([]drivers.Value{drivers.Text("p"), drivers.Int(1)}, c.args...)
		own, err := st.step(args)
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, one := range own.conditions {
			name := string(one.Qualifier)
			switch {
			case len(one.ProtoReflect().GetUnknown()) > 0:
				words = append(words, "filter")
				continue
			case name == markerName:
				name = "row"
			case st.table.wide:
				name = "cell"
			}
			var with pb.BinaryComparator
			if err := proto.Unmarshal(one.Comparator.SerializedComparator, &with); err != nil {
				t.Fatal(err)
			}
			value := string(with.Comparable.Value)
			switch value {
			case "":
				value = "-"
			case escapeNull:
				value = "null"
			}
			words = append(words, name+"="+value)
		}
		if got := strings.Join(words, ", "); got != c.want {
			t.Errorf("%s %v: compares %q, want %q", c.pattern, c.args, got, c.want)
		}
	}
}

// TestView: a read of all columns requests the family, one of some columns names them, and one of a collection the
// beginnings of its elements' qualifiers.
func TestView(t *testing.T) {
	all := compiled(t, `
schema: 1
name: view
tables:
  mail: {partition: [p text], columns: {b: text, a: "set<text>", n: bigint}}
patterns:
  whole: {get: mail, by: p}
  plain: {get: mail, by: p, columns: b}
  elements: {get: mail, by: p, columns: [b, a]}
`)
	for pattern, want := range map[string][2]string{
		"whole": {"[]", "[]"}, "plain": {`["\x00" "b"]`, "[]"}, "elements": {"[]", `["\x00" "a" "b"]`},
	} {
		scan, prefixes := all[pattern].view.scan, new(pb.MultipleColumnPrefixFilter)
		if err := proto.Unmarshal(scan.Filter.GetSerializedFilter(), prefixes); err != nil {
			t.Fatal(err)
		}
		got := [2]string{fmt.Sprintf("%q", scan.Columns[0].Qualifier), fmt.Sprintf("%q", prefixes.SortedPrefixes)}
		if got != want {
			t.Errorf("%s requests %q, want %q", pattern, got, want)
		}
	}
}
