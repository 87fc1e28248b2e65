package keyspace

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

// shape is what the schema says of the rows of a table.
type shape struct {
	rows       uint64        // at the start; 0: it does not say
	partitions uint64        // 0: each row is a partition
	step       time.Duration // between two rows of a partition
	period     time.Duration // of a bucket; 0: it has none
	buckets    map[*schemas.Column]time.Duration
	sizes      map[*schemas.Column]strict.Size
}

// table is a table with the numbers of its rows. Row k is in partition k mod partitions, as row k/partitions of it.
type table struct {
	*schemas.Table
	shape
	count   uint64              // rows after the load
	loads   []drivers.Statement // write a row
	columns []*column
	newest  bool // pages begin with the newest rows

	// Rows first to next-1 are there, but for the last cut ones of the loaded.
	next, first, cut, loaded atomic.Uint64
}

// column is how the values of a column follow from the number of a row.
type column struct {
	*schemas.Column
	workloads.Values
	of     *table
	domain string // name and type: columns with the same have the same values
	seed   uint64
	refers *column // the column whose values it has: Distinct of them or, if 0, of rows that are loaded before
}

// Sizes of values without a declaration, and rows of a bucket.
const (
	defaultSize  = 20
	elementSize  = 10
	rowsOfBucket = 100
	day          = 24 * time.Hour
)

// epoch is the time of row 0.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// shapeOf is the shape of a table, whose types are still those of the file. A bucket is as long as its name says, or a
// day.
func shapeOf(t *schemas.Table) shape {
	s := shape{
		step: day / rowsOfBucket, buckets: map[*schemas.Column]time.Duration{}, sizes: map[*schemas.Column]strict.Size{},
	}
	if len(t.Clustering) > 0 {
		s.partitions = DefaultPartitions
	}
	for _, c := range t.Key() {
		if !lint.Serves(t, c, schemas.Bucket) {
			continue
		}
		named := func(period string) bool { return strings.Contains(strings.ToLower(c.Name), period) }
		s.buckets[c] = day
		if i := slices.IndexFunc(schemas.Periods, named); i >= 0 {
			s.buckets[c] = lengthOf(schemas.Periods[i])
		}
		if length := s.buckets[c]; len(s.buckets) == 1 || length < s.period {
			s.period, s.step = length, length/rowsOfBucket
		}
	}
	if len(s.buckets) == len(t.Partition) { // what happens at a time is in one partition
		s.partitions, s.step = 1, s.period/time.Duration(day/time.Millisecond)
	}
	for _, r := range t.Rows {
		for _, size := range r.Sizes {
			sum := size.Bytes
			if size.Cells != nil {
				sum = size.Cells
			}
			s.sizes[size.Column] += strict.Size(sum.Value(func(string) float64 { return defaultSize }))
		}
		g := r.Growth
		if g == nil || r.Static {
			continue
		}
		s.rows += uint64(g.Count * max(1, r.Times))
		if g.Of > 0 && s.partitions > 1 {
			s.partitions = uint64(g.Of)
		}
		if len(s.buckets) > 0 && g.Every != "" && g.Per > 0 {
			s.period = lengthOf(g.Every)
			s.step = min(s.period, time.Duration(float64(lengthOf(g.Unit))*float64(max(1, g.Of))/float64(g.Per)))
		}
	}
	for _, c := range t.All() {
		size := defaultSize
		if c.Type.Collection() {
			size = 3 // elements
		}
		s.sizes[c] = cmp.Or(s.sizes[c], strict.Size(cmp.Or(c.Type.Bytes(), size)))
	}
	return s
}

// lengthOf is how long one of schemas.Periods is.
func lengthOf(period string) time.Duration {
	return time.Duration(schemas.Years(period) * float64(365*day)).Round(time.Second)
}

