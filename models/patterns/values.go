package patterns

import (
	"bytes"
	"cmp"
	"encoding/binary"
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
	load, static drivers.Statement
	count        uint64 // rows after the load
	partitions   uint64 // 0: each row is a partition
	perBucket    uint64 // rows of a partition before the next bucket begins; 0: it has none
	period       time.Duration
	columns      map[string]*column

	// Rows first to next-1 are there, but for the last cut ones of the loaded.
	next, first, cut, loaded atomic.Uint64
}

// column is how the values of a column follow from the number of a row.
type column struct {
	*schemas.Column
	models.Values
	of       *table
	seed     uint64
	kind     numbering
	period   period  // of a bucket
	refers   *column // the column whose values it has
	referred uint64  // in so many rows of that table, from the first; 0: in those that are loaded before
	aligned  uint64  // row k refers to one of the same of so many partitions
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
	defaultElements = 3
	defaultDistinct = 10 // of a column that a pattern filters by
	rowsOfIndexed   = 10 // rows with one value of a column that has an index
	rowsOfBucket    = 100
)

// epoch is the time of row 0.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// tables are the tables of the keyspace, each with its rule for values.
func (k *Keyspace) tables(rows models.Rows) map[string]*table {
	all := map[string]*table{}
	for _, t := range k.Schema.Tables {
		one := k.table(t, rows.Count)
		for _, c := range slices.Concat(t.Key(), t.Static, t.Columns) {
			one.columns[c.Name] = k.column(one, c, rows)
		}
		all[t.Name] = one
	}
	for _, t := range k.Schema.Tables {
		one := all[t.Name]
		for _, r := range k.declared.Table(t.Name).Refers {
			one.refer(all[r.To.Name], r)
		}
		for _, c := range slices.Concat(t.Key(), t.Static, t.Columns) {
			v, owner := one.of(c), k.owner(all, c)
			if v.refers == nil && owner != nil && owner != one && v.kind != byBucket {
				v.to(owner.of(owner.Partition[0]), false)
			}
		}
	}
	return all
}

// table is a table with so many rows if it is the largest, and else its share by what the schema says.
func (k *Keyspace) table(t *schemas.Table, largest int) *table {
	d := k.declared.Table(t.Name)
	one := &table{Table: t, count: uint64(largest), columns: map[string]*column{}, period: 24 * time.Hour}
	if n := countOf(d); n > 0 {
		one.count = max(1, uint64(n)*uint64(largest)/uint64(k.counts()))
	}
	if len(t.Clustering) > 0 {
		one.partitions = DefaultPartitions
	}
	one.declared(d)
	return one
}

