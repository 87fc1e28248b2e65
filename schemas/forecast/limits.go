package forecast

// Passed says when the partitions of a group, or a table, pass a limit.
type Passed struct {
	Limit Limit
	Table *Table
	Group *Group // nil for limits of cells and tables
	// Median, P999 and Largest are years from the start until partitions of these
	// quantiles pass the limit: 0 if they have, Never if they do not within the horizon.
	// For limits of cells and tables, Median and P999 are Never.
	Median, P999, Largest float64
}

// Limits returns the limits that are passed within so many years, in the order of the
// engine's list and of the tables.
func (f *Forecast) Limits(horizon float64) []Passed {
	var all []Passed
	for _, l := range f.Engine.Limits() {
		for _, t := range f.Tables {
			all = append(all, t.passed(l, horizon)...)
		}
	}
	return all
}

func (t *Table) passed(l Limit, horizon float64) (all []Passed) {
	switch l.Of {
	case CellBytes:
		if t.LargestCell() > l.Most {
			all = append(all, Passed{Limit: l, Table: t, Median: Never, P999: Never})
		}
	case TableBytes:
		at := when(l.Most, horizon, func(years float64) float64 { return t.At(years).Bytes })
		if at != Never {
			all = append(all, Passed{Limit: l, Table: t, Median: Never, P999: Never, Largest: at})
		}
	default:
		for _, g := range t.Groups {
			p := Passed{Limit: l, Table: t, Group: g}
			p.Largest = g.when(l, 1, horizon)
			if p.Largest == Never {
				continue
			}
			p.Median, p.P999 = g.when(l, 0.5, horizon), g.when(l, 0.999, horizon)
			all = append(all, p)
		}
	}
	return all
}

// when returns the years until the partition of a quantile passes a limit.
func (g *Group) when(l Limit, q, horizon float64) float64 {
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

// when finds the time at which a growing size passes most, to a day.
func when(most, horizon float64, size func(years float64) float64) float64 {
	switch {
	case size(0) > most:
		return 0
	case size(horizon) <= most:
		return Never
	}
	low, high := 0.0, horizon
	for high-low > 1.0/365 {
		if mid := (low + high) / 2; size(mid) > most {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}
