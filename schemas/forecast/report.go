package forecast

import "slices"

// Report is a forecast as it is printed, and as JSON.
type Report struct {
	Schema   string `json:"schema"`
	Engine   string `json:"engine"`
	Workload string `json:"workload,omitempty"`

	Users    int `json:"users"`
	Folders  int `json:"folders"`
	Messages int `json:"messages"`
	// Daily is how many messages all folders receive in a day.
	Daily    float64 `json:"messages_received_daily"`
	Replicas int     `json:"replicas"`
	// Years are the times after the start for which there are sizes: 0 is now. Those of a
	// schema without mail begin with a month.
	Years      []float64     `json:"years"`
	Tables     []TableReport `json:"tables"`
	Partitions []GroupReport `json:"partitions"`
	Limits     []LimitReport `json:"limits_passed"`
	Space      SpaceReport   `json:"space"`
	// Outside are the stores of blobs outside of the engine that have files.
	Outside    []OutsideReport `json:"outside,omitempty"`
	Compressed *Compressed     `json:"compression,omitempty"`
}

// TableReport is the size of one table's files, one copy, at each of the years.
type TableReport struct {
	Table string    `json:"table"`
	Rows  []float64 `json:"rows"`
	Cells []float64 `json:"cells"`
	Bytes []float64 `json:"bytes"`
	// Undeclared: the schema does not say which rows the table has.
	Undeclared bool `json:"undeclared,omitempty"`
}

// GroupReport is the partitions of a table that hold the rows of one kind of entity.
type GroupReport struct {
	Table string `json:"table"`
	Each  string `json:"each"`
	// Count, and the partitions of these quantiles, at each of the years.
	Count   []float64    `json:"count"`
	Median  []PartReport `json:"median"`
	P999    []PartReport `json:"p99.9"`
	Largest []PartReport `json:"largest"`
}

// PartReport is one partition.
type PartReport struct {
	Bytes      float64 `json:"bytes"`
	Rows       float64 `json:"rows"`
	Cells      float64 `json:"cells"`
	Tombstones float64 `json:"tombstones"`
}

// LimitReport is when a limit is passed. Times are years after the start; nil is not
// within the last of Years.
type LimitReport struct {
	Limit   string   `json:"limit"`
	Hard    bool     `json:"refused"`
	Source  string   `json:"source"`
	Table   string   `json:"table"`
	Each    string   `json:"each,omitempty"`
	Median  *float64 `json:"median_years"`
	P999    *float64 `json:"p99.9_years"`
	Largest *float64 `json:"largest_years"`
}

// OutsideReport is what a store of blobs has at each of the years, in one copy.
type OutsideReport struct {
	Store string    `json:"store"`
	Files []float64 `json:"files"`
	Bytes []float64 `json:"bytes"`
}

// SpaceReport is what a cluster needs at each of the years.
type SpaceReport struct {
	Files []float64 `json:"files"` // bytes of one copy
	Disk  []float64 `json:"disk"`  // bytes with replicas and room for compaction
	// Room is the share of the files that compaction needs in addition.
	Room float64 `json:"compaction_room"`
	Why  string  `json:"why"`
}

// Compressed is what a compressor leaves of sampled mail, as a share of its bytes.
type Compressed struct {
	Compressor  string  `json:"compressor"`
	Block       int     `json:"block_bytes"`
	Messages    int     `json:"messages"`
	Raw         float64 `json:"raw"`
	Bodies      float64 `json:"bodies"`
	Attachments float64 `json:"attachments"`
}

// Report sums a forecast up at some years after the start; the largest is the horizon
// for limits. p is nil for a schema that has no rows of mail. The caller fills in Engine, Workload and Compressed.
func (f *Forecast) Report(p *Population, replicas int, years []float64) *Report {
	r := &Report{Schema: f.Schema.Name, Replicas: replicas, Years: years}
	if p != nil {
		t := p.totals()
		r.Users, r.Folders, r.Messages = len(p.Users), int(t.folders), int(t.messages)
		r.Daily = t.messages * p.Growth.Yearly / 365
	}
	space := f.Engine.Space()
	r.Space = SpaceReport{
		Files: make([]float64, len(years)), Disk: make([]float64, len(years)), Room: space.Compaction, Why: space.Why,
	}
	for _, t := range f.Tables {
		tr := TableReport{Table: t.Name, Undeclared: len(t.Rows) == 0}
		for i, y := range years {
			at := t.At(y)
			tr.Rows, tr.Cells, tr.Bytes = append(tr.Rows, at.Rows), append(tr.Cells, at.Cells), append(tr.Bytes, at.Bytes)
			r.Space.Files[i] += at.Bytes
			r.Space.Disk[i] += at.Bytes * float64(replicas) * (1 + space.Compaction)
		}
		r.Tables = append(r.Tables, tr)
		for _, g := range t.Groups {
			gr := GroupReport{Table: t.Name, Each: g.Each}
			for _, y := range years {
				gr.Count = append(gr.Count, g.Count(y))
				gr.Median = append(gr.Median, partReport(g.Quantile(0.5, y)))
				gr.P999 = append(gr.P999, partReport(g.Quantile(0.999, y)))
				gr.Largest = append(gr.Largest, partReport(g.Quantile(1, y)))
			}
			r.Partitions = append(r.Partitions, gr)
		}
	}
	for _, store := range f.stores() {
		o := OutsideReport{Store: store}
		for _, y := range years {
			at := f.OutsideAt(store, y)
			o.Files, o.Bytes = append(o.Files, at.Files), append(o.Bytes, at.Bytes)
		}
		r.Outside = append(r.Outside, o)
	}
	for _, l := range f.Limits(slices.Max(years)) {
		lr := LimitReport{
			Limit: l.Limit.Name, Hard: l.Limit.Hard, Source: l.Limit.Source, Table: l.Table.Name,
			Median: within(l.Median), P999: within(l.P999), Largest: within(l.Largest),
		}
		if l.Group != nil {
			lr.Each = l.Group.Each
		}
		r.Limits = append(r.Limits, lr)
	}
	return r
}

// Scale is the forecast if the largest table had so many rows now, and the others their share, in as many partitions.
func (r *Report) Scale(rows float64) {
	most := 1.0
	for _, t := range r.Tables {
		most = max(most, t.Rows[0])
	}
	by := rows / most
	r.Space.Files[0] *= by
	r.Space.Disk[0] *= by
	for i := range r.Partitions {
		r.Partitions[i].Largest[0].Bytes *= by
	}
}

func partReport(p Part) PartReport { return PartReport{p.Bytes, p.Rows, p.Cells, p.Tombstones} }

// within returns a time, or nil for Never.
func within(years float64) *float64 {
	if years == Never {
		return nil
	}
	return &years
}
