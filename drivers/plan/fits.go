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
	if k != t.Kind && k != schemas.Null && (k != schemas.Bigint || t.Kind != schemas.Counter) && (k != schemas.Counter || t.Kind != schemas.Bigint) {
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
