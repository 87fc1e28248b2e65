// Package forecast estimates how large the tables of a schema become: rows, bytes on
// disk, the sizes of partitions, and when a limit of the engine is passed.
//
// It needs three things. The schema's "rows" say which rows a user, a folder, a
// message or an attachment makes in which table, and how large their columns are.
// A [Population] says how many of these there are and what the messages are like.
// An [Engine], which drivers have, knows what a row takes in its engine's files.
//
//	f, err := forecast.Make(schema, population, engine)
//	f.Tables[0].At(0).Bytes  // now
//	f.Tables[0].At(2).Bytes  // in two years
//
// Sizes are without compression. A population grows in time: each folder receives
// mail at its own rate, which is Growth.Yearly messages a year for each that it has
// at the start, and loses what users delete.
package forecast

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/mailbench/mailbench/schemas"
)

// Forecast is a schema's tables on one engine.
type Forecast struct {
	Schema *schemas.Schema
	Engine *Engine
	Tables []*Table // those that are not row headers, in the schema's order
}

// Make forecasts a schema. The population is not read if [Own] is true, and may be nil. The error says what
// the schema or the population lacks.
func Make(s *schemas.Schema, p *Population, e *Engine) (*Forecast, error) {
	if err := declared(s); err != nil {
		return nil, err
	}
	switch {
	case Own(s):
	case len(p.Users) == 0:
		return nil, errors.New("the population has no users")
	case len(p.Sample) == 0:
		return nil, errors.New("the population has no sample of its messages")
	}
	f := &Forecast{Schema: s, Engine: e}
	for _, t := range s.Tables {
		if !t.Header() {
			f.Tables = append(f.Tables, newTable(t, p, e))
		}
	}
	return f, nil
}

// Table is the forecast of one table.
type Table struct {
	*schemas.Table
	Groups []*Group // partitions of the same entity

	population *Population
	engine     *Engine
}

// Group is the partitions of a table that hold the rows of one kind of entity: one
// partition for each user, say.
type Group struct {
	Each  string // user, folder, message, attachment, piece or all; of the schema's own, see label
	table *Table
	kinds []*kind
	// owners are users or folders, at most mostOwners, in ascending order of their
	// messages (of their folders, if messages leave no rows). Each represents step of them.
	// In a group of "all" the one owner is the whole population. Other groups have none.
	owners []owner
	step   float64
	// units are partitions of one sampled message or less, in ascending order of bytes.
	units []unit
	own   *own // of an entity of the schema's own, which has no owners and units
}

func newTable(t *schemas.Table, p *Population, e *Engine) *Table {
	tb := &Table{Table: t, population: p, engine: e}
	for _, r := range t.Rows {
		if r.Growth != nil {
			tb.Groups = append(tb.Groups, tb.newOwn(r))
			continue
		}
		k := p.measure(t, r, e, 1, 1) // together needs the number of rows, which is the same for any together and around
		together := p.together(t, k, k.Partition)
		around := together
		if k.Partition == "folder" {
			around = p.together(t, k, "user")
		}
		k = p.measure(t, r, e, together, around)
		at := slices.IndexFunc(tb.Groups, func(g *Group) bool { return g.Each == k.unit && g.own == nil })
		if at < 0 {
			at, tb.Groups = len(tb.Groups), append(tb.Groups, &Group{Each: k.unit, table: tb})
		}
		tb.Groups[at].kinds = append(tb.Groups[at].kinds, k)
	}
	for _, g := range tb.Groups {
		if g.own == nil {
			g.fill(p)
		}
	}
	return tb
}

// together returns how many rows are in the same user, folder or partition (of) as an average
// row of kind k. It is an average over rows, so that large partitions weigh more. It assumes
// that kinds of the table with the same entity and partition make as many rows as k.
func (p *Population) together(t *schemas.Table, k *kind, of string) float64 {
	alike := 0.0
	for _, r := range t.Rows {
		if r.Partition == k.Partition && r.Each == k.Each {
			alike += float64(r.Times)
		}
	}
	each := k.each.Rows * alike / float64(k.Times)
	switch of {
	case "all":
		return max(1, p.totals().messages*each)
	case "user", "folder":
	default:
		return max(1, each)
	}
	var sum, squares float64
	for _, o := range p.owners(of) {
		n := 1.0
		switch k.Each {
		case "folder":
			n = o.folders
		case "message", "attachment":
			n = o.messages
		}
		sum += n * each
		if most := float64(k.Most); most > 0 && of == k.Partition {
			full := math.Floor(n * each / most)
			squares += full*most*most + (n*each-full*most)*(n*each-full*most)
			continue
		}
		squares += n * each * n * each
	}
	return max(1, squares/max(1, sum))
}

// mostOwners is how many users or folders a forecast looks at. If there are more, it takes
// every n-th in order of size, and always the largest.
const mostOwners = 20_000

// fill finds the partitions of a group.
func (g *Group) fill(p *Population) {
	switch g.Each {
	case "user", "folder":
		all := p.owners(g.Each)
		if !slices.ContainsFunc(g.kinds, func(k *kind) bool { return k.Each != "user" && k.Each != "folder" }) {
			slices.SortFunc(all, func(a, b owner) int { return cmp.Compare(a.folders, b.folders) })
		}
		stride := (len(all) + mostOwners - 1) / mostOwners
		for i := len(all) - 1; i >= 0; i -= stride {
			g.owners = append(g.owners, all[i])
		}
		slices.Reverse(g.owners)
		g.step = float64(len(all)) / float64(len(g.owners))
	case "all":
		g.owners, g.step = []owner{p.totals()}, 1
	case "message":
		sums := make([]Size, len(p.Sample))
		for _, k := range g.kinds {
			for i := range k.samples {
				sums[i].add(1, k.samples[i])
			}
		}
		for _, s := range sums {
			if s.Rows > 0 {
				g.units = append(g.units, unit{g.kinds[0], s, 1})
			}
		}
	default:
		for _, k := range g.kinds {
			g.units = append(g.units, k.units...)
		}
	}
	slices.SortFunc(g.units, func(a, b unit) int { return cmp.Compare(a.Bytes, b.Bytes) })
}

