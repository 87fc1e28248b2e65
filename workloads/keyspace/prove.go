package keyspace

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// probe is a finding of lint with the operation that shows it.
type probe struct {
	finding lint.Finding
	op      string            // a pattern, or one that reads a whole partition
	shows   *growth           // nil: it cannot be shown
	why     string            // it cannot
	deletes string            // the pattern that deletes the rows
	sized   []*schemas.Column // whose values grow
}

// growth is how cost shows a finding: the more there is of something, the higher is a cost of an operation.
type growth struct {
	says  string // the measurement; verdict fills in the words in braces
	of    func(o *results.Op) float64
	least float64 // share of the growth of what the cost should grow with
	// after is the phase with more of it than provePhase has, on the same rows; "": there is more at a later point
	after string
	items int // keys of a call in that phase
}

func wasted(o *results.Op) float64 { return scanned(o) / max(1, o.Store.RowsRead) }
func read(o *results.Op) float64   { return o.Store.BytesRead / max(1, o.Store.RowsRead) }
func took(o *results.Op) float64   { return float64(o.Service.P50) }

// scanned are the rows that an operation scanned or, if the engine does not report them, returned and wrote.
func scanned(o *results.Op) float64 {
	return max(o.Store.RowsRead+o.Store.RowsWritten, *cmp.Or(o.Store.RowsScanned, new(float64)))
}

var (
	byPart  = &growth{says: "a partition of {table} has {times}× the rows at {more}× the rows" + change, of: scanned, least: 0.5}
	byRows  = &growth{says: "{op} scans {times}× the rows at {more}× the rows" + change, of: scanned, least: 0.5}
	byWaste = &growth{says: "{op} scans {is} rows for each that it returns, p50 {last}", of: wasted}
	bySize  = &growth{
		says: "{op} reads {times}× the bytes a row at {more}× the size of its collection or content" + change, of: read, least: 0.2,
	}
	byItems = &growth{
		"{op} has {times}× the rows at {more}× the keys of a call" + change, scanned, 0.5, "keys", proveFactor * proveItems,
	}
	byDeletes = &growth{
		"{op} takes {times}× the time after 90% of the rows are deleted, p50 {first} → {last}", took, 0.2, "deleted", proveItems,
	}
)

// shownBy says how findings of a rule show. Rules that are not here are about other things than growth.
var shownBy = map[string]*growth{
	"unbounded-partition": byPart, "unbounded-row": byPart, "hot-partition-key": byPart, "large-partition": byPart,
	"unbounded-read": byRows, "scan-filter": byRows, "scan-all": byRows, "count-all": byRows, "index-few-values": byRows,
	"filter-reads-more": byWaste, "many-partitions": byItems, "batch-unbounded": byItems,
	"queue": byDeletes, "tombstones-newest": byDeletes,
	"collection-grows": bySize, "collection-listed": bySize, "list-reads-content": bySize, "content-in-one-cell": bySize,
	"index-all-nodes": nil, "index-many-values": nil, "time-ordered-key": nil,
}

const (
	provePhase  = "prove"                                 // the phase that measures the operations of the probes
	proveFactor = 10                                      // by so much there are more rows, keys of a call and bytes
	proveItems  = 10                                      // keys of a call
	proveOps    = 50                                      // how often each operation is measured at each point
	change      = " ({was} → {is}), p50 {first} → {last}" // how a measurement ends
)

