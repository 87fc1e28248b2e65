package plan

import (
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Source says which of a row's groups of values holds a column.
type Source uint8

// Sources.
const (
	FromKey    Source = iota // the primary key
	FromRow                  // the columns read of the row
	FromStatic               // the partition's static columns
)

// Output is the position of a yielded value in a group.
type Output struct {
	Source Source
	At     int
}

// Outputs finds each of the pattern's columns among the key, the columns read of
// a row, and the static columns.
func (p *Plan) Outputs(key, row, statics []*schemas.Column) ([]Output, error) {
	outs := make([]Output, len(p.pattern.Columns))
	for i, c := range p.pattern.Columns {
		if at := slices.Index(key, c); at >= 0 {
			outs[i] = Output{FromKey, at}
		} else if at := slices.Index(row, c); at >= 0 {
			outs[i] = Output{FromRow, at}
		} else if at := slices.Index(statics, c); at >= 0 {
			outs[i] = Output{FromStatic, at}
		} else {
			return nil, fmt.Errorf("column %s is not one of table %s", c.Name, p.pattern.Table.Name)
		}
	}
	return outs, nil
}

// Project puts the values of the outputs into row, which has the length of outs.
func Project(row []drivers.Value, outs []Output, key, vals, statics []drivers.Value) {
	for i, o := range outs {
		switch o.Source {
		case FromKey:
			row[i] = key[o.At]
		case FromRow:
			row[i] = vals[o.At]
		case FromStatic:
			row[i] = statics[o.At]
		}
	}
}
