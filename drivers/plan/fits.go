package plan

import (
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Fits checks that a value is of a type, with all its elements. Counters and
// bigints are the same to a client; null is of every type, but no element is null.
func Fits(t *schemas.Type, v *drivers.Value) error {
	k := v.Kind()
	if !sameKind(k, t.Kind) {
		return fmt.Errorf("a %s was given for a %s", k, t)
	}
	elems := v.Elems()
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

// CheckKind checks that a value of the kind can be put into the column. It does
// not look at elements.
func CheckKind(c *schemas.Column, k schemas.Kind) error {
	if sameKind(k, c.Type.Kind) {
		return nil
	}
	return fmt.Errorf("a %s value was given for column %s, which is %s", k, c.Name, c.Type)
}

// sameKind reports whether a client may give a value of kind got for the kind want.
func sameKind(got, want schemas.Kind) bool {
	counts := func(k schemas.Kind) bool { return k == schemas.Bigint || k == schemas.Counter }
	return got == want || got == schemas.Null || counts(got) && counts(want)
}
