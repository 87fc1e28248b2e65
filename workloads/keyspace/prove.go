package keyspace

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/models/patterns"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// probe is a finding of lint with the operation that shows it.
type probe struct {
	finding lint.Finding
	op      string   // a pattern, or one that reads a whole partition
	shows   *growth  // nil: it cannot be shown
	why     string   // it cannot
	deletes string   // the pattern that deletes the rows
	sized   []string // columns whose values grow
	unit    string   // what the rows of its table are
}

// growth is how cost shows a finding: the more there is of something, the higher is a cost of an operation.
type growth struct {
	says  string // the measurement; verdict fills in the words in braces
	of    func(at *measured) float64
	least float64 // share of the growth of what the cost should grow with
	// after is the phase with more of it than provePhase has, on the same rows; "": there is more at a later point
	after string
}

func scanned(at *measured) float64 { return at.scanned }
func wasted(at *measured) float64  { return at.scanned / max(1, at.given) }
func read(at *measured) float64    { return at.bytes / max(1, at.given) }
func took(at *measured) float64    { return at.ns }

var (
	byPart  = &growth{"a partition of {table} has {times}× the rows at {more}× the {rows}" + change, scanned, 0.5, ""}
	byRows  = &growth{"{op} scans {times}× the rows at {more}× the {rows}" + change, scanned, 0.5, ""}
	byWaste = &growth{"{op} scans {is} rows for each that it returns, p50 {last}", wasted, 0, ""}
	bySize  = &growth{
		"{op} reads {times}× the bytes a row at {more}× the size of its collection or content" + change, read, 0.5, "",
	}
	byItems   = &growth{"{op} has {times}× the rows at {more}× the keys of a call" + change, scanned, 0.5, "keys"}
	byDeletes = &growth{
		"{op} takes {times}× the time after 90% of the {rows} are deleted, p50 {first} → {last}", took, 0.2, "deleted",
	}
)

// change is how a measurement ends.
const change = " ({was} → {is}), p50 {first} → {last}"

// shownBy says how findings of a rule show. Rules that are not here are about other things than growth.
var shownBy = map[string]*growth{
	"unbounded-partition": byPart, "unbounded-row": byPart, "hot-partition-key": byPart, "large-partition": byPart,
	"unbounded-read": byRows, "scan-filter": byRows, "scan-all": byRows, "count-all": byRows, "index-few-values": byRows,
	"filter-reads-more": byWaste, "many-partitions": byItems, "batch-unbounded": byItems,
	"queue": byDeletes, "tombstones-newest": byDeletes,
	"collection-grows": bySize, "collection-listed": bySize, "list-reads-content": bySize, "content-in-one-cell": bySize,
	"index-all-nodes": nil, "index-many-values": nil, "time-ordered-key": nil,
}

// wasteful is how many rows a read scans for each that it returns, if it wastes them.
const wasteful = 2

// probesOf are the findings of a schema that a run of the keyspace can show, or of which it cannot be said why not.
func probesOf(k *patterns.Keyspace, report *lint.Report) (all []probe) {
	for _, f := range report.Findings {
		shows, known := shownBy[f.Rule.ID]
		if !known || f.Accepted != "" || f.Severity == lint.Note && f.Rule.Severity != lint.Note {
			continue
		}
		p := probe{finding: f, op: f.Pattern, shows: shows, unit: "rows"}
		if t := report.Schema.Table(f.Table); t != nil && len(t.Rows) > 0 && t.Rows[0].Growth != nil {
			p.unit = t.Rows[0].Each + "s"
		}
		find := func(fits func(o *schemas.Pattern) bool) string { // the finding's own pattern, or one of its table
			for _, o := range append([]*schemas.Pattern{k.Schema.Pattern(f.Pattern)}, k.Patterns...) {
				if o != nil && o.Table != nil && o.Table.Name == f.Table && fits(o) {
					return o.Name
				}
			}
			return ""
		}
		switch {
		case shows == nil:
			p.why = "its cost grows with nodes, and this run changes rows only"
		case shows == byPart:
			p.op = patterns.Whole(f.Table)
		case shows == bySize:
			p.sized = sizedBy(&f, k.Schema.Table(f.Table))
			p.op = find(func(o *schemas.Pattern) bool {
				sized := func(c *schemas.Column) bool { return slices.Contains(p.sized, c.Name) }
				return o.Kind.Reads() && slices.ContainsFunc(o.Columns, sized)
			})
		case shows == byDeletes:
			p.deletes = find(func(o *schemas.Pattern) bool { return o.Kind == schemas.Delete && o.Scope == schemas.ScopeRow })
		case f.Pattern == "": // of an index
			p.op = find(func(o *schemas.Pattern) bool { return o.Index != nil })
		}
		if shows != nil && (k.Schema.Pattern(p.op) == nil || shows == byDeletes && p.deletes == "") {
			p.shows, p.why = nil, "no pattern that would show it is measured"
		}
		all = append(all, p)
	}
	return all
}

