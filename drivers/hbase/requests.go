package hbase

import (
	"math/rand/v2"
	"slices"

	"github.com/tsuna/gohbase/filter"
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
func (c *call) asGet(table, row []byte, columns []*pb.Column, passes *pb.Filter, limit uint32) {
	c.begin("Get", table, row)
	g := &c.get
	g.get.Row, g.get.Column, g.get.Filter, g.get.StoreLimit = row, columns, passes, nil
	if g.limit = limit; limit > 0 {
		g.get.StoreLimit = &g.limit
	}
	g.request.Get, g.request.Region = &g.get, &g.place
	c.request, c.response, c.place, c.batchable = &g.request, &g.response, &g.place, true
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
	counted       []*pb.Column // the columns of a scan whose rows HBase counts
	nameless      []*pb.Column // those of them that have one without a name in front
	unknown       []byte       // encoded field of the request that gohbase lacks: limit_of_rows
	cache         bool
	unknownScan   []byte // encoded fields of the scan that gohbase lacks
}

// maxResultSize bounds what one step of a scan returns, in bytes: HBase's own
// client requests as much. A row that is larger comes in several steps.
const maxResultSize = 2 << 20

// scanRange says what a scanner reads: the rows from start to stop. An empty end means no
// bound.
type scanRange struct {
	start, stop []byte
	skipStart   bool // start is not in the range
	reversed    bool // HBase reads from the last row to the first; only then is stop in the range
	columns     []*pb.Column
	filter      *pb.Filter
	left        func() int64 // how many rows are still wanted, after which HBase closes the scanner; nil: all
	uncached    bool         // HBase keeps the blocks that it reads out of its cache
	filtered    bool         // HBase reports how many rows it reads: the filter drops some of them
}

// The fields of a scan that gohbase lacks.
var (
	withoutStart = varint(fieldIncludeStartRow, 0)
	withStop     = varint(fieldIncludeStopRow, 1)
	limitOfRows  = protowire.AppendTag(nil, fieldLimitOfRows, protowire.VarintType)
)

func varint(field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), n)
}

// asScan makes the call fetch at most limit rows of a scan; 0 is no limit. If scanner is nil, the call first opens a
// scanner on the range. If counts, HBase returns how many rows it reads.
func (c *call) asScan(table []byte, r *scanRange, scanner *uint64, limit uint32, counts bool) {
	key := r.start
	if r.reversed {
		key = r.lastKey()
	}
	c.begin("Scan", table, key)
	s := &c.scan
	c.request, c.response, c.place = &s.request, &s.response, &s.place
	q := &s.request
	q.Region, q.NumberOfRows, q.ClientHandlesPartials, q.ClientHandlesHeartbeats = &s.place, &s.rows, yes, yes
	q.Scan, q.ScannerId, q.CloseScanner, q.TrackScanMetrics = nil, nil, nil, nil
	s.rows, s.unknown = maxFetch, s.unknown[:0]
	if limit > 0 {
		s.rows, s.unknown = limit, protowire.AppendVarint(append(s.unknown, limitOfRows...), uint64(limit))
	}
	q.ProtoReflect().SetUnknown(s.unknown)
	if counts {
		q.TrackScanMetrics = yes
	}
	if scanner != nil {
		s.scanner, q.ScannerId = *scanner, &s.scanner
		return
	}
	s.size, s.reversed, s.cache = maxResultSize, r.reversed, !r.uncached
	q.Scan = &s.scan
	s.scan.StartRow, s.scan.StopRow, s.scan.Column, s.scan.Filter = r.start, r.stop, r.columns, r.filter
	if counts {
		s.scan.Column = s.withNameless(r.columns)
	}
	s.scan.MaxResultSize, s.scan.Reversed, s.scan.CacheBlocks = &s.size, &s.reversed, &s.cache
	s.unknownScan = s.unknownScan[:0]
	if r.skipStart {
		s.unknownScan = append(s.unknownScan, withoutStart...)
	}
	if r.reversed && len(r.stop) > 0 {
		s.unknownScan = append(s.unknownScan, withStop...)
	}
	s.scan.ProtoReflect().SetUnknown(s.unknownScan)
}

// withNameless returns the columns with one more in each family that lists its columns: one without
// a name, which no row has. A scan without it takes the row where it begins for one that it has
// read, whether there is such a row or not, if the table has files and none of them deletes that
// row (StoreFileScanner.requestSeek in HBase: a Bloom filter saves the seek, and a made-up cell
// is there instead).
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

// maxFetch is how many rows one step fetches at most if there is no limit.
const maxFetch = 1<<31 - 1

var yes = proto.Bool(true)

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

// nonceGroup distinguishes this process's nonces from those of others.
var nonceGroup = rand.Uint64()

func (m *mutateCall) begin() { m.n = 0 }

// add adds a mutation. Its cells follow those of the mutations before it. An increment gets a
// nonce: by it the server recognizes an increment that is sent again after its connection was
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
	return list(filter.MustPassOne, ranges)
}

// wantedNames lets the same cells pass as wantedRanges. It is for scans that read rows
// backwards: there a list of range filters drops cells, because each range filter remembers
// where to continue and expects rows in ascending order.
func wantedNames(want []wanted, marker bool) *pb.Filter {
	var ranges []*pb.Filter
	if marker {
		ranges = append(ranges, qualifierIs(filter.Equal, []byte(markerName)))
	}
	for _, w := range want {
		if !w.typ.Collection() {
			ranges = append(ranges, qualifierIs(filter.Equal, []byte(w.name)))
			continue
		}
		last := append([]byte(w.name), elements+1)
		ranges = append(ranges, allOf(qualifierIs(filter.GreaterOrEqual, []byte(w.name)), qualifierIs(filter.Less, last)))
	}
	return list(filter.MustPassOne, ranges)
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

// firstOnly lets the first cell of each row pass.
func firstOnly() *pb.Filter { return must(filter.NewFirstKeyOnlyFilter()) }

// keysOnly drops the values of cells.
func keysOnly() *pb.Filter { return must(filter.NewKeyOnlyFilter(false)) }

// bytesOf compares with bytes.
func bytesOf(value []byte) *filter.BinaryComparator {
	return filter.NewBinaryComparator(filter.NewByteArrayComparable(value))
}
