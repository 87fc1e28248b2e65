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
	count        uint64 // of each most rows of the largest table, how many it has
	most         uint64
	partitions   uint64 // 0: each row is a partition
	perBucket    uint64 // rows of a partition before the next bucket begins; 0: it has none
	period       time.Duration
	columns      map[*schemas.Column]*column

	next, first atomic.Uint64 // rows first to next-1 are there
}

// column is how the values of a column follow from the number of a row.
type column struct {
	*schemas.Column
	of       *table
	seed     uint64 // of its domain: columns of one domain have equal values
	kind     numbering
	distinct uint64 // 0: no bound
	size     func(n uint64) int64
	layout   string // of a bucket that is a text
	period   time.Duration
}

// numbering says which number a value has in its domain.
type numbering uint8

const (
	byRow       numbering = iota // a value for each row
	byPartition                  // one for each partition
	byBucket                     // one for each bucket
	mixed                        // one of distinct, all of them in each partition
	changing                     // one of distinct, drawn for each row and version
)

// Sizes of values if nobody says.
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
func (k *Keyspace) tables(rows models.Rows) map[*schemas.Table]*table {
	all := map[*schemas.Table]*table{}
	most := cmp.Or(k.counts(), 1)
	for _, t := range k.Schema.Tables {
		one := &table{
			Table: t, count: uint64(most), most: uint64(most), columns: map[*schemas.Column]*column{}, period: 24 * time.Hour,
		}
		if len(t.Clustering) > 0 {
			one.partitions = DefaultPartitions
		}
		one.declared(k.declared.Table(t.Name))
		all[t] = one
	}
	for _, t := range k.Schema.Tables {
		for _, c := range slices.Concat(t.Key(), t.Static, t.Columns) {
			all[t].columns[c] = k.column(all, all[t], c, rows)
		}
	}
	return all
}

