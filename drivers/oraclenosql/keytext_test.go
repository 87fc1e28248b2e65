package oraclenosql

import (
	"bytes"
	"cmp"
	"slices"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// asJava compares strings as Oracle sorts keys: by UTF-16, with U+0000 after U+007F.
func asJava(a, b string) int {
	units := func(s string) []int {
		var all []int
		for _, u := range utf16.Encode([]rune(s)) {
			n := 2 * int(u)
			if u == 0 {
				n = 2*0x7f + 1
			}
			all = append(all, n)
		}
		return all
	}
	return slices.Compare(units(a), units(b))
}

// TestKeyText: keys sort on the server as their texts sort by bytes, and come back.
func TestKeyText(t *testing.T) {
	odd := rapid.SampledFrom([]rune{0, 1, 2, 'a', 0x7f, 0x80, 0xd7ff, 0xe000, 0xfffd, 0xfffe, 0xffff, 0x10000, 0x10ffff})
	text := rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(odd, 0, 4).Draw(t, "runes")) })
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		x, y := keyText([]byte(a)), keyText([]byte(b))
		if got, want := asJava(x, y), cmp.Compare(a, b); got != want {
			t.Fatalf("%q and %q compare %d, their keys %q and %q %d", a, b, want, x, y, got)
		}
		if back, err := textOfKey(x); err != nil || back != a {
			t.Fatalf("%q comes back as %q, %v", a, back, err)
		}
		key := field{typ: schemas.Type{Kind: schemas.Text}, key: true}
		if back, err := key.decode(x); key.encode(drivers.Text(a)) != x || err != nil || back.Str() != a {
			t.Fatalf("a key column has %q as %q, and reads %q, %v", a, key.encode(drivers.Text(a)), back.Str(), err)
		}
	})
	for _, plain := range []string{"", "ann@example.org", "日本語", "Inbox/2026"} {
		if got := keyText([]byte(plain)); got != plain {
			t.Errorf("%q is stored as %q", plain, got)
		}
	}
	for _, bad := range []string{"a\x01", "\x01a", "\uffff", "\uffffa"} {
		if got, err := textOfKey(bad); err == nil {
			t.Errorf("%q is read as %q", bad, got)
		}
	}
}

// TestTimeKey: keys of timeuuids sort by time, then by their last bytes, signed.
func TestTimeKey(t *testing.T) {
	id := rapid.Custom(func(t *rapid.T) [16]byte {
		u := [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes"))
		u[6] = u[6]&0x0f | 0x10
		return u
	})
	order := func(u [16]byte) []byte {
		b := []byte{u[6] & 0x0f, u[7], u[4], u[5], u[0], u[1], u[2], u[3]}
		for _, c := range u[8:] {
			b = append(b, c^0x80)
		}
		return b
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := id.Draw(t, "a"), id.Draw(t, "b")
		if got, want := cmp.Compare(timeKey(a), timeKey(b)), bytes.Compare(order(a), order(b)); got != want {
			t.Fatalf("%x and %x compare %d, their keys %d", a, b, want, got)
		}
		if back, err := timeOfKey(timeKey(a)); err != nil || back.UUIDBytes() != a {
			t.Fatalf("%x comes back as %x, %v", a, back.UUIDBytes(), err)
		}
	})
}
