package patterns

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
)

// table is a table with the numbers of its rows. Row k is in partition k mod partitions, as row k/partitions of it.
type table struct {
	*schemas.Table
	declared     *schemas.Table // as the file has it
	load, static drivers.Statement
	count        uint64        // rows after the load
	partitions   uint64        // 0: each row is a partition
	step         time.Duration // between two rows of a partition
	period       time.Duration // of a bucket; 0: it has none
	columns      []*column

	// Rows first to next-1 are there, but for the last cut ones of the loaded.
	next, first, cut, loaded atomic.Uint64
}

// column is how the values of a column follow from the number of a row.
type column struct {
	*schemas.Column
	models.Values
	of      *table
	seed    uint64
	kind    numbering
	refers  *column // the column whose values it has: Distinct of them or, if 0, of rows that are loaded before
	aligned uint64  // row k refers to one of the same of so many partitions
}

// numbering says which number a value has among those of its column.
type numbering uint8

const (
	byRow       numbering = iota // a value for each row
	byPartition                  // one for each partition
	byBucket                     // one for each bucket
	mixed                        // one of the distinct ones, all of them in each partition
	changing                     // one of them, drawn for each row and version
)

// Sizes of values without a declaration.
const (
	defaultSize     = 20
	contentSize     = 4000 // of a quantity of schemas.Content
	defaultElements = 3
	defaultDistinct = 10 // of a column that a pattern filters by
	rowsOfIndexed   = 10 // rows with one value of a column that has an index
	rowsOfBucket    = 100
)

// epoch is the time of row 0.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

// tables are the tables of the keyspace, each with its rule for values.
func (k *Keyspace) tables(rows models.Rows) map[string]*table {
	all := map[string]*table{}
	for _, t := range k.Schema.Tables {
		one := k.table(t, rows.Count)
		for _, c := range slices.Concat(t.Key(), t.Static, t.Columns) {
			one.columns = append(one.columns, k.column(one, c, rows))
		}
		all[t.Name] = one
	}
	for _, t := range k.Schema.Tables {
		one := all[t.Name]
		for _, r := range one.declared.Refers {
			one.refer(all[r.To.Name], r)
		}
		for _, c := range one.columns {
			owner := k.owner(c)
			if c.refers != nil || owner == nil || owner == t || c.kind == byBucket {
				continue
			}
			if to := all[owner.Name].columns[0]; to.Distinct != 1 {
				c.to(to, false)
			}
		}
	}
	return all
}

// table is a table with so many rows if it is the largest, and else its share by what the schema says.
func (k *Keyspace) table(t *schemas.Table, largest int) *table {
	d := k.declared.Table(t.Name)
	one := &table{Table: t, declared: d, count: uint64(largest), step: day / rowsOfBucket}
	if n := countOf(d); n > 0 {
		one.count = max(1, uint64(n)*uint64(largest)/uint64(k.most))
	}
	if len(t.Clustering) > 0 {
		one.partitions = DefaultPartitions
	}
	buckets := d.Purposes[schemas.Bucket]
	for i, c := range buckets {
		if p := periodOf(c); i == 0 || p < one.period {
			one.period, one.step = p, p/rowsOfBucket
		}
	}
	if len(buckets) == len(t.Partition) { // what happens at a time is in one partition
		one.partitions, one.step = 1, one.period/time.Duration(day/time.Millisecond)
	}
	for _, r := range growing(d) {
		g := r.Growth
		if g.Of > 0 && one.partitions > 1 {
			one.partitions = uint64(g.Of)
		}
		if len(buckets) > 0 && g.Every != "" && g.Per > 0 {
			inPeriod := float64(g.Per) * schemas.Years(g.Every) / schemas.Years(g.Unit)
			one.period = lengthOf(g.Every)
			one.step = one.period / time.Duration(max(1, inPeriod/float64(max(1, g.Of))))
		}
	}
	return one
}

// growing are the rows of which the schema says how many there are, but for static columns.
func growing(t *schemas.Table) []*schemas.Rows {
	return slices.DeleteFunc(slices.Clone(t.Rows), func(r *schemas.Rows) bool { return r.Growth == nil || r.Static })
}

// lengthOf is how long one of schemas.Periods is.
func lengthOf(period string) time.Duration {
	return time.Duration(schemas.Years(period) * float64(365*day)).Round(time.Second)
}

// periodOf is how long a bucket is by the name of its column: a day, unless the name has another period.
func periodOf(c *schemas.Column) time.Duration {
	for _, word := range schemas.Periods {
		if strings.Contains(strings.ToLower(c.Name), word) {
			return lengthOf(word)
		}
	}
	return day
}

// rows are the rows of a table as a forecast needs them.
func (t *table) rows() []*schemas.Rows {
	of := int(t.partitions)
	if t.period > 0 {
		of *= int(max(1, time.Duration(t.count/max(1, t.partitions))*t.step/t.period))
	}
	r := &schemas.Rows{Each: "row", Times: 1, Growth: &schemas.Growth{Count: int(t.count), Of: of, Busiest: 1}}
	for _, c := range slices.Concat(t.Key(), t.Columns) {
		if !schemas.Sized(c) {
			continue
		}
		n := float64(t.sizeOf(c))
		size := schemas.ColumnSize{Column: c, Bytes: schemas.Sum{{Times: n}}}
		if c.Type.Collection() {
			size.Cells, size.Bytes = size.Bytes, schemas.Sum{{Times: n * defaultSize / 2}}
		}
		r.Sizes = append(r.Sizes, size)
	}
	return []*schemas.Rows{r}
}