// probesOf are the findings of lint that a run of the keyspace can show, or of which it cannot be said why not.
func (k *Keyspace) probesOf(report *lint.Report) (all []probe) {
	for _, f := range report.Findings {
		shows, known := shownBy[f.Rule.ID]
		if !known || f.Accepted != "" || f.Severity == lint.Note && f.Rule.Severity != lint.Note {
			continue
		}
		p, t := probe{finding: f, op: f.Pattern, shows: shows}, k.Schema.Table(f.Table)
		find := func(fits func(o *schemas.Pattern) bool) string { // the finding's own pattern, or one of its table
			for _, o := range append([]*schemas.Pattern{k.Schema.Pattern(f.Pattern)}, k.Patterns...) {
				if o != nil && o.Table != nil && o.Table == t && fits(o) {
					return o.Name
				}
			}
			return ""
		}
		switch {
		case shows == nil:
			p.why = "its cost grows with nodes, and this run changes rows only"
		case shows == byPart:
			p.op = whole(f.Table)
		case shows == bySize: // of the collections or the contents of the table that it names, or of all
			sized := func(c *schemas.Column) bool {
				named := f.Part == "" || slices.Contains(strings.Split(f.Part, ", "), c.Name)
				return named && schemas.Sized(c) && strings.HasPrefix(f.Rule.ID, "collection") == c.Type.Collection()
			}
			p.sized = slices.DeleteFunc(slices.Clone(t.Columns), func(c *schemas.Column) bool { return !sized(c) })
			p.op = find(func(o *schemas.Pattern) bool { return o.Kind.Reads() && slices.ContainsFunc(o.Columns, sized) })
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

//go:embed prove.yaml
var proveText string

// ProofWorkload is a workload that runs the operations of the probes at the numbers of rows of a sweep such as
// "population.rows=1000,10000", by default at two. At each point, phases follow with more keys of a call and after
// deletes, so that nothing else differs. It is "" if a run can show no finding.
func (k *Keyspace) ProofWorkload(rows string) (string, error) {
	small := max(100, k.Rows/proveFactor)
	rows = cmp.Or(rows, fmt.Sprintf("population.rows=%d,%d", small, proveFactor*small))
	var levels []int
	list, ok := strings.CutPrefix(rows, "population.rows=")
	err := json.Unmarshal([]byte("["+list+"]"), &levels)
	ascending := slices.Compact(slices.Sorted(slices.Values(levels)))
	if !ok || err != nil || len(levels) < 2 || levels[0] < 1 || !slices.Equal(levels, ascending) {
		return "", fmt.Errorf("%q: --prove sweeps rows; expected population.rows=N,N,…, each larger than the one before, "+
			"such as population.rows=1000,10000", rows)
	}
	type object = map[string]any
	values, grow := object{}, map[string]int{} // grow are keys of which there is as many times more as of rows
	mixes := map[string]object{provePhase: {}, byItems.after: {}, "delete": {}, byDeletes.after: {}}
	deletes := max(1, levels[0]*90/100) // before a read that lint warns of for its tombstones
	run := func(phase, op string, items int) { mixes[phase][op] = object{"weight": 1, "items": items} }
	for _, p := range k.probes {
		if p.shows == nil {
			continue
		}
		t := k.Schema.Table(p.finding.Table)
		run(provePhase, p.op, proveItems)
		if p.shows.after != "" {
			run(p.shows.after, p.op, p.shows.items)
		}
		if p.deletes != "" {
			run("delete", p.deletes, 1)
			grow["phases.delete.operations"] = len(mixes["delete"]) * deletes
			one := object{} // the deleted rows are in the partition that is read
			for _, c := range t.Partition {
				one[c.Name] = object{"distinct": 1}
			}
			values[t.Name] = one
		}
		for _, c := range p.sized {
			size := 200 // bytes, at few rows
			if c.Type.Collection() {
				size = 10 // elements
			}
			grow["values."+t.Name+"."+c.Name+".size"] = size
		}
	}
	phases := ""
	for _, p := range []struct {
		name            string
		clients, ofEach int
	}{{provePhase, 1, proveOps}, {byItems.after, 1, proveOps}, {"delete", 32, deletes}, {byDeletes.after, 1, proveOps}} {
		if mix := mixes[p.name]; len(mix) > 0 {
			phases += fmt.Sprintf("\n  - measure: {name: %s, clients: %d, operations: %d, mix: %s}",
				p.name, p.clients, p.ofEach*len(mix), flow(mix))
		}
	}
	if phases == "" {
		return "", nil
	}
	sweep := "population.rows: " + flow(levels) // first, since it names the points
	for _, key := range slices.Sorted(maps.Keys(grow)) {
		var all []int
		for _, n := range levels {
			all = append(all, grow[key]*n/levels[0])
		}
		sweep += fmt.Sprintf(", %s: %s", key, flow(all))
	}
	return strings.NewReplacer("NAME", k.Schema.Name, "ROWS", fmt.Sprint(levels[0]), "VALUES", flow(values),
		"WARMUP", fmt.Sprint(10*len(mixes[provePhase])), "\nPHASES", phases, "SWEEP", sweep).Replace(proveText), nil
}

// Findings are for each finding of lint and each engine whether the run has shown it.
func (k *Keyspace) Findings(engines []string, r *results.Run) (all []results.Finding) {
	for _, engine := range engines {
		for _, p := range k.probes {
			f := results.Finding{Rule: p.finding.Rule.ID, Where: cmp.Or(p.finding.Pattern, p.finding.Table), Engine: engine}
			f.Predicted = p.finding.Message
			f.Verdict, f.Measured = p.verdict(r, engine)
			all = append(all, f)
		}
	}
	return all
}

// verdict says whether a run confirms the finding on an engine, and with which numbers: of the first and the last point
// of the sweep, or of the two phases of the last.
func (p *probe) verdict(r *results.Run, engine string) (verdict, measured string) {
	if p.shows == nil {
		return "not shown", p.why
	}
	points, rows, ops, more := r.Sweep.Points, []int{}, []results.Op{}, 0.0
	if p.shows.after != "" {
		points, more = points[len(points)-1:], proveFactor
	}
	for _, point := range points {
		for i := range r.Cells { // trials go up and down
			c := &r.Cells[i]
			if op := c.Ops[p.op]; c.Engine == engine && c.Point == point.Value && op.Count > 0 &&
				(c.Phase == provePhase || c.Phase == p.shows.after) {
				rows, ops = append(rows, point.Messages), append(ops, op)
			}
		}
	}
	n := len(ops) - 1
	if n < 1 || p.shows.after == "" && rows[0] == rows[n] {
		return "not measured", "no operation succeeded at each point"
	}
	was, is := p.shows.of(&ops[0]), p.shows.of(&ops[n])
	more, times := cmp.Or(more, float64(rows[n])/float64(rows[0])), is/max(was, 1e-9)
	says := strings.NewReplacer("{op}", p.op, "{table}", p.finding.Table,
		"{times}", words.Amount(times), "{more}", words.Amount(more), "{was}", words.Amount(was), "{is}", words.Amount(is),
		"{first}", words.Duration(took(&ops[0])), "{last}", words.Duration(took(&ops[n])),
	).Replace(p.shows.says)
	if times >= p.shows.least*more && (p.shows != byWaste || is >= 2) { // scanned for each that it returns
		return "confirmed", says
	}
	return "not seen", fmt.Sprintf("up to %s rows, %s", words.Thousands(rows[n]), says)
}
