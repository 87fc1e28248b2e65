package forecast

import (
	"math"
	"strconv"

	"github.com/mailbench/mailbench/schemas"
)

// Own reports whether all rows of a schema are of entities of its own, so that its forecast needs no mail.
func Own(s *schemas.Schema) bool {
	own := false
	for _, t := range s.Tables {
		for _, r := range t.Rows {
			if r.Growth == nil {
				return false
			}
			own = true
		}
	}
	return own
}

// own are the partitions of rows of an entity of the schema's own.
type own struct {
	*schemas.Growth
	lives float64 // years after which rows expire; +Inf is never
}

// newOwn returns the group of a kind of row.
func (t *Table) newOwn(r *schemas.Rows) *Group {
	o := &own{Growth: r.Growth, lives: math.Inf(1)}
	for _, engine := range []string{"hbase", "cassandra"} { // the hint for Cassandra counts, if there is one
		if seconds, err := strconv.ParseFloat(t.Hints[engine][schemas.ExpirySetting], 64); err == nil && seconds > 0 {
			o.lives = seconds / (365 * 24 * 3600)
		}
	}
	if t.engine.Unit(t.Table) > len(t.Partition) && !r.Static {
		alone := *r.Growth // each row is a unit
		alone.Of, alone.Every = 0, ""
		o.Growth = &alone
	}
	together := max(1, o.mean(1)*float64(r.Times))
	k := &kind{Rows: r, engine: t.engine, unit: r.Each, key: make([]float64, len(t.Partition))}
	k.one = Row{Table: t.Table, Static: r.Static, Together: together, Around: together, Span: 365 * 24 * 3600}
	k.each.add(float64(r.Times), k.row(nil))
	each := "part" // of all rows
	switch {
	case o.Of == 0:
		each = r.Each
	case o.Every != "":
		each = o.Every
	case o.Of == 1:
		each = "all"
	}
	return &Group{Each: each, table: t, kinds: []*kind{k}, own: o}
}

// rate is how many come in a year.
func (o *own) rate() float64 {
	if o.Per == 0 {
		return 0
	}
	return float64(o.Per) / schemas.Years(o.Unit)
}

// there is how many there are after some years: those of the start, and those that came and did not expire.
func (o *own) there(years float64) float64 {
	n := o.rate() * min(years, o.lives)
	if years < o.lives {
		n += float64(o.Count)
	}
	return n
}

// mean is how many are in a partition of the mean share, once it is full.
func (o *own) mean(years float64) float64 {
	n := o.there(years)
	switch {
	case o.Of == 0:
		return min(1, n)
	case o.Every != "":
		n = min(n, o.rate()*schemas.Years(o.Every))
	}
	return n / min(float64(o.Of), max(1, n))
}

// each yields how many are in a partition after some years, and how many such partitions there are.
func (o *own) each(years float64, yield func(n, times float64)) {
	there := o.there(years)
	share := func(n, times float64) { // among the partitions of one time
		of := min(float64(o.Of), max(1, n))
		yield(n/of, of*times)
	}
	switch {
	case there == 0:
	case o.Of == 0:
		yield(1, there)
	case o.Every == "":
		share(there, 1)
	default:
		period := o.rate() * schemas.Years(o.Every)
		whole := math.Floor(there/period + 1e-9)
		if whole > 0 {
			share(period, whole)
		}
		if rest := there - whole*period; rest > 1e-6*period {
			share(rest, 1)
		}
	}
}

// ownPart is a partition of n entities.
func (g *Group) ownPart(n float64) (p Part) {
	p.add(n, g.kinds[0].each)
	if n > 0 {
		p.Size = g.partition(g.kinds[0], p.Size)
	}
	return p
}

// Limits returns the limits that are passed within so many years, in the order of the
// engine's list and of the tables.
func (f *Forecast) Limits(horizon float64) (all []LimitReport) {
	for _, l := range f.Engine.Limits {
		for _, t := range f.Tables {
			p := LimitReport{Limit: l.Name, Hard: l.Hard, Source: l.Source, Table: t.Name}
			switch l.Of {
			case CellBytes:
				p.Largest = when(l.Most, horizon, func(float64) float64 { return t.LargestCell() })
			case TableBytes:
				p.Largest = when(l.Most, horizon, func(years float64) float64 { return t.At(years).Bytes })
			default:
				for _, g := range t.Groups {
					of := p
					if of.Largest = g.when(l, 1, horizon); of.Largest != nil {
						of.Each, of.Median, of.P999 = g.Each, g.when(l, 0.5, horizon), g.when(l, 0.999, horizon)
						all = append(all, of)
					}
				}
			}
			if p.Largest != nil {
				all = append(all, p)
			}
		}
	}
	return all
}

// when returns the years until the partition of a quantile passes a limit.
func (g *Group) when(l Limit, q, horizon float64) *float64 {
	return when(l.Most, horizon, func(years float64) float64 {
		p := g.Quantile(q, years)
		switch l.Of {
		case PartitionRows:
			return p.Rows
		case PartitionCells:
			return p.Cells
		case PartitionTombstones:
			return p.Tombstones
		}
		return p.Bytes
	})
}

// when finds the time at which a growing size passes most, to a day; nil if it does not before the horizon.
func when(most, horizon float64, size func(years float64) float64) *float64 {
	low, high := 0.0, horizon
	switch {
	case size(low) > most:
		return &low
	case size(high) <= most:
		return nil
	}
	for high-low > 1.0/365 {
		if mid := (low + high) / 2; size(mid) > most {
			high = mid
		} else {
			low = mid
		}
	}
	return &high
}
