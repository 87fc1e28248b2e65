package hbase

import (
	"math/rand/v2"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
)

// Field numbers of HBase's protocol that gohbase's copy of it lacks.
const (
	fieldLimitOfRows     = 11 // ScanRequest.limit_of_rows
	fieldIncludeStartRow = 21 // Scan.include_start_row
	fieldIncludeStopRow  = 22 // Scan.include_stop_row
	fieldConditionFilter = 7  // Condition.filter
)

// getCall is a Get: the cells of one row.
type getCall struct {
	request  pb.GetRequest
	get      pb.Get
	place    pb.RegionSpecifier
	response pb.GetResponse
	limit    uint32
}

// asGet makes the call a Get of a row, of at most limit cells of each family; 0 is no limit.
func (c *call) asGet(row []byte, columns []*pb.Column, filter *pb.Filter, limit uint32) {
	g := &c.get
	g.get.Row, g.get.Column, g.get.Filter, g.get.StoreLimit = row, columns, filter, nil
	if g.limit = limit; limit > 0 {
		g.get.StoreLimit = &g.limit
	}
	g.request.Get, g.request.Region = &g.get, &g.place
	c.request, c.response, c.place = &g.request, &g.response, &g.place
}

// scanCall is one step of a scan: open a scanner and fetch, fetch, or close it.
type scanCall struct {
	request  pb.ScanRequest
	scan     pb.Scan
	place    pb.RegionSpecifier
	response pb.ScanResponse

	scanner, size uint64
	rows          uint32
	reversed      bool
	metrics       bool         // HBase is to tell how many rows it reads
	counted       []*pb.Column // the columns of a scan whose rows HBase counts
	nameless      []*pb.Column // those of them that have one without a name in front
	unknown       []byte       // encoded field of the request that gohbase lacks: limit_of_rows
	cache         bool
	unknownScan   []byte // encoded fields of the scan that gohbase lacks
}

// maxResultSize bounds what one step of a scan returns, in bytes: HBase's own
// client asks for as much. A row that is larger comes in several steps.
const maxResultSize = 2 << 20

// scanRange says what a scanner reads: the rows from start to stop. An empty end means no
// bound.
type scanRange struct {
	start, stop []byte
	skipStart   bool // start is not in the range
	reversed    bool // HBase reads from the last row to the first; only then is stop in the range
	columns     []*pb.Column
	filter      *pb.Filter
	limit       uint32 // number of rows after which HBase closes the scanner; 0 is no limit
	uncached    bool   // HBase keeps the blocks that it reads out of its cache
	told        bool   // HBase tells how many rows it reads: the filter drops some of them
}

// asScan makes the call open a scanner and fetch from it. If counts, HBase tells how many rows it reads.
func (c *call) asScan(r *scanRange, counts bool) {
	s := &c.scan
	s.size, s.reversed, s.cache, s.metrics = maxResultSize, r.reversed, !r.uncached, counts
	s.scan.StartRow, s.scan.StopRow, s.scan.Column, s.scan.Filter = r.start, r.stop, r.columns, r.filter
	if counts {
		s.scan.Column = s.withNameless(r.columns)
	}
	s.scan.MaxResultSize, s.scan.Reversed, s.scan.CacheBlocks = &s.size, &s.reversed, &s.cache
	s.unknownScan = s.unknownScan[:0]
	if r.skipStart {
		s.unknownScan = appendVarint(s.unknownScan, fieldIncludeStartRow, 0)
	}
	if r.reversed && len(r.stop) > 0 {
		s.unknownScan = appendVarint(s.unknownScan, fieldIncludeStopRow, 1)
	}
	s.scan.ProtoReflect().SetUnknown(s.unknownScan)
	s.request.Scan, s.request.ScannerId, s.request.CloseScanner = &s.scan, nil, nil
	s.step(r.limit)
	c.request, c.response, c.place = &s.request, &s.response, &s.place
}

