package plan

import (
	"errors"
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

// Fits checks that a value is of a type, with all its elements. Counters and
// bigints are the same to a client; null is of every type, but no element is null.
func Fits(t *schemas.Type, v *drivers.Value) error {
	k := v.Kind()
	if !sameKind(k, t.Kind) {
		return fmt.Errorf("a %s was given for a %s", k, t)
	}
	elems := v.Elems()
	if t.Kind == schemas.Map && len(elems)%2 != 0 {
		return errors.New("a map is key, value, key, value …, but the number of its elements is odd")
	}
	for i := range elems {
		elem := t.Elem
		if t.Kind == schemas.Map && i%2 == 0 {
			elem = t.Key
		}
		if err := Fits(elem, &elems[i]); err != nil {
			return err
		}
		if elems[i].IsNull() {
			return fmt.Errorf("an element: %w", ErrNull)
		}
	}
	return nil
}

// sameKind reports whether a client may give a value of kind got for the kind want.
func sameKind(got, want schemas.Kind) bool {
	counts := func(k schemas.Kind) bool { return k == schemas.Bigint || k == schemas.Counter }
	return got == want || got == schemas.Null || counts(got) && counts(want)
}
