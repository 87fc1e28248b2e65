package hbase

import (
	"slices"

	"github.com/tsuna/gohbase/filter"
	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
)

// must returns a filter as a request has it. Marshaling cannot fail: the message has only bytes and numbers.
func must(f filter.Filter) *pb.Filter {
	m, err := f.ConstructPBFilter()
	if err != nil {
		panic(err)
	}
	return m
}

// columnRange lets cells pass with first <= qualifier < last. An empty end means no bound.
func columnRange(first, last []byte) *pb.Filter {
	first, last = append([]byte(nil), first...), append([]byte(nil), last...)
	return must(filter.NewColumnRangeFilter(first, last, true, false))
}

// wantedCells lets the cells of the wanted columns pass. For a collection these are
// its own cell and the elements after it. For scans that read rows backwards a list of range filters would drop
// cells, because each range filter remembers where to continue and expects rows in ascending order.
func wantedCells(want []*wanted, marker, backward bool) *pb.Filter {
	var some []*pb.Filter
	between := func(first string, end byte) {
		last := append([]byte(first), end)
		if backward {
			some = append(some, allOf(qualifierIs(filter.GreaterOrEqual, []byte(first)), qualifierIs(filter.Less, last)))
		} else {
			some = append(some, columnRange([]byte(first), last))
		}
	}
	if marker {
		between(markerName, 0)
	}
	for _, w := range want {
		end := byte(0)
		if w.typ.Collection() {
			end = elements + 1
		}
		between(w.name, end)
	}
	return list(filter.MustPassOne, some)
}

// qualifierIs lets cells pass whose qualifier compares with the given one as how says.
func qualifierIs(how filter.CompareType, qualifier []byte) *pb.Filter {
	return must(filter.NewQualifierFilter(filter.NewCompareFilter(how, bytesOf(qualifier))))
}

// allOf lets cells pass that all filters let pass; nil is a filter that lets all pass.
func allOf(fs ...*pb.Filter) *pb.Filter {
	some := slices.DeleteFunc(fs, func(f *pb.Filter) bool { return f == nil })
	switch len(some) {
	case 0:
		return nil
	case 1:
		return some[0]
	}
	return list(filter.MustPassAll, some)
}

func list(how filter.ListOperator, fs []*pb.Filter) *pb.Filter {
	return must(&filter.List{Operator: pb.FilterList_Operator(how).Enum(), Filters: fs})
}

// columnIs lets rows pass whose column has the value, or none if it is null.
func columnIs(family, column string, v drivers.Value) *pb.Filter {
	value := []byte(escapeNever) // no column has this value, so rows that have the column do not pass
	if !v.IsNull() {
		value = appendValue(nil, v)
	}
	return must(filter.NewSingleColumnValueFilter([]byte(family), []byte(column), filter.Equal, bytesOf(value),
		!v.IsNull(), true))
}

// valueIs lets cells pass that have the value.
func valueIs(v drivers.Value) *pb.Filter {
	return must(filter.NewValueFilter(filter.NewCompareFilter(filter.Equal, bytesOf(appendValue(nil, v)))))
}

// firstOnly lets the first cell of each row pass.
func firstOnly() *pb.Filter { return must(filter.NewFirstKeyOnlyFilter()) }

// keysOnly drops the values of cells.
func keysOnly() *pb.Filter { return must(filter.NewKeyOnlyFilter(false)) }

// bytesOf compares with bytes.
func bytesOf(value []byte) *filter.BinaryComparator {
	return filter.NewBinaryComparator(filter.NewByteArrayComparable(value))
}
