package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/models/patterns"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/workloads/results"
)

// probe is a finding of lint with the operation that shows it.
type probe struct {
	finding lint.Finding
	op      string // a pattern, or one that reads a whole partition
	shows   growth
	deletes string // the pattern that deletes the rows
	unit    string // what the rows of its table are
	why     string // it cannot be shown
}

// growth is how cost shows a finding.
type growth uint8

const (
	byNothing growth = iota // more rows do not show it
	byRows                  // the operation scans more rows the more rows there are
	byPart                  // a whole partition does
	byWaste                 // it scans more rows than it returns
	byItems                 // it scans or writes more rows the more keys one call has
	byDeletes               // it takes longer the more rows were deleted before
)

// shownBy says how findings of a rule show. Rules that are not here are about other things than growth.
var shownBy = map[string]growth{
	"unbounded-partition": byPart, "unbounded-row": byPart, "hot-partition-key": byPart, "large-partition": byPart,
	"unbounded-read": byRows, "scan-filter": byRows, "scan-all": byRows, "count-all": byRows, "index-few-values": byRows,
	"filter-reads-more": byWaste, "many-partitions": byItems, "batch-unbounded": byItems,
	"queue": byDeletes, "tombstones-newest": byDeletes, "index-all-nodes": byNothing, "index-many-values": byNothing,
}

// notShown says with what the cost of some findings grows.
var notShown = map[string]string{"index-all-nodes": "nodes", "index-many-values": "nodes"}

// probesOf are the findings of a schema that a run of the keyspace can show.
func probesOf(k *patterns.Keyspace, report *lint.Report) (all []probe) {
	for _, f := range report.Findings {
		shows, known := shownBy[f.Rule.ID]
		if !known || f.Accepted != "" || f.Severity == lint.Note {
			continue
		}
		p := probe{finding: f, op: f.Pattern, shows: shows, unit: "rows", why: notShown[f.Rule.ID]}
		if t := report.Schema.Table(f.Table); t != nil && len(t.Rows) > 0 && t.Rows[0].Growth != nil {
			p.unit = t.Rows[0].Each + "s"
		}
		switch {
		case shows == byPart:
			p.op = patterns.Whole + strings.ReplaceAll(f.Table, ".", "_")
		case f.Pattern == "": // of an index
			i := slices.IndexFunc(k.Patterns, func(o *schemas.Pattern) bool { return o.Index != nil && o.Table.Name == f.Table })
			if i >= 0 {
				p.op = k.Patterns[i].Name
			}
		}
		if shows == byDeletes {
			i := slices.IndexFunc(k.Patterns, func(o *schemas.Pattern) bool {
				return o.Kind == schemas.Delete && o.Scope == schemas.ScopeRow && o.Table.Name == f.Table
			})
			if i >= 0 {
				p.deletes = k.Patterns[i].Name
			}
		}
		if shows != byNothing && k.Schema.Pattern(p.op) == nil || shows == byDeletes && p.deletes == "" {
			p.shows = byNothing
		}
		all = append(all, p)
	}
	return all
}

// provePhase is the phase that measures the operations of the probes.
const provePhase = "prove"

// The sweep that shows findings: ten times the rows, and keys of a call.
const (
	proveFactor = 10
	proveItems  = 10
	// provePercent of the rows are deleted before a read that lint warns of for its tombstones.
	provePercent = 90
	// proveSlower is how many times as long such a read must take.
	proveSlower = 3
	// proveOps is how often each operation is measured at each point.
	proveOps = 50
)

// proveWorkload is a workload that runs the operations of the probes at few and at many rows.
func proveWorkload(k *patterns.Keyspace, probes []probe) string {
	var mix, paths, deletes []string
	small := max(proveFactor, k.Rows/proveFactor)
	if slices.ContainsFunc(probes, func(p probe) bool { return p.shows == byDeletes }) {
		small = k.Rows // few tombstones cost nothing that can be measured
	}
	for _, p := range probes {
		if one := fmt.Sprintf("%q: 1", p.deletes); p.shows == byDeletes && !slices.Contains(deletes, one) {
			deletes = append(deletes, one)
		}
		one := fmt.Sprintf("%q: {weight: 1, items: %d}", p.op, proveItems)
		if p.shows == byNothing || slices.Contains(mix, one) {
			continue
		}
		mix = append(mix, one)
		if p.shows == byItems {
			paths = append(paths, fmt.Sprintf(", phases.prove.mix.%s.items: [%d, %d]", p.op, proveItems, proveFactor*proveItems))
		}
	}
	churn := ""
	if n := len(deletes); n > 0 {
		most := small * n * provePercent / 100
		churn = fmt.Sprintf("  - measure: {name: delete, clients: 32, operations: %d, mix: {%s}}\n", most, strings.Join(deletes, ", "))
		paths = append(paths, fmt.Sprintf(", phases.delete.operations: [%d, %d]", most, proveFactor*most))
	}
	return fmt.Sprintf(`version: 1
name: %s
doc: Lint findings of a schema, at few and at many rows
population: {rows: %d}
keys: {rows: uniform}
phases:
  - load: {}
  - settle: {}
%s  - warmup: {operations: %d}
  - measure: {name: prove, clients: 1, operations: %d, mix: {%s}}
sweep: {population.rows: [%d, %d]%s}
trials: {count: 1}
`, k.Schema.Name, small, churn, 10*len(mix), proveOps*len(mix), strings.Join(mix, ", "), small, proveFactor*small,
		strings.Join(paths, ""))
}