// grown returns how many rows of a kind there are after some years for each row at the
// start.
func (k *kind) grown(p *Population, years float64) float64 {
	if k.Each == "user" || k.Each == "folder" {
		return 1
	}
	per := 1 - k.deleted(p)
	if k.Shared {
		per /= max(1, p.Growth.Recipients)
	}
	return 1 + p.Growth.Yearly*years*per
}

// deleted returns the share of received messages, from 0 to 1, whose rows of a kind are
// deleted later.
func (k *kind) deleted(p *Population) float64 {
	switch {
	case slices.Contains(k.Ends, "delete"):
		return min(1, p.Growth.Operations["delete"])
	case slices.Contains(k.Ends, "purge") && p.Growth.Operations["purge"] > 0:
		return min(1, p.Growth.Operations["delete"]) // what is deleted is purged later
	}
	return 0
}

// At returns the size of one copy of a table's files after some years.
func (t *Table) At(years float64) (sum Size) {
	for _, g := range t.Groups {
		g.each(years, func(p Part, times float64) { sum.add(times, p.Size) })
	}
	if sum.Rows > 0 && t.engine.Table != nil {
		sum.Bytes += t.engine.Table(t.Table, sum)
	}
	return sum
}

// Part is one partition at one time.
type Part struct {
	Size
	Tombstones float64 `json:"tombstones"`
}

// each yields partitions of a group after some years, the small first, and how many
// partitions each represents.
func (g *Group) each(years float64, yield func(p Part, times float64)) {
	if g.own != nil {
		g.own.each(years, func(n, times float64) { yield(g.ownPart(n), times) })
		return
	}
	p := g.table.population
	for i := range g.owners {
		o := &g.owners[i]
		n := g.partitions(o, years)
		full := math.Floor(n)
		if n > full {
			yield(g.part(o, years, (n-full)/n), g.step)
		}
		yield(g.part(o, years, 1/n), g.step*full)
	}
	messages := p.totals().messages / float64(len(p.Sample))
	for i := range g.units {
		u := &g.units[i]
		yield(Part{Size: g.partition(u.kind, u.Size)}, u.times*messages*u.kind.grown(p, years))
	}
}

// partition adds to the size of rows what a partition takes in addition to them.
func (g *Group) partition(k *kind, rows Size) Size {
	if e := g.table.engine; e.Partition != nil {
		rows.Bytes += e.Partition(g.table.Table, k.key, rows)
	}
	return rows
}

// partitions returns how many partitions one user or folder has after some years: as many as its
// rows fill, if rows have a most. The last may be full in part.
func (g *Group) partitions(o *owner, years float64) float64 {
	n := 1.0
	for _, k := range g.kinds {
		if k.Most > 0 {
			n = max(n, o.messages*k.grown(g.table.population, years)*k.each.Rows/float64(k.Most))
		}
	}
	return n
}

// part returns a partition of one user or folder after some years, which has a share of its
// messages.
func (g *Group) part(o *owner, years, share float64) (part Part) {
	p := g.table.population
	for _, k := range g.kinds {
		n := 1.0
		switch k.Each {
		case "user":
			if g.Each == "all" {
				n = float64(len(p.Users))
			}
		case "folder":
			n = o.folders
		default:
			n = o.messages * k.grown(p, years) * share
			daily := o.messages * p.Growth.Yearly / 365 * share
			deleted := k.deleted(p) // rows for each message received
			if slices.Contains(k.Ends, "move") {
				deleted += p.Growth.Operations["move"] // a move deletes the row and writes it elsewhere
			}
			part.Tombstones += daily * g.table.engine.Space.Tombstones * deleted * k.each.Rows
		}
		part.add(n, k.each)
	}
	part.Size = g.partition(g.kinds[0], part.Size)
	return part
}

// Count returns how many partitions a group has after some years.
func (g *Group) Count(years float64) (n float64) {
	g.each(years, func(_ Part, times float64) { n += times })
	return n
}

// Quantile returns the partition at quantile q of a group, from 0 to 1 (the largest),
// after some years. Partitions are ranked by their size at the start.
func (g *Group) Quantile(q, years float64) Part {
	if g.own != nil { // of those that are full
		return g.ownPart(g.own.mean(years))
	}
	if n := len(g.owners); n > 0 {
		o := &g.owners[max(0, int(math.Ceil(q*float64(n)))-1)]
		return g.part(o, years, 1/g.partitions(o, years))
	}
	total := 0.0
	for i := range g.units {
		total += g.units[i].times
	}
	left := q * total
	for i := range g.units {
		if left -= g.units[i].times; left <= 1e-9*total || i == len(g.units)-1 {
			return Part{Size: g.partition(g.units[i].kind, g.units[i].Size)}
		}
	}
	return Part{}
}

// LargestCell returns the largest value of one cell of a table, in bytes, among the
// sampled messages.
func (t *Table) LargestCell() (n float64) {
	for _, g := range t.Groups {
		for _, k := range g.kinds {
			n = max(n, k.largest)
		}
	}
	return n
}