// refer lets the columns of a declared reference have the values of rows that exist, if each is one whole value.
func (t *table) refer(to *table, r *schemas.Reference) {
	ofRow := func(m schemas.Match) bool { return m.Column.Role != schemas.Partition }
	whole := len(r.At) > 1 && slices.ContainsFunc(r.At, ofRow)
	for _, from := range r.From {
		i := slices.IndexFunc(r.At, func(m schemas.Match) bool { return m.Template.Text == from.Template.Text })
		if i < 0 || t.of(from.Column).Type.String() != to.of(r.At[i].Column).Type.String() {
			continue
		}
		if whole && from.Column.Role == schemas.Partition && to.partitions > 0 {
			t.partitions = to.partitions // rows of one partition refer to rows of one
		}
		t.of(from.Column).to(to.of(r.At[i].Column), whole)
	}
}

// to lets a column have the values of another: of its partitions or, if whole, of the same row for each column of a
// reference.
func (c *column) to(target *column, whole bool) {
	for of := target; of != nil; of = of.refers {
		if of == c {
			return // in a circle, one column has values of its own
		}
	}
	among, partitions := target.of.count, target.of.partitions
	if partitions > 0 && target.Role == schemas.Partition {
		among = partitions
	}
	c.refers = target
	switch {
	case whole:
		c.kind, c.aligned = byRow, max(1, partitions)
		return
	case c.Role == schemas.Partition && c.of.partitions > 0:
		c.kind = byPartition
	case among == target.of.count:
		c.kind, c.aligned = byRow, 1
		return
	default:
		c.kind = mixed
	}
	c.Distinct = min(among, cmp.Or(c.Distinct, among))
}

// column finds the rule for the values of a column of its own.
func (k *Keyspace) column(t *table, c *schemas.Column, rows models.Rows) *column {
	v := &column{Column: c, of: t, Values: rows.Columns[t.Name+"."+c.Name], kind: changing}
	v.seed = xxhash.Sum64String(c.Name+" "+c.Type.String()) ^ rows.Seed
	indexed := slices.ContainsFunc(t.Indexes, func(x *schemas.Index) bool {
		return slices.ContainsFunc(x.Columns, func(xc schemas.IndexColumn) bool { return xc.Column == c })
	})
	switch {
	case slices.Contains(schemas.Names(t.declared.Purposes[schemas.Bucket]), c.Name):
		v.kind = byBucket
	case c.Role == schemas.Partition || c.Role == schemas.Static:
		v.kind = byPartition
	case c.Role == schemas.Clustering && v.Distinct > 0:
		v.kind = mixed
	case c.Role == schemas.Clustering:
		v.kind = byRow
	case indexed:
		v.Distinct = cmp.Or(v.Distinct, max(1, uint64(k.Rows)/rowsOfIndexed))
	case slices.ContainsFunc(k.Schema.Patterns, func(p *schemas.Pattern) bool { return slices.Contains(p.Filter, c) }):
		v.Distinct = cmp.Or(v.Distinct, defaultDistinct)
	}
	if v.Size == nil {
		n := t.sizeOf(c)
		v.Size = func(uint64) int64 { return n }
	}
	return v
}

// owner is the table whose partition key begins with the column, by name and type, or nil: the one with a row for
// each value, if there is one.
func (k *Keyspace) owner(c *column) (owner *schemas.Table) {
	for _, t := range k.Schema.Tables {
		if p := t.Partition[0]; t.Parent != nil || p.Name != c.Name || p.Type.String() != c.Type.String() {
			continue
		}
		if owner == nil || len(t.Key()) == 1 && len(owner.Clustering) > 0 {
			owner = t
		}
	}
	return owner
}

// sizeOf is how many bytes or elements a value has by the schema's rows, or by its type.
func (t *table) sizeOf(c *schemas.Column) int64 {
	declared, size := t.declared.Column(c.Name), 0.0
	for _, r := range t.declared.Rows {
		for _, s := range r.Sizes {
			terms := s.Bytes
			if s.Cells != nil {
				terms = s.Cells
			}
			for _, term := range terms {
				switch {
				case s.Column != declared || s.None:
				case term.Quantity == "":
					size += term.Times
				case schemas.Content[term.Quantity] != "":
					size += term.Times * contentSize
				default:
					size += term.Times * defaultSize
				}
			}
		}
	}
	usual := int64(defaultSize)
	if c.Type.Collection() {
		usual = defaultElements
	}
	return cmp.Or(int64(size), int64(schemas.CQLBytes(declared.Type)), usual)
}

