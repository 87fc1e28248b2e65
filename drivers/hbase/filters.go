package hbase

import (
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
)

// The filters of HBase that the driver uses. A filter is the name of its class and a message
// of that class.

const filterPackage = "org.apache.hadoop.hbase.filter."

var (
	rangeClass     = filterPackage + "ColumnRangeFilter"
	qualifierClass = filterPackage + "QualifierFilter"
	rowsClass      = filterPackage + "MultiRowRangeFilter"
	prefixesClass  = filterPackage + "MultipleColumnPrefixFilter"
	listClass      = filterPackage + "FilterList"
	columnClass    = filterPackage + "SingleColumnValueFilter"
	valueClass     = filterPackage + "ValueFilter"
	keyClass       = filterPackage + "KeyOnlyFilter"
	firstClass     = filterPackage + "FirstKeyOnlyFilter"
	binaryClass    = filterPackage + "BinaryComparator"
)

// newFilter returns a filter of a class. Marshal cannot fail: the message has only bytes and
// numbers.
func newFilter(class *string, m proto.Message) *pb.Filter {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return &pb.Filter{Name: class, SerializedFilter: b}
}

// columnRange lets cells pass with first <= qualifier < last. A nil end means no bound.
func columnRange(first, last []byte) *pb.Filter {
	return newFilter(&rangeClass, &pb.ColumnRangeFilter{
		MinColumn: first, MinColumnInclusive: yes, MaxColumn: last, MaxColumnInclusive: proto.Bool(false),
	})
}

// wantedRanges lets the cells of the wanted columns pass. For a collection these are
// its own cell and the elements after it.
func wantedRanges(want []wanted, marker bool) *pb.Filter {
	var ranges []*pb.Filter
	if marker {
		ranges = append(ranges, columnRange(nil, []byte(markerName+"\x00")))
	}
	for _, w := range want {
		last := append([]byte(w.name), 0)
		if w.typ.Collection() {
			last[len(w.name)] = elements + 1
		}
		ranges = append(ranges, columnRange([]byte(w.name), last))
	}
	return anyOf(ranges)
}

// wantedNames lets the same cells pass as wantedRanges. It is for scans that read rows
// backwards: there a list of range filters drops cells, because each range filter remembers
// where to continue and expects rows in ascending order.
func wantedNames(want []wanted, marker bool) *pb.Filter {
	var ranges []*pb.Filter
	if marker {
		ranges = append(ranges, qualifierIs(pb.CompareType_EQUAL, []byte(markerName)))
	}
	for _, w := range want {
		if !w.typ.Collection() {
			ranges = append(ranges, qualifierIs(pb.CompareType_EQUAL, []byte(w.name)))
			continue
		}
		last := append([]byte(w.name), elements+1)
		ranges = append(ranges, allOf(qualifierIs(pb.CompareType_GREATER_OR_EQUAL, []byte(w.name)),
			qualifierIs(pb.CompareType_LESS, last)))
	}
	return anyOf(ranges)
}

// qualifierIs lets cells pass whose qualifier compares with the given one as how says.
func qualifierIs(how pb.CompareType, qualifier []byte) *pb.Filter {
	return newFilter(&qualifierClass, &pb.QualifierFilter{CompareFilter: &pb.CompareFilter{
		CompareOp: how.Enum(), Comparator: equalTo(qualifier),
	}})
}

// columnPrefixes lets cells pass whose qualifier begins with one of prefixes.
func columnPrefixes(prefixes [][]byte) *pb.Filter {
	return newFilter(&prefixesClass, &pb.MultipleColumnPrefixFilter{SortedPrefixes: prefixes})
}

// rowRanges lets rows pass that are in one of the ranges, which are in the order of keys.
func rowRanges(ranges []*pb.RowRange) *pb.Filter {
	return newFilter(&rowsClass, &pb.MultiRowRangeFilter{RowRangeList: ranges})
}

func anyOf(fs []*pb.Filter) *pb.Filter { return list(pb.FilterList_MUST_PASS_ONE, fs) }

// allOf lets cells pass that all filters let pass; nil is a filter that lets all pass.
func allOf(fs ...*pb.Filter) *pb.Filter {
	var some []*pb.Filter
	for _, f := range fs {
		if f != nil {
			some = append(some, f)
		}
	}
	switch len(some) {
	case 0:
		return nil
	case 1:
		return some[0]
	}
	return list(pb.FilterList_MUST_PASS_ALL, some)
}

func list(op pb.FilterList_Operator, fs []*pb.Filter) *pb.Filter {
	return newFilter(&listClass, &pb.FilterList{Operator: &op, Filters: fs})
}

// columnIs lets rows pass whose column has the value, or none if it is null.
func columnIs(family, column string, v drivers.Value) *pb.Filter {
	value := []byte(escapeNever) // no column has this value, so rows that have the column do not pass
	if !v.IsNull() {
		value = appendValue(nil, v)
	}
	return newFilter(&columnClass, &pb.SingleColumnValueFilter{
		ColumnFamily: []byte(family), ColumnQualifier: []byte(column),
		CompareOp: pb.CompareType_EQUAL.Enum(), Comparator: equalTo(value),
		FilterIfMissing: proto.Bool(!v.IsNull()), LatestVersionOnly: yes,
	})
}

// valueIs lets cells pass that have the value.
func valueIs(v drivers.Value) *pb.Filter {
	return newFilter(&valueClass, &pb.ValueFilter{CompareFilter: &pb.CompareFilter{
		CompareOp: pb.CompareType_EQUAL.Enum(), Comparator: equalTo(appendValue(nil, v)),
	}})
}

// keysOnly drops the values of cells.
func keysOnly() *pb.Filter {
	return newFilter(&keyClass, &pb.KeyOnlyFilter{LenAsVal: proto.Bool(false)})
}

// firstOnly lets the first cell of each row pass.
func firstOnly() *pb.Filter { return newFilter(&firstClass, &pb.FirstKeyOnlyFilter{}) }

// equalTo compares with bytes.
func equalTo(value []byte) *pb.Comparator {
	b, err := proto.Marshal(&pb.BinaryComparator{Comparable: &pb.ByteArrayComparable{Value: value}})
	if err != nil {
		panic(err) // bytes can always be written
	}
	return &pb.Comparator{Name: &binaryClass, SerializedComparator: b}
}