// declared takes what the schema says of the rows of a table.
func (t *table) declared(d *schemas.Table) {
	if n := countOf(d); n > 0 {
		t.count = uint64(n)
	}
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
		if p := periodOf(c.Name); i == 0 || p < t.period {
			t.period = p
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

// periods are the periods of buckets by what their names have, with their form as text.
var periods = []struct {
	word, layout string
	length       time.Duration
}{
	{"minute", "2006-01-02T15:04", time.Minute},
	{"hour", "2006-01-02T15", time.Hour},
	{"week", "2006-01-02", 7 * 24 * time.Hour},
	{"month", "2006-01", 30 * 24 * time.Hour},
	{"year", "2006", 365 * 24 * time.Hour},
	{"yyyymmdd", "20060102", 24 * time.Hour},
	{"", "2006-01-02", 24 * time.Hour},
}

func periodOf(name string) time.Duration {
	return periods[slices.IndexFunc(periods[:], named(name))].length
}

func named(name string) func(p struct {
	word, layout string
	length       time.Duration
}) bool {
	return func(p struct {
		word, layout string
		length       time.Duration
	},
	) bool {
		return strings.Contains(strings.ToLower(name), p.word)
	}
}

// column finds the rule for the values of a column.
func (k *Keyspace) column(all map[*schemas.Table]*table, t *table, c *schemas.Column, rows models.Rows) *column {
	said := rows.Columns[t.Name+"."+c.Name]
	v := &column{Column: c, of: t, distinct: said.Distinct, size: said.Size}
	domain := c.Name + " " + c.Type.String()
	if c.Role != schemas.Partition && c.Role != schemas.Clustering && k.owner(all, c) == nil {
		domain = t.Name + "." + domain
	}
	v.seed = xxhash.Sum64String(domain) ^ rows.Seed
	d := k.declared.Table(t.Name)
	bucket := slices.ContainsFunc(d.Purposes[schemas.Bucket], func(b *schemas.Column) bool { return b.Name == c.Name })
	owner := k.owner(all, c)
	switch {
	case bucket:
		v.kind = byBucket
		p := periods[slices.IndexFunc(periods[:], named(c.Name))]
		v.period, v.layout = p.length, p.layout
	case c.Role == schemas.Partition || c.Role == schemas.Static:
		v.kind = byPartition
	case c.Role == schemas.Clustering:
		if owner != nil && owner != t {
			v.bound(owner)
		}
	case owner != nil && owner != t:
		v.bound(owner)
	case slices.ContainsFunc(t.Indexes, func(x *schemas.Index) bool {
		return slices.ContainsFunc(x.Columns, func(xc schemas.IndexColumn) bool { return xc.Column == c })
	}):
		v.kind = changing
		v.distinct = cmp.Or(v.distinct, max(1, uint64(k.Rows)/rowsOfIndexed))
	case slices.ContainsFunc(k.Schema.Patterns, func(p *schemas.Pattern) bool { return slices.Contains(p.Filter, c) }):
		v.kind, v.distinct = changing, cmp.Or(v.distinct, defaultDistinct)
	default:
		v.kind = changing
	}
	if said.Distinct > 0 && v.kind == byRow {
		v.kind = mixed
	}
	if v.size == nil {
		n := sizeOf(d, c)
		v.size = func(uint64) int64 { return n }
	}
	return v
}

// bound lets a column have the values that the key of its owner has.
func (c *column) bound(owner *table) {
	n := owner.partitions
	if n == 0 && owner.count < c.of.count {
		n = owner.count
	}
	if n > 0 {
		c.kind, c.distinct = mixed, cmp.Or(c.distinct, n)
	}
}

// owner is the table whose partition key is the column, by name and type, or nil: the one with a row for each value,
// if there is one.
func (k *Keyspace) owner(all map[*schemas.Table]*table, c *schemas.Column) (owner *table) {
	for _, t := range k.Schema.Tables {
		if p := t.Partition[0]; t.Parent != nil || p.Name != c.Name || p.Type.String() != c.Type.String() {
			continue
		}
		if owner == nil || len(t.Clustering) == 0 && len(t.Partition) == 1 && owner.partitions > 0 {
			owner = all[t]
		}
	}
	return owner
}

// sizeOf is how many bytes or elements a value has by the schema's rows, or by its type.
func sizeOf(t *schemas.Table, c *schemas.Column) int64 {
	size := 0.0
	for _, r := range t.Rows {
		for _, s := range r.Sizes {
			of := s.Bytes
			if s.Cells != nil {
				of = s.Cells
			}
			for _, term := range of {
				if s.Column.Name != c.Name || s.None {
					continue
				}
				switch term.Quantity {
				case "":
					size += term.Times
				case "body", "raw", "attachment", "attachment-bytes", "attachment-text":
					size += 4000 * term.Times
				default:
					size += defaultSize * term.Times
				}
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

// number is the number of the column's value in row k. Version tells the values apart that a row has in turn.
func (c *column) number(k, version uint64) uint64 {
	g, s := uint64(0), k
	if p := c.of.partitions; p > 0 {
		g, s = k%p, k/p
	}
	n := k
	switch c.kind {
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
	if c.distinct > 0 {
		n %= c.distinct
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
	case c.kind == byBucket:
		return c.bucket(k)
	case kind == schemas.Timestamp && (c.kind == byRow || c.kind == changing):
		return drivers.Timestamp(c.of.at(k).UnixMicro())
	case kind == schemas.TimeUUID && c.kind == changing:
		return timeUUID(c.of.at(k), k)
	case kind == schemas.TimeUUID && c.kind == byRow:
		return timeUUID(c.of.at(k), n)
	default:
		return scalar(c.Type, c.seed, n, c.size(n))
	}
}

// bucket is the bucket of the time of row k.
func (c *column) bucket(k uint64) drivers.Value {
	at := c.of.at(k)
	switch c.Type.Kind {
	case schemas.Timestamp:
		return drivers.Timestamp(at.Truncate(c.period).UnixMicro())
	case schemas.Int, schemas.Bigint:
		return drivers.Number(c.Type.Kind, at.Unix()/int64(c.period/time.Second))
	}
	return drivers.Text(at.Truncate(min(c.period, 24*time.Hour)).Format(c.layout))
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
		elems = append(elems, scalar(*t.Elem, seed, n+i, defaultSize/2))
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