// sizedBy are the columns of a table whose size a finding is about: collections, or contents.
func sizedBy(f *lint.Finding, t *schemas.Table) (names []string) {
	for _, c := range t.Columns {
		named := f.Part == "" || slices.Contains(strings.Split(f.Part, ", "), c.Name)
		if named && schemas.Sized(c) && strings.HasPrefix(f.Rule.ID, "collection") == c.Type.Collection() {
			names = append(names, c.Name)
		}
	}
	return names
}

// Unproven is a line for each finding of a schema of which a run shows none; "" if it can show one.
func (k *Keyspace) Unproven() (text string) {
	if slices.ContainsFunc(k.probes, func(p probe) bool { return p.shows != nil }) {
		return ""
	}
	for _, f := range k.Findings([]string{""}, nil) {
		text += fmt.Sprintf("%s %s: %s: %s\n", f.Rule, f.Where, f.Verdict, f.Measured)
	}
	return cmp.Or(text, "lint warns of nothing that growth could show\n")
}

// levelsOf are the numbers of rows of the text "population.rows=N,N".
func levelsOf(text string) (all []int, err error) {
	list, ok := strings.CutPrefix(text, "population.rows=")
	for n := range strings.SplitSeq(list, ",") {
		rows, err := strconv.Atoi(n)
		if !ok || err != nil || rows < 1 || !strings.Contains(list, ",") {
			return nil, fmt.Errorf("%q: --prove sweeps rows; expected population.rows=N,N,…, such as population.rows=1000,10000", text)
		}
		all = append(all, rows)
	}
	return all, nil
}

const (
	// provePhase is the phase that measures the operations of the probes.
	provePhase = "prove"
	// proveFactor is by how much there are more rows, keys of a call and bytes.
	proveFactor = 10
	proveItems  = 10 // keys of a call
	proveSize   = 10 // elements of a collection
	proveBytes  = 200
	// provePercent of the rows are deleted before a read that lint warns of for its tombstones.
	provePercent = 90
	// proveOps is how often each operation is measured at each point.
	proveOps = 50
)

// ProofWorkload is a workload that runs the operations of the probes at the numbers of rows of a sweep such as
// "population.rows=1000,10000", by default at two. At each point, phases follow with more keys of a call and after
// deletes, so that nothing else differs.
func (k *Keyspace) ProofWorkload(rows string) (text string, err error) {
	small := max(100, k.Rows/proveFactor)
	levels := []int{small, proveFactor * small}
	if rows != "" {
		if levels, err = levelsOf(rows); err != nil {
			return "", err
		}
	}
	list := func(first int) (all []int) { // first, and as many times more at each level
		for _, n := range levels {
			all = append(all, first*n/levels[0])
		}
		return all
	}
	type object = map[string]any
	proved, keys, deleted, deletes := object{}, object{}, object{}, object{} // the mixes of phases
	values, sweep := object{}, object{}                                      // next to the rows, which name the points
	calls := func(items int) object { return object{"weight": 1, "items": items} }
	for _, p := range k.probes {
		if p.shows == nil {
			continue
		}
		t := k.Schema.Table(p.finding.Table)
		proved[p.op] = calls(proveItems)
		switch p.shows {
		case byItems:
			keys[p.op] = calls(proveItems * proveFactor)
		case byDeletes:
			one := object{} // the deleted rows are in the partition that is read
			for _, c := range t.Partition {
				one[c.Name] = object{"distinct": 1}
			}
			values[t.Name], deleted[p.op], deletes[p.deletes] = one, calls(proveItems), 1
		case bySize:
			for _, name := range p.sized {
				size := proveBytes
				if t.Column(name).Type.Collection() {
					size = proveSize
				}
				sweep["values."+t.Name+"."+name+".size"] = list(size)
			}
		}
	}
	phases := ""
	measure := func(name string, clients, operations int, mix object) {
		if len(mix) > 0 {
			phases += fmt.Sprintf("  - measure: {name: %s, clients: %d, operations: %d, mix: %s}\n", name, clients, operations, flow(mix))
		}
	}
	measure(provePhase, 1, proveOps*len(proved), proved)
	measure(byItems.after, 1, proveOps*len(keys), keys)
	if rows := levels[0] * len(deletes) * provePercent / 100; rows > 0 {
		measure("delete", 32, rows, deletes)
		sweep["phases.delete.operations"] = list(rows)
	}
	measure(byDeletes.after, 1, proveOps*len(deleted), deleted)
	return fmt.Sprintf(`version: 1
name: %s
description: Lint findings of a schema, at few and at many rows
population: {rows: %d}
access: {rows: uniform}
values: %s
phases:
  - load: {}
  - settle: {}
  - warmup: {operations: %d}
%ssweep: {population.rows: %s, %s
trials: {count: 1}
`, k.Schema.Name, levels[0], flow(values), 10*len(proved), phases, flow(list(levels[0])),
		strings.TrimPrefix(flow(sweep), "{")), nil
}