// tables are the tables of the keyspace for a workload, each with its rule for values. The largest has so many rows.
func (k *Keyspace) tables(w *workloads.Workload, largest int) map[string]*table {
	all := map[string]*table{}
	owners := map[string]*table{} // of a domain: a partition key begins with it, if there is one a whole primary key
	for _, t := range k.Schema.Tables {
		one := &table{Table: t, shape: k.shapes[t]}
		one.count = max(1, cmp.Or(one.rows, k.most)*uint64(largest)/k.most)
		for _, c := range t.All() {
			one.columns = append(one.columns, k.column(one, c, w))
		}
		backwards := func(p *schemas.Pattern) bool { return p.Table == t && p.Reverse && (p.Limit > 0 || p.LimitArg) }
		one.newest = len(t.Clustering) > 0 && t.Clustering[0].Desc != slices.ContainsFunc(k.Patterns, backwards)
		all[t.Name] = one
		domain := one.columns[0].domain
		if o := owners[domain]; t.Parent == nil && (o == nil || len(t.Key()) == 1 && len(o.Clustering) > 0) {
			owners[domain] = one
		}
	}
	for _, declared := range k.Schema.Tables {
		t := all[declared.Name]
		for _, r := range t.Refers {
			to := all[r.To.Name]
			for _, from := range r.From { // a column refers if it is one whole value
				i := slices.IndexFunc(r.At, func(m schemas.Match) bool { return m.Template.Text == from.Template.Text })
				if i >= 0 && from.Column.Type.String() == r.At[i].Column.Type.String() {
					t.of(from.Column).to(to.of(r.At[i].Column))
				}
			}
		}
		for _, c := range t.columns {
			owner := owners[c.domain]
			if owner != nil && owner != t && c.refers == nil && t.buckets[c.Column] == 0 && owner.columns[0].Distinct != 1 {
				c.to(owner.columns[0])
			}
		}
	}
	return all
}

// column finds the rule for the values of a column of its own.
func (k *Keyspace) column(t *table, c *schemas.Column, w *workloads.Workload) *column {
	v := &column{Column: c, of: t, domain: c.Name + " " + c.Type.String()}
	if said := w.Values[t.Name+"."+c.Name]; said != nil {
		v.Values = *said
	}
	v.seed = xxhash.Sum64String(v.domain) ^ w.Seed
	indexed := slices.ContainsFunc(t.Indexes, func(x *schemas.Index) bool { return x.Has(c) })
	shared := func(p *schemas.Pattern) bool { // p filters by the column, or binds it and only a part of the key
		keys := p.In != nil && p.In.Role == schemas.Partition && t.buckets[p.In] == 0
		part := p.Index == nil && (keys || c.Role == schemas.Clustering && len(p.By) < len(t.Key()))
		return slices.Contains(p.Filter, c) || part && slices.Contains(p.By, c)
	}
	switch {
	case indexed && c.Role == schemas.Plain: // a value for 100 rows
		atStart := cmp.Or(t.rows, k.most) * uint64(k.Rows) / k.most
		v.Distinct = cmp.Or(v.Distinct, max(1, atStart/100))
	case slices.ContainsFunc(k.Schema.Patterns, shared):
		v.Distinct = cmp.Or(v.Distinct, 10)
	}
	v.Size = cmp.Or(v.Size, random.Dist(random.Constant{Value: t.sizes[c]}))
	return v
}

// to lets a column have the values of another: of its partitions or of its rows.
func (c *column) to(target *column) {
	for of := target; of != nil; of = of.refers {
		if of == c {
			return // in a circle, one column has values of its own
		}
	}
	among, partitions := target.of.count, target.of.partitions
	if partitions > 0 && target.Role == schemas.Partition {
		among = partitions
	}
	if c.refers = target; c.byPartition() || among != target.of.count {
		c.Distinct = min(among, cmp.Or(c.Distinct, among))
	}
}

// byPartition reports whether all rows of a partition have one value.
func (c *column) byPartition() bool {
	if c.refers == nil {
		return c.Role == schemas.Partition || c.Role == schemas.Static
	}
	return c.Role == schemas.Partition && c.of.partitions > 0
}

