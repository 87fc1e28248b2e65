package keys

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestDivide: the keys at which keys are divided are some of them, and ranges of
// many keys have some keys each.
func TestDivide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.SliceOfN(rapid.SampledFrom([]byte("\x00\x01029\xfe\xff")), 1, 12)
		keys := rapid.SliceOfNDistinct(one, 1, 60, func(b []byte) string { return string(b) }).Draw(t, "keys")
		slices.SortFunc(keys, bytes.Compare)
		n := rapid.IntRange(1, 100).Draw(t, "n")
		at, err := Divide(n, func(key []byte, before bool) ([]byte, error) {
			i, _ := slices.BinarySearchFunc(keys, key, bytes.Compare)
			switch {
			case key == nil && before:
				return keys[len(keys)-1], nil
			case key == nil:
				return keys[0], nil
			case i == 0 || i == len(keys):
				t.Fatalf("%q is not between %q and %q", key, keys[0], keys[len(keys)-1])
			case before:
				return keys[i-1], nil
			}
			return keys[i], nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := min(n, len(keys)) - 1; len(at) != want {
			t.Fatalf("%d keys were divided at %d places, want %d", len(keys), len(at), want)
		}
		for i, k := range at {
			if _, found := slices.BinarySearchFunc(keys, k, bytes.Compare); !found || i > 0 && bytes.Compare(at[i-1], k) >= 0 {
				t.Fatalf("divided at %q", at)
			}
		}
	})
}