// rows are the rows of a table as a forecast needs them.
func (k *Keyspace) rows(t *schemas.Table) []*schemas.Rows {
	one, d := k.table(t, cmp.Or(k.counts(), DefaultRows)), k.declared.Table(t.Name)
	r := &schemas.Rows{Each: "row", Times: 1}
	r.Growth = &schemas.Growth{Count: int(one.count), Of: int(one.partitions), Busiest: 1}
	if one.perBucket > 0 {
		r.Growth.Of *= int(max(1, one.count/max(1, one.partitions)/one.perBucket))
	}
	for _, c := range slices.Concat(t.Key(), t.Columns) {
		n := float64(sizeOf(d, c))
		size := schemas.ColumnSize{Column: c, Bytes: schemas.Sum{{Times: n}}}
		if c.Type.Collection() {
			size.Cells, size.Bytes = size.Bytes, schemas.Sum{{Times: n * defaultSize / 2}}
		}
		if c.Type.Collection() || schemas.Sized(c) {
			r.Sizes = append(r.Sizes, size)
		}
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
	rows, partitions := target.of.count, target.of.partitions
	c.refers, c.referred = target, rows
	if partitions > 0 && target.Role == schemas.Partition {
		c.referred = partitions
	}
	switch {
	case whole:
		c.kind, c.referred, c.aligned = byRow, 0, max(1, partitions)
	case c.Role == schemas.Partition && c.of.partitions > 0:
		c.kind = byPartition
	case c.referred == rows:
		c.kind, c.referred, c.aligned = byRow, 0, 1
	default:
		c.kind = mixed
	}
}

// declared takes what the schema says of the rows of a table.
func (t *table) declared(d *schemas.Table) {
	for _, r := range d.Rows {
		if g := r.Growth; g != nil && !r.Static && g.Of > 0 && t.partitions > 0 {
			t.partitions = uint64(g.Of)
		}
	}
	buckets := d.Purposes[schemas.Bucket]
	if len(buckets) == 0 {
		return
	}
	if t.perBucket = rowsOfBucket; len(buckets) == len(t.Partition) {
		t.partitions, t.perBucket = 1, uint64(24*time.Hour/time.Millisecond) // what happens at a time is in one partition
	}
	for i, c := range buckets {
		if p := periodOf(c.Name); i == 0 || p.length < t.period {
			t.period = p.length
		}
	}
	for _, r := range d.Rows {
		if g := r.Growth; g != nil && g.Every != "" && g.Per > 0 {
			inPeriod := float64(g.Per) * schemas.Years(g.Every) / schemas.Years(g.Unit)
			t.perBucket = max(1, uint64(inPeriod/float64(max(1, g.Of))))
			t.period = time.Duration(schemas.Years(g.Every) * float64(365*24*time.Hour))
		}
	}
}

// period is how long a bucket is, with its form as text.
type period struct {
	word, layout string
	length       time.Duration
}

// periods are found by what the name of a bucket has.
var periods = []period{
	{"minute", "2006-01-02T15:04", time.Minute},
	{"hour", "2006-01-02T15", time.Hour},
	{"week", "2006-01-02", 7 * 24 * time.Hour},
	{"month", "2006-01", 30 * 24 * time.Hour},
	{"year", "2006", 365 * 24 * time.Hour},
	{"yyyymmdd", "20060102", 24 * time.Hour},
	{"", "2006-01-02", 24 * time.Hour},
}

func periodOf(name string) period {
	name = strings.ToLower(name)
	return periods[slices.IndexFunc(periods, func(p period) bool { return strings.Contains(name, p.word) })]
}

// column finds the rule for the values of a column of its own.
func (k *Keyspace) column(t *table, c *schemas.Column, rows models.Rows) *column {
	v := &column{Column: c, of: t, Values: rows.Columns[t.Name+"."+c.Name], period: periodOf(c.Name), kind: changing}
	v.seed = xxhash.Sum64String(c.Name+" "+c.Type.String()) ^ rows.Seed
	d := k.declared.Table(t.Name)
	indexed := slices.ContainsFunc(t.Indexes, func(x *schemas.Index) bool {
		return slices.ContainsFunc(x.Columns, func(xc schemas.IndexColumn) bool { return xc.Column == c })
	})
	switch {
	case slices.ContainsFunc(d.Purposes[schemas.Bucket], func(b *schemas.Column) bool { return b.Name == c.Name }):
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
		n := sizeOf(d, c)
		v.Size = func(uint64) int64 { return n }
	}
	return v
}

// owner is the table whose partition key is the column, by name and type, or nil: the one with a row for each value,
// if there is one.
func (k *Keyspace) owner(all map[string]*table, c *schemas.Column) (owner *table) {
	for _, t := range k.Schema.Tables {
		if p := t.Partition[0]; t.Parent != nil || p.Name != c.Name || p.Type.String() != c.Type.String() {
			continue
		}
		if owner == nil || len(t.Clustering) == 0 && len(t.Partition) == 1 && owner.partitions > 0 {
			owner = all[t.Name]
		}
	}
	return owner
}

// sizeOf is how many bytes or elements a value has by the schema's rows, or by its type.
func sizeOf(t *schemas.Table, c *schemas.Column) int64 {
	size, of := 0.0, map[string]float64{
		"": 1, "body": 4000, "raw": 4000, "attachment": 4000, "attachment-bytes": 4000, "attachment-text": 4000,
	}
	for _, r := range t.Rows {
		for _, s := range r.Sizes {
			if s.Column.Name != c.Name || s.None {
				continue
			}
			terms := s.Bytes
			if s.Cells != nil {
				terms = s.Cells
			}
			for _, term := range terms {
				size += term.Times * cmp.Or(of[string(term.Quantity)], defaultSize)
			}
		}
	}
	declared := t.Column(c.Name)
	switch {
	case size > 0:
		return int64(size)
	case schemas.CQLBytes(declared.Type) > 0:
		return int64(schemas.CQLBytes(declared.Type))
	case c.Type.Collection():
		return defaultElements
	}
	return defaultSize
}

// number is the number of the column's value in row k. Version distinguishes the values that a row has one after
// another.
func (c *column) number(k, version uint64) uint64 {
	g, s := uint64(0), k
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
		if c.of.partitions > 0 {
			n = g
		}
	case mixed:
		n = g + s
	case changing:
		n = mix(c.seed + mix(k+version<<40))
	}
	if c.Type.Kind == schemas.Boolean {
		n %= 2
	}
	among := c.Distinct
	if c.referred > 0 && (among == 0 || c.referred < among) {
		among = c.referred
	}
	switch {
	case among == 0:
	case c.Access != nil && c.kind >= mixed:
		n = c.Access(mix(n+k), among)
	default:
		n %= among
	}
	return n
}