// args are the arguments of a pattern about row k.
func (t *table) args(p *schemas.Pattern, k, version uint64, limit, items int) (args []drivers.Value) {
	add := func(version uint64, cs ...*schemas.Column) {
		for _, c := range cs {
			args = append(args, t.of(c).value(k, version))
		}
	}
	add(0, p.By...)
	ranges, step := schemas.Clustering, uint64(1) // from row k to the next one with the same values of by
	if p.In != nil {
		ranges = p.In.Role
	}
	for _, c := range p.By {
		if c.Role == ranges {
			distinct := max(1, t.of(c).Distinct)
			step *= distinct / random.GCD(step, distinct)
		}
	}
	if ranges == schemas.Clustering {
		step *= t.stride()
	}
	if p.In != nil {
		var keys []drivers.Value
		for n := uint64(0); n == 0 || n < uint64(items) && k >= t.first.Load()+n*step; n++ {
			if v := t.of(p.In).value(k-n*step, 0); !slices.ContainsFunc(keys, v.Equal) {
				keys = append(keys, v)
			}
		}
		args = append(args, drivers.ListOf(keys))
	}
	if p.Element != nil {
		args = append(args, element(*p.Element.Type.Key, t.of(p.Element).seed, 0))
	}
	add(0, p.Filter...)
	for end, b := range []*schemas.Bound{p.From, p.To} { // the row limit rows before it in its partition, and row k
		if b != nil {
			c := t.of(b.Column)
			ends := []drivers.Value{c.value(k-min(k/step, uint64(limit))*step, 0), c.value(k, 0)}
			if c.Type.Kind != schemas.TimeUUID && ends[0].Compare(ends[1]) > 0 {
				slices.Reverse(ends)
			}
			args = append(args, ends[end])
		}
	}
	args = append(args, make([]drivers.Value, len(p.After))...) // null: the first page
	if p.LimitArg {
		args = append(args, drivers.Bigint(int64(limit)))
	}
	for _, c := range p.Columns {
		one := t.of(c)
		switch p.Kind {
		case schemas.Append: // a new element, so the collection grows
			args = append(args, drivers.ListOf([]drivers.Value{element(*c.Type.Elem, one.seed, hash(0, 0, version))}))
		case schemas.Remove:
			args = append(args, drivers.ListOf([]drivers.Value{element(*c.Type.Elem, one.seed, one.number(k, 0))}))
		case schemas.Add:
			args = append(args, drivers.Number(c.Type.Kind, 1))
		case schemas.Put, schemas.PutIf:
			add(version, c)
		}
	}
	add(0, p.If...)
	return args
}

// of is the rule for a column, which may be that of another parse of the schema.
func (t *table) of(c *schemas.Column) *column {
	return t.columns[slices.IndexFunc(t.columns, func(o *column) bool { return o.Name == c.Name })]
}

// stride is from a row to the next one of its partition.
func (t *table) stride() uint64 { return max(1, t.partitions) }

// number is the number of the column's value in row k, among those of the column. Version distinguishes the values that
// a row has one after another. All distinct values are in each partition.
func (c *column) number(k, version uint64) uint64 {
	n, partitions := k, cmp.Or(c.of.partitions, math.MaxUint64)
	switch to := c.refers; {
	case c.byPartition():
		n = k % partitions
	case to == nil && c.Role == schemas.Plain:
		n = hash(c.seed, k, version)
	case c.Distinct > 0 && (c.Role != schemas.Partition || c.of.partitions == 0):
		n = k%partitions + k/partitions
	case to != nil && to.of.count < c.of.count: // tables grow together
		n = k * to.of.count / c.of.count
	}
	if c.Access.Theta > 0 && !c.byPartition() && (c.Distinct > 0 || c.refers != nil) {
		return c.choose(n+k, cmp.Or(c.Distinct, n+1))
	} else if c.Distinct > 0 {
		return n % c.Distinct
	}
	return n
}

