package faulty

import (
	"slices"

	"github.com/mailbench/mailbench/schemas"
)

// span lists n positions from at on.
func span(at, n int) []int {
	drop := make([]int, n)
	for i := range drop {
		drop[i] = at + i
	}
	return drop
}

func ignoreLimit(p *schemas.Pattern) []int {
	l := p.ArgLayout()
	arg := p.LimitArg
	p.Limit, p.LimitArg = 0, false
	if arg {
		return span(l.Limit, 1)
	}
	return nil
}

func reverseDesc(p *schemas.Pattern) []int {
	if p.Kind != schemas.Slice {
		return nil
	}
	var desc []bool
	if p.Index != nil {
		for _, c := range p.Index.Columns {
			desc = append(desc, c.Desc)
		}
	} else {
		for _, c := range p.Table.Key() {
			desc = append(desc, c.Desc)
		}
	}
	next := len(p.By)
	if p.In != nil {
		next++
	}
	if next < len(desc) && desc[next] {
		p.Reverse = !p.Reverse
	}
	return nil
}

func repeatAfter(p *schemas.Pattern) []int {
	if len(p.After) != 1 || p.From != nil || p.To != nil || p.Index != nil {
		return nil
	}
	bound := &schemas.Bound{Column: p.After[0]}
	if p.After[0].Desc == p.Reverse {
		p.From = bound
	} else {
		p.To = bound
	}
	p.After = nil
	return nil
}

func closeBounds(p *schemas.Pattern) []int {
	for _, b := range []**schemas.Bound{&p.From, &p.To} {
		if *b != nil {
			*b = &schemas.Bound{Column: (*b).Column}
		}
	}
	return nil
}

// withoutFilter drops the filter and appends its columns to those that the read yields.
func withoutFilter(p *schemas.Pattern) []int {
	if len(p.Filter) == 0 {
		return nil
	}
	drop := span(p.ArgLayout().Filter, len(p.Filter))
	p.Columns = slices.Concat(p.Columns, p.Filter)
	p.Filter = nil
	return drop
}

func withoutCondition(p *schemas.Pattern) []int {
	if p.Kind == schemas.Delete {
		p.Present = false
	}
	if p.Kind != schemas.PutIf {
		return nil
	}
	drop := span(p.ArgLayout().If, len(p.If))
	p.Kind, p.If, p.Absent, p.Present = schemas.Put, nil, false, false
	return drop
}

func shortenPrefix(p *schemas.Pattern) []int {
	if p.Kind != schemas.Delete || p.Scope != schemas.ScopePrefix {
		return nil
	}
	last := len(p.By) - 1
	p.By = p.By[:last]
	p.Scope = wider(p)
	return span(last, 1)
}

// wider returns the scope of a delete whose By has lost its last column.
func wider(p *schemas.Pattern) schemas.Scope {
	if len(p.By) == len(p.Table.Partition) {
		return schemas.ScopePartition
	}
	return schemas.ScopePrefix
}

// rowDelete returns the delete of the row of a put of some columns.
func rowDelete(p *schemas.Pattern) []*schemas.Pattern {
	if p.Kind != schemas.Put || p.Static || len(p.Columns) == len(p.Table.Columns) {
		return nil
	}
	return []*schemas.Pattern{{Name: p.Name, Kind: schemas.Delete, Table: p.Table, By: p.Table.Key()}}
}

// asAppend returns the append of the collections that a put would replace.
func asAppend(p *schemas.Pattern) []*schemas.Pattern {
	if p.Kind != schemas.Put || len(p.Columns) == 0 {
		return nil
	}
	for _, c := range p.Columns {
		if !c.Type.Collection() {
			return nil
		}
	}
	return []*schemas.Pattern{{Name: p.Name, Kind: schemas.Append, Table: p.Table, By: p.By, Columns: p.Columns}}
}

// childDeletes returns the deletes of the rows that are nested below a row.
func childDeletes(p *schemas.Pattern) []*schemas.Pattern {
	if p.Kind != schemas.Delete || p.Scope != schemas.ScopeRow {
		return nil
	}
	var below []*schemas.Pattern
	for _, t := range p.Table.Children {
		if !t.Header() {
			below = append(below, &schemas.Pattern{
				Name: p.Name, Kind: schemas.Delete, Table: t,
				By: p.By, Scope: schemas.ScopePrefix,
			})
		}
	}
	return below
}