// measuredAt is what an operation cost at a point of the sweep.
type measuredAt struct {
	point          string
	scanned, given float64
	p50            time.Duration
}

// at is what the operation of a probe cost on an engine at each point, in their order.
func (p *probe) at(r *results.Run, engine string) (all []measuredAt) {
	for i := range r.Cells {
		c := &r.Cells[i]
		op, ok := c.Ops[p.op]
		if c.Engine != engine || c.Phase != provePhase || !c.Measured() || !ok || op.Count == 0 {
			continue
		}
		one := measuredAt{
			point: c.Point, given: op.Store.RowsRead, scanned: op.Store.RowsRead + op.Store.RowsWritten,
			p50: time.Duration(op.Service.P50),
		}
		if op.Store.RowsExamined != nil {
			one.scanned = max(one.scanned, *op.Store.RowsExamined)
		}
		all = append(all, one)
	}
	return all
}

// verdict says whether the measurement confirms the finding.
func (p *probe) verdict(at []measuredAt) string {
	if p.shows == byNothing && p.why == "" {
		return "not shown: its pattern is not measured"
	} else if p.shows == byNothing {
		return fmt.Sprintf("not shown: its cost grows with %s, and this run changes rows only", p.why)
	}
	if len(at) < 2 {
		return "not measured: no operation succeeded at each point"
	}
	first, last := at[0], at[len(at)-1]
	times := last.scanned / max(1, first.scanned)
	what, over := p.op+" scans", p.unit
	switch p.shows {
	case byPart:
		what = "a partition of " + p.finding.Table + " has"
	case byItems:
		over = "keys of a call"
		if p.finding.Rule.ID == "batch-unbounded" {
			what = p.op + " writes"
		}
	case byDeletes:
		slower := float64(last.p50) / float64(max(1, first.p50))
		if slower >= proveSlower {
			return fmt.Sprintf("confirmed: %s takes %.3g× as long at %d× the deleted %s, p50 %s → %s ms", p.op, slower, proveFactor,
				p.unit, msOf(first.p50), msOf(last.p50))
		}
		return fmt.Sprintf("not seen up to %s %s, of which %d%% were deleted (p50 %s → %s ms)", last.point, p.unit,
			provePercent, msOf(first.p50), msOf(last.p50))
	case byWaste:
		if last.scanned >= 2*max(1, last.given) {
			return fmt.Sprintf("confirmed: %s %.0f rows to return %.1f, p50 %s ms", what, last.scanned, last.given,
				msOf(last.p50))
		}
		return fmt.Sprintf("not seen up to %s %s", last.point, p.unit)
	}
	if times >= proveFactor/2 {
		return fmt.Sprintf("confirmed: %s %.3g× the rows at %d× the %s (%.0f → %.0f), p50 %s → %s ms", what, times, proveFactor,
			over, first.scanned, last.scanned, msOf(first.p50), msOf(last.p50))
	}
	return fmt.Sprintf("not seen up to %s %s (%.0f → %.0f rows)", last.point, p.unit, first.scanned,
		last.scanned)
}

func msOf(d time.Duration) string { return fmt.Sprintf("%.2g", float64(d)/float64(time.Millisecond)) }

// tellProof prints for each finding of lint whether the run has shown it.
func tellProof(w io.Writer, probes []probe, r *results.Run) error {
	var b strings.Builder
	b.WriteString("\nLint findings, and whether growth shows them:\n")
	if len(probes) == 0 {
		b.WriteString("  lint warns of nothing that growth could show\n")
	}
	for _, engine := range r.Config.Engines {
		for i := range probes {
			p := &probes[i]
			where := p.finding.Table
			if p.finding.Pattern != "" {
				where = p.finding.Pattern
			}
			fmt.Fprintf(&b, "  %s %s on %s: %s\n", p.finding.Rule.ID, where, engine, p.verdict(p.at(r, engine)))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