// choose returns which of so many values draw n stands for; of latest it is mostly one of the last.
func (c *column) choose(n, among uint64) uint64 {
	draws := random.New(0, 0, n)
	chooser := c.Access.Chooser(1)
	chosen := uint64(chooser.Among(int(min(among, math.MaxInt32)), &draws))
	if c.Access.Latest {
		return among - 1 - chosen
	}
	return chosen
}

// hash returns 64 random bits that follow from three numbers.
func hash(seed, stream, n uint64) uint64 {
	draws := random.New(seed, stream, n)
	return draws.Uint64()
}

// at is the time of row k. It rises with k.
func (t *table) at(k uint64) time.Time {
	p := t.stride()
	return epoch.Add(time.Duration(k/p)*t.step + time.Duration(k%p)*t.step/time.Duration(p))
}

// value is the column's value in row k, in memory of its own. A bucket is that of the row's time: when it begins or, as
// a number, how many periods that is after 1970.
func (c *column) value(k, version uint64) drivers.Value {
	n, at, length := c.number(k, version), c.of.at(k), c.of.buckets[c.Column]
	switch ofRow := c.Distinct == 0 && !c.byPartition(); {
	case c.refers != nil:
		return c.refers.value(n, 0)
	case length > 0:
		bucket := at.Sub(epoch) / length
		if c.Distinct > 0 {
			bucket %= time.Duration(c.Distinct)
		}
		switch at = epoch.Add(bucket * length); c.Type.Kind {
		case schemas.Timestamp:
			return drivers.Timestamp(at.UnixMicro())
		case schemas.Int, schemas.Bigint:
			return drivers.Number(c.Type.Kind, at.Unix()/int64(length/time.Second))
		}
		return drivers.Text(at.Format("2006-01-02T15:04"))
	case c.Type.Kind == schemas.Timestamp && ofRow:
		return drivers.Timestamp(at.UnixMicro())
	case c.Type.Kind == schemas.TimeUUID && ofRow:
		return drivers.TimeUUID(models.TimeUUID(at, k, 0))
	}
	return scalar(c.Type, c.seed, n, c.Size)
}

// scalar is value n of a domain, of a size that is drawn: bytes, or elements of a collection, in ascending order.
func scalar(t schemas.Type, seed, n uint64, size random.Dist) drivers.Value {
	draws := random.New(seed, 0, n)
	at := epoch.Add(time.Duration(n&math.MaxInt32) * time.Second)
	switch t.Kind {
	case schemas.Text, schemas.Blob:
		b := make([]byte, size.Draw(&draws))
		for i := range b {
			b[i] = "abcdefghijklmnopqrstuvwxyz012345"[draws.Uint64()>>59]
		}
		return drivers.Bytes(t.Kind, b)
	case schemas.UUID:
		var u [16]byte
		binary.BigEndian.PutUint64(u[:], draws.Uint64())
		binary.BigEndian.PutUint64(u[8:], n)
		u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
		return drivers.UUID(u)
	case schemas.Set, schemas.List, schemas.Map:
		var elems []drivers.Value
		for i := range uint64(size.Draw(&draws)) {
			if t.Kind == schemas.Map {
				elems = append(elems, element(*t.Key, seed, i))
			}
			elems = append(elems, element(*t.Elem, seed, n+i))
		}
		if t.Kind == schemas.Set {
			slices.SortFunc(elems, drivers.Value.Compare)
			elems = slices.CompactFunc(elems, drivers.Value.Equal)
		}
		return drivers.Collection(t.Kind, elems)
	case schemas.TimeUUID:
		return drivers.TimeUUID(models.TimeUUID(at, n, 0))
	case schemas.Timestamp:
		n = uint64(at.UnixMicro())
	case schemas.Int:
		n &= math.MaxInt32
	case schemas.Boolean:
		n %= 2
	case schemas.Counter:
		n = 1
	}
	return drivers.Number(t.Kind, int64(n&math.MaxInt64))
}

// element is element n of a collection, or key n of a map.
func element(t schemas.Type, seed, n uint64) drivers.Value {
	return scalar(t, seed, n, random.Constant{Value: elementSize})
}
