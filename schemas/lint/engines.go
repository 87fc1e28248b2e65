package lint

import (
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/schemas"
)

// unable says why an engine cannot run a pattern as it is declared, or "". It repeats
// what drivers decide when they prepare the pattern.
func unable(engine string, p *schemas.Pattern) string {
	for _, part := range p.Parts {
		if why := unable(engine, part.Pattern); why != "" {
			return fmt.Sprintf("%s: %s", part.Pattern.Name, why)
		}
	}
	if p.Nested && engine != oracle {
		return "it has no read of rows and of those around them"
	}
	switch engine {
	case cassandra:
		return cassandraUnable(p)
	case hbase:
		return hbaseUnable(p)
	case oracle:
		if p.Kind == schemas.Batch && p.Atomic == schemas.AtomicAll {
			return "it is atomic below one shard key only"
		}
	case embedded:
		return ""
	}
	return ""
}

func cassandraUnable(p *schemas.Pattern) string {
	switch {
	case p.Kind == schemas.Batch:
		return countersUnable(p)
	case p.ReturnsNew:
		return "a write returns no values"
	case p.Kind == schemas.Add && p.Columns[0].Type.Kind != schemas.Counter:
		return "it adds to counters only"
	case p.Index == nil && p.Reverse && filtersByIndex(p):
		return "it cannot read backwards through an index"
	case p.Index == nil:
		return ""
	}
	last := len(p.Index.Columns) - 1
	switch {
	case !p.Table.OneColumn(p.Index):
		return "an index finds equal values of one plain column, and has no order"
	case len(p.By) <= last || p.Reverse || p.In != nil || len(p.Filter) > 0:
		return "an index finds equal values, in no order"
	case last == 0 && (p.From != nil || p.To != nil || len(p.After) > 0):
		return "an index without the partition key returns rows in no order"
	}
	return ""
}

// filtersByIndex reports whether Cassandra would use an index for a filter.
func filtersByIndex(p *schemas.Pattern) bool {
	return slices.ContainsFunc(p.Table.Indexes, func(x *schemas.Index) bool {
		return p.Table.OneColumn(x) && slices.Contains(p.Filter, x.Columns[len(x.Columns)-1].Column)
	})
}

// countersUnable says why Cassandra refuses a batch of counters, or "".
func countersUnable(p *schemas.Pattern) string {
	counters := 0
	for _, part := range p.Parts {
		if part.Pattern.Kind == schemas.Add {
			counters++
		}
	}
	switch {
	case counters == 0 || p.Atomic == schemas.AtomicNone:
		return ""
	case counters < len(p.Parts):
		return "a batch cannot mix counters with other columns"
	case p.Atomic == schemas.AtomicAll:
		return "a batch of counters is not logged"
	}
	return ""
}

// hbaseKeeps reports whether the driver for HBase keeps a table of entries for an index.
func hbaseKeeps(t *schemas.Table, x *schemas.Index) bool {
	return len(t.Columns) > 1 && t.Hints[hbase]["marker"] == "" && !x.OverKeys() &&
		!slices.ContainsFunc(x.Columns, func(x schemas.IndexColumn) bool {
			c := x.Column
			return x.Desc || c.Role == schemas.Static || c.Type.Collection() || c.Type.Kind == schemas.Counter
		})
}

func hbaseUnable(p *schemas.Pattern) string {
	switch {
	case p.Index != nil && !hbaseKeeps(p.Table, p.Index):
		return "it has no indexes, and mailbench keeps only such over plain columns of rows, in ascending order"
	case p.Index != nil && len(p.By) < len(p.Index.Columns):
		return "an index finds equal values of all its columns"
	case p.Index != nil:
		return ""
	case p.Kind == schemas.Slice && p.Reverse && wide(p.Table) && boundKeys(p) < rowColumns(p.Table):
		return "it cannot read the cells of several wide rows backwards"
	case p.Present && (p.Kind == schemas.Delete || wide(p.Table)):
		return "it deletes, and writes cells of wide rows, whether the row is there or not"
	case p.Kind != schemas.Batch || p.Atomic == schemas.AtomicNone:
		return ""
	case p.Atomic == schemas.AtomicAll:
		return "it changes one row at once"
	}
	first := p.Parts[0].Pattern
	for _, part := range p.Parts {
		t := part.Pattern.Table
		n := rowColumns(t)
		switch {
		case p.Atomic != schemas.AtomicRow && n != len(t.Partition):
			return fmt.Sprintf("the rows of %s are HBase rows of their own", t.Name)
		case t.Root() != first.Table.Root() || n != rowColumns(first.Table):
			return fmt.Sprintf("%s and %s are in different HBase rows", first.Table.Name, t.Name)
		}
	}
	return ""
}