// measured is what an operation cost at a point of the sweep.
type measured struct {
	rows                      int // of the largest table
	scanned, given, bytes, ns float64
}

// at is what the operation of a probe cost on an engine at each point, in their order, or in the phases of the last.
func (p *probe) at(r *results.Run, engine string) (all []measured) {
	if p.shows == nil {
		return nil
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		op, ok := c.Ops[p.op]
		point := slices.IndexFunc(r.Sweep.Points, func(s results.SweepPoint) bool { return s.Value == c.Point })
		phase := c.Phase == provePhase
		if after := p.shows.after; after != "" {
			phase = (phase || c.Phase == after) && point == len(r.Sweep.Points)-1
		}
		if c.Engine != engine || !phase || !c.Measured() || !ok || op.Count == 0 || point < 0 {
			continue
		}
		one := measured{
			rows: r.Sweep.Points[point].Messages, given: op.Store.RowsRead, scanned: op.Store.RowsRead + op.Store.RowsWritten,
			bytes: op.Store.BytesRead, ns: float64(op.Service.P50),
		}
		if op.Store.RowsExamined != nil {
			one.scanned = max(one.scanned, *op.Store.RowsExamined)
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b measured) int { return cmp.Compare(a.rows, b.rows) }) // trials go up and down
	return all
}

// verdict says whether the measurement confirms the finding, and with which numbers.
func (p *probe) verdict(at []measured) (verdict, why string) {
	switch {
	case p.shows == nil:
		return "not shown", p.why
	case len(at) < 2 || p.shows.after == "" && at[0].rows == at[len(at)-1].rows:
		return "not measured", "no operation succeeded at each point"
	}
	first, last := at[0], at[len(at)-1]
	was, is := p.shows.of(&first), p.shows.of(&last)
	more, times := float64(last.rows)/float64(first.rows), is/max(was, 1e-9)
	if p.shows.after != "" {
		more = proveFactor
	}
	number := func(n float64) string { return fmt.Sprintf("%.3g", n) }
	says := strings.NewReplacer("{op}", p.op, "{table}", p.finding.Table, "{rows}", p.unit,
		"{times}", number(times), "{more}", number(more), "{was}", words.Amount(was), "{is}", words.Amount(is),
		"{first}", words.Duration(first.ns), "{last}", words.Duration(last.ns),
	).Replace(p.shows.says)
	if times >= p.shows.least*more && (p.shows != byWaste || is >= wasteful) {
		return "confirmed", says
	}
	return "not seen", fmt.Sprintf("up to %d %s, %s", last.rows, p.unit, says)
}

// Findings are for each finding of lint and each engine whether the run has shown it.
func (k *Keyspace) Findings(engines []string, r *results.Run) (all []results.Finding) {
	for _, engine := range engines {
		for _, p := range k.probes {
			one := results.Finding{
				Rule: p.finding.Rule.ID, Where: cmp.Or(p.finding.Pattern, p.finding.Table), Engine: engine,
				Predicted: p.finding.Message,
			}
			one.Verdict, one.Measured = p.verdict(p.at(r, engine))
			all = append(all, one)
		}
	}
	return all
}