// at is the time of row k. It rises with k.
func (t *table) at(k uint64) time.Time {
	p, per := max(1, t.partitions), cmp.Or(t.perBucket, rowsOfBucket)
	step := t.period / time.Duration(per)
	return epoch.Add(time.Duration(k/p)*step + time.Duration(k%p)*step/time.Duration(p))
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
	case kind == schemas.TimeUUID && c.kind == changing:
		return timeUUID(c.of.at(k), k)
	case kind == schemas.TimeUUID && c.kind == byRow:
		return timeUUID(c.of.at(k), n)
	default:
		return scalar(c.Type, c.seed, n, c.Size(n))
	}
}

// bucket is the bucket of the time of row k.
func (c *column) bucket(k uint64) drivers.Value {
	at, length := c.of.at(k), c.period.length
	if c.Distinct > 0 {
		at = epoch.Add(at.Sub(epoch) / length % time.Duration(c.Distinct) * length)
	}
	switch c.Type.Kind {
	case schemas.Timestamp:
		return drivers.Timestamp(at.Truncate(length).UnixMicro())
	case schemas.Int, schemas.Bigint:
		return drivers.Number(c.Type.Kind, at.Unix()/int64(length/time.Second))
	}
	if c.period.word == "week" {
		at = at.Truncate(length)
	}
	return drivers.Text(at.Format(c.period.layout))
}

// scalar is value n of a domain, of so many bytes or elements.
func scalar(t schemas.Type, seed, n uint64, size int64) drivers.Value {
	switch t.Kind {
	case schemas.Text:
		return drivers.TextBytes(letters(seed, n, size))
	case schemas.Blob:
		return drivers.Blob(letters(seed, n, size))
	case schemas.Int:
		return drivers.Int(int32(n & 0x7fffffff))
	case schemas.Boolean:
		return drivers.Boolean(n%2 == 1)
	case schemas.Counter:
		return drivers.Counter(1)
	case schemas.Timestamp:
		return drivers.Timestamp(epoch.Add(time.Duration(n%(1<<31)) * time.Second).UnixMicro())
	case schemas.TimeUUID:
		return timeUUID(epoch.Add(time.Duration(n%(1<<31))*time.Second), n)
	case schemas.UUID:
		var u [16]byte
		binary.BigEndian.PutUint64(u[:], mix(seed^n))
		binary.BigEndian.PutUint64(u[8:], n)
		u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
		return drivers.UUID(u)
	case schemas.Set, schemas.List, schemas.Map:
		return collection(t, seed, n, size)
	}
	return drivers.Bigint(int64(n & (1<<63 - 1)))
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
	slices.SortFunc(elems, compare)
	return drivers.SetOf(slices.CompactFunc(elems, func(a, b drivers.Value) bool { return compare(a, b) == 0 }))
}

// element is element n of a collection.
func element(t schemas.Type, seed, n uint64) drivers.Value {
	return scalar(*t.Elem, seed, n, defaultSize/2)
}

// compare orders values of one type as engines do, but for identifiers, of which any order will do.
func compare(a, b drivers.Value) int {
	x, y := a.UUIDBytes(), b.UUIDBytes()
	return cmp.Or(cmp.Compare(a.Int64(), b.Int64()), bytes.Compare(a.Raw(), b.Raw()), bytes.Compare(x[:], y[:]))
}

// letters is a text of so many bytes, that of n in its first ten.
func letters(seed, n uint64, size int64) []byte {
	const digits = "abcdefghijklmnopqrstuvwxyz012345"
	b := make([]byte, size)
	for i, left := 0, mix(seed^n); i < len(b); i, left = i+1, left>>5 {
		if i%12 == 0 {
			left = mix(seed ^ n + uint64(i))
		}
		b[i] = digits[left&31]
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
	n ^= n >> 30
	n *= 0xbf58476d1ce4e5b9
	n ^= n >> 27
	n *= 0x94d049bb133111eb
	return n ^ n>>31
}