// withNameless returns the columns with one more in each family that lists its columns: one without
// a name, which no row has. A scan without it takes the row where it begins for one that it has
// read, whether there is such a row or not, if the table has files and none of them deletes that
// row (StoreFileScanner.requestSeek in HBase: a Bloom filter saves the seek, and a made-up cell
// stands in its place).
func (s *scanCall) withNameless(columns []*pb.Column) []*pb.Column {
	s.counted = s.counted[:0]
	for len(s.nameless) < len(columns) {
		s.nameless = append(s.nameless, new(pb.Column))
	}
	for i, c := range columns {
		if len(c.Qualifier) > 0 {
			n := s.nameless[i]
			n.Family, n.Qualifier = c.Family, append(append(n.Qualifier[:0], []byte{}), c.Qualifier...)
			c = n
		}
		s.counted = append(s.counted, c)
	}
	return s.counted
}

// asNext makes the call fetch from an open scanner.
func (c *call) asNext(scanner uint64, limit uint32) {
	s := &c.scan
	s.scanner = scanner
	s.request.Scan, s.request.ScannerId, s.request.CloseScanner = nil, &s.scanner, nil
	s.step(limit)
	c.request, c.response, c.place = &s.request, &s.response, &s.place
}

// asClose makes the call close a scanner.
func (c *call) asClose(scanner uint64) {
	c.asNext(scanner, 0)
	c.scan.request.CloseScanner = proto.Bool(true)
	c.scan.rows = 0
}

// maxFetch is how many rows one step fetches at most if there is no limit.
const maxFetch = 1<<31 - 1

func (s *scanCall) step(limit uint32) {
	s.unknown = s.unknown[:0]
	if s.rows = maxFetch; limit > 0 {
		s.rows = limit
		s.unknown = appendVarint(s.unknown, fieldLimitOfRows, uint64(limit))
	}
	s.request.ProtoReflect().SetUnknown(s.unknown)
	s.request.NumberOfRows, s.request.Region = &s.rows, &s.place
	s.request.ClientHandlesPartials, s.request.ClientHandlesHeartbeats = yes, yes
}

var yes = proto.Bool(true)

func appendVarint(dst []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), n)
}

// mutateCall changes one row: by one mutation (Mutate), or by several of
// different types that take effect at once or not at all (Multi with atomic).
type mutateCall struct {
	single    pb.MutateRequest
	multi     pb.MultiRequest
	region    pb.RegionAction
	actions   [3]pb.Action
	mutations [3]pb.MutationProto
	types     [3]pb.MutationProto_MutationType
	counts    [3]int32
	nonces    [3]uint64
	n         int
	place     pb.RegionSpecifier
	group     uint64

	response pb.MutateResponse
	several  pb.MultiResponse
}

// nonceGroup tells this process's nonces from those of others.
var nonceGroup = rand.Uint64()

func (m *mutateCall) begin() { m.n = 0 }

// add adds a mutation. Its cells follow those of the mutations before it. An increment gets a
// nonce: by it the server recognises an increment that is sent again after its connection was
// lost, and answers as it did before.
func (m *mutateCall) add(kind pb.MutationProto_MutationType, row []byte, cells int, d *pb.MutationProto_Durability) {
	i := m.n
	m.n++
	m.types[i], m.counts[i] = kind, int32(cells)
	p := &m.mutations[i]
	p.Row, p.MutateType, p.AssociatedCellCount, p.Durability, p.Nonce = row, &m.types[i], &m.counts[i], d, nil
	if kind == pb.MutationProto_INCREMENT {
		m.nonces[i] = rand.Uint64()
		p.Nonce = &m.nonces[i]
	}
}

// asMutation makes the call send the mutations that were added.
func (c *call) asMutation(condition *pb.Condition) {
	m := &c.mutate
	m.group = nonceGroup
	c.place = &m.place
	if m.n == 1 {
		c.method = "Mutate"
		m.single.Region, m.single.Mutation, m.single.Condition, m.single.NonceGroup = &m.place, &m.mutations[0],
			condition, &m.group
		c.request, c.response = &m.single, &m.response
		return
	}
	c.method = "Multi"
	m.region.Region, m.region.Atomic, m.region.Action = &m.place, yes, m.region.Action[:0]
	for i := range m.n {
		m.actions[i].Mutation = &m.mutations[i]
		m.region.Action = append(m.region.Action, &m.actions[i])
	}
	m.multi.RegionAction = append(m.multi.RegionAction[:0], &m.region)
	m.multi.NonceGroup, m.multi.Condition = &m.group, condition
	c.request, c.response = &m.multi, &m.several
}

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