// number is the number of the column's value in row k. Version distinguishes the values that a row has one after
// another.
func (c *column) number(k, version uint64) uint64 {
	g, s := k, uint64(0)
	if p := c.of.partitions; p > 0 {
		g, s = k%p, k/p
	}
	n := k
	switch c.kind {
	case byRow:
		if c.refers != nil && c.refers.of.count < c.of.count { // tables grow together
			n = k%c.aligned + k/c.aligned*c.refers.of.count/c.of.count*c.aligned
		}
		if c.refers != nil && c.Access != nil {
			n = c.Access(mix(k), n+1)
		}
	case byPartition:
		n = g
	case mixed:
		n = g + s
	case changing:
		n = mix(c.seed + mix(k+version<<40))
	}
	switch {
	case c.Distinct == 0:
		return n
	case c.Access != nil && c.kind >= mixed:
		return c.Access(mix(n+k), c.Distinct)
	}
	return n % c.Distinct
}

// at is the time of row k. It rises with k.
func (t *table) at(k uint64) time.Time {
	p := max(1, t.partitions)
	return epoch.Add(time.Duration(k/p)*t.step + time.Duration(k%p)*t.step/time.Duration(p))
}

// value is the column's value in row k, in memory of its own.
func (c *column) value(k, version uint64) drivers.Value {
	n := c.number(k, version)
	switch kind := c.Type.Kind; {
	case c.refers != nil:
		return c.refers.value(n, 0)
	case c.kind == byBucket:
		return c.bucket(k)
	case kind == schemas.Timestamp && (c.kind == byRow || c.kind == changing):
		return drivers.Timestamp(c.of.at(k).UnixMicro())
	case kind == schemas.TimeUUID && (c.kind == byRow || c.kind == changing):
		return timeUUID(c.of.at(k), k)
	default:
		return scalar(c.Type, c.seed, n, c.Size(n))
	}
}

// bucket is the bucket of the time of row k: when it begins or, as a number, how many periods that is after 1970.
func (c *column) bucket(k uint64) drivers.Value {
	length := periodOf(c.Column)
	n := c.of.at(k).Sub(epoch) / length
	if c.Distinct > 0 {
		n %= time.Duration(c.Distinct)
	}
	begins := epoch.Add(n * length)
	switch c.Type.Kind {
	case schemas.Timestamp:
		return drivers.Timestamp(begins.UnixMicro())
	case schemas.Int, schemas.Bigint:
		return drivers.Number(c.Type.Kind, begins.Unix()/int64(length/time.Second))
	}
	return drivers.Text(begins.Format("2006-01-02T15:04"))
}

// scalar is value n of a domain, of so many bytes or elements.
func scalar(t schemas.Type, seed, n uint64, size int64) drivers.Value {
	const seconds = 1 << 31
	switch t.Kind {
	case schemas.Text, schemas.Blob:
		return drivers.Bytes(t.Kind, letters(seed, n, size))
	case schemas.TimeUUID:
		return timeUUID(epoch.Add(time.Duration(n%seconds)*time.Second), n)
	case schemas.UUID:
		var u [16]byte
		binary.BigEndian.PutUint64(u[:], mix(seed^n))
		binary.BigEndian.PutUint64(u[8:], n)
		u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
		return drivers.UUID(u)
	case schemas.Set, schemas.List, schemas.Map:
		return collection(t, seed, n, size)
	case schemas.Timestamp:
		n = uint64(epoch.Add(time.Duration(n%seconds) * time.Second).UnixMicro())
	case schemas.Int:
		n &= math.MaxInt32
	case schemas.Boolean:
		n %= 2
	case schemas.Counter:
		n = 1
	}
	return drivers.Number(t.Kind, int64(n&math.MaxInt64))
}

// collection has so many elements, in ascending order.
func collection(t schemas.Type, seed, n uint64, size int64) drivers.Value {
	var elems []drivers.Value
	for i := range uint64(size) {
		if t.Kind == schemas.Map {
			elems = append(elems, scalar(*t.Key, seed, i, defaultSize/2))
		}
		elems = append(elems, element(t, seed, n+i))
	}
	switch t.Kind {
	case schemas.Map:
		return drivers.MapOf(elems)
	case schemas.List:
		return drivers.ListOf(elems)
	}
	slices.SortFunc(elems, drivers.Value.Compare)
	return drivers.SetOf(slices.CompactFunc(elems, drivers.Value.Equal))
}

// element is element n of a collection.
func element(t schemas.Type, seed, n uint64) drivers.Value {
	return scalar(*t.Elem, seed, n, defaultSize/2)
}

// letters are so many bytes drawn for value n.
func letters(seed, n uint64, size int64) []byte {
	b, draws := make([]byte, size), rand.NewPCG(seed, n)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz012345"[draws.Uint64()>>59]
	}
	return b
}

// timeUUID is an identifier of that time, of value n.
func timeUUID(at time.Time, n uint64) drivers.Value {
	u := models.MinTimeUUID(at)
	var low [8]byte
	binary.BigEndian.PutUint64(low[:], n)
	for i := range 6 {
		u[10+i] = low[2+i] & 0x7f
	}
	return drivers.TimeUUID(u)
}

// mix spreads the bits of n (the finalizer of SplitMix64).
func mix(n uint64) uint64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
