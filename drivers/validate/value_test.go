package validate

import (
	"math"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// TestFault: faults of a value are found, of each type and also within collections.
func TestFault(t *testing.T) {
	var (
		uuid  = schemas.Type{Kind: schemas.UUID}
		time  = schemas.Type{Kind: schemas.TimeUUID}
		text  = schemas.Type{Kind: schemas.Text}
		large = schemas.Type{Kind: schemas.Bigint}
		sizes = schemas.Type{Kind: schemas.Map, Key: &uuid, Elem: &large}
		list  = schemas.Type{Kind: schemas.List, Elem: &text}
	)
	broken := drivers.Broken([]byte{1})
	version := func(version, variant byte) drivers.Value {
		return drivers.TimeUUID([16]byte{6: version << 4, 8: variant << 6})
	}
	for _, c := range []struct {
		name  string
		typ   *schemas.Type
		value drivers.Value
		check Check
		what  string
	}{
		{"null", &text, drivers.Value{}, "", ""},
		{"text", &text, drivers.Text("café"), "", ""},
		{"text in Latin-1", &text, drivers.TextBytes([]byte("caf\xe9")), UTF8, "0x636166e9 is not UTF-8"},
		{"broken", &uuid, broken, Decode, "0x01 is no uuid"},
		{"a time", &time, version(1, 2), "", ""},
		{"another version", &time, version(4, 2), TimeUUID, "00000000-0000-4000-8000-000000000000 is no UUID of version 1"},
		{"a variant of before", &time, version(1, 1), TimeUUID, "00000000-0000-1000-4000-000000000000 is no UUID of version 1"},
		{"Microsoft's variant", &time, version(1, 3), TimeUUID, "00000000-0000-1000-c000-000000000000 is no UUID of version 1"},
		{"a list", &list, drivers.ListOf([]drivers.Value{drivers.Text("a"), drivers.Text("b")}), "", ""},
		{"its second element", &list, drivers.ListOf([]drivers.Value{drivers.Text("a"), broken}), Decode, "an element: 0x01 is no text"},
		{"a map", &sizes, drivers.MapOf([]drivers.Value{drivers.UUID([16]byte{}), drivers.Bigint(1)}), "", ""},
		{"a key of a map", &sizes, drivers.MapOf([]drivers.Value{broken, drivers.Bigint(1)}), Decode, "an element: 0x01 is no uuid"},
		{"a value of a map", &sizes, drivers.MapOf([]drivers.Value{drivers.UUID([16]byte{}), broken}), Decode, "an element: 0x01 is no bigint"},
	} {
		if check, what := fault(c.typ, &c.value); check != c.check || what != c.what {
			t.Errorf("%s: %q, %q; want %q, %q", c.name, check, what, c.check, c.what)
		}
	}
}

// TestTextAllocs: texts that are matched are made in a buffer of their side.
func TestTextAllocs(t *testing.T) {
	id := [16]byte{1, 2, 3}
	for _, v := range []drivers.Value{
		drivers.UUID(id), drivers.Blob(id[:]), drivers.Bigint(math.MinInt64), drivers.Text("ann"), drivers.Text(""),
	} {
		m := match{rawID: v.Kind() == schemas.Blob}
		if n := testing.AllocsPerRun(100, func() { m.text(&v) }); n > 0 {
			t.Errorf("%v: %v allocations, expected none", v.Kind(), n)
		}
	}
}
