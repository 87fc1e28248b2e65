package cassandra

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

var (
	textType = schemas.Type{Kind: schemas.Text}
	intType  = schemas.Type{Kind: schemas.Int}
	blobType = schemas.Type{Kind: schemas.Blob}
)

// cqlTypes are the types as gocql knows them.
var cqlTypes = map[schemas.Kind]gocql.Type{
	schemas.Text: gocql.TypeVarchar, schemas.Blob: gocql.TypeBlob, schemas.Int: gocql.TypeInt, schemas.Bigint: gocql.TypeBigInt,
	schemas.Boolean: gocql.TypeBoolean, schemas.UUID: gocql.TypeUUID, schemas.TimeUUID: gocql.TypeTimeUUID,
	schemas.Timestamp: gocql.TypeBigInt, schemas.Counter: gocql.TypeCounter,
}

func infoOf(t schemas.Type) gocql.TypeInfo {
	native := func(k schemas.Kind) gocql.NativeType { return gocql.NewNativeType(protocol, cqlTypes[k], "") }
	switch t.Kind {
	case schemas.Set:
		return gocql.CollectionType{NativeType: gocql.NewNativeType(protocol, gocql.TypeSet, ""), Elem: native(t.Elem.Kind)}
	case schemas.List:
		return gocql.CollectionType{NativeType: gocql.NewNativeType(protocol, gocql.TypeList, ""), Elem: native(t.Elem.Kind)}
	case schemas.Map:
		return gocql.CollectionType{
			NativeType: gocql.NewNativeType(protocol, gocql.TypeMap, ""), Key: native(t.Key.Kind),
			Elem: native(t.Elem.Kind),
		}
	}
	return native(t.Kind)
}

// TestValues: what is marshalled is what gocql's own code makes of the same Go
// value, and reads back as it was.
func TestValues(t *testing.T) {
	id := [16]byte{1, 2, 3, 4, 5, 6, 0x17, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	for _, c := range []struct {
		typ schemas.Type
		v   drivers.Value
		go_ any
	}{
		{textType, drivers.Text("é\x00'"), "é\x00'"},
		{textType, drivers.Text(""), ""},
		{blobType, drivers.Blob([]byte{0, 255}), []byte{0, 255}},
		{blobType, drivers.Blob([]byte{}), []byte{}},
		{blobType, drivers.Blob(nil), []byte{}},
		{intType, drivers.Int(-2), int32(-2)},
		{schemas.Type{Kind: schemas.Bigint}, drivers.Bigint(-1 << 63), int64(-1 << 63)},
		{schemas.Type{Kind: schemas.Counter}, drivers.Counter(7), int64(7)},
		{schemas.Type{Kind: schemas.Timestamp}, drivers.Timestamp(253_402_300_799_999_999), int64(253_402_300_799_999_999)},
		{schemas.Type{Kind: schemas.Boolean}, drivers.Boolean(true), true},
		{schemas.Type{Kind: schemas.Boolean}, drivers.Boolean(false), false},
		{schemas.Type{Kind: schemas.UUID}, drivers.UUID(id), gocql.UUID(id)},
		{schemas.Type{Kind: schemas.TimeUUID}, drivers.TimeUUID(id), gocql.UUID(id)},
		{
			schemas.Type{Kind: schemas.Set, Elem: &textType},
			drivers.SetOf([]drivers.Value{drivers.Text("a"), drivers.Text("")}),
			[]string{"a", ""},
		},
		{
			schemas.Type{Kind: schemas.List, Elem: &intType},
			drivers.ListOf([]drivers.Value{drivers.Int(3), drivers.Int(-1), drivers.Int(3)}),
			[]int32{3, -1, 3},
		},
		{
			schemas.Type{Kind: schemas.Map, Key: &textType, Elem: &blobType},
			drivers.MapOf([]drivers.Value{drivers.Text("k"), drivers.Blob([]byte("v"))}),
			map[string][]byte{"k": []byte("v")},
		},
	} {
		t.Run(fmt.Sprintf("%s/%v", c.typ, c.go_), func(t *testing.T) {
			want, err := gocql.Marshal(infoOf(c.typ), c.go_)
			if err != nil {
				t.Fatal(err)
			}
			got, err := gocql.Marshal(infoOf(c.typ), &bindValue{c.v})
			if err != nil || !bytes.Equal(got, want) || got == nil {
				t.Fatalf("marshalled to %x, %v; want %x", got, err, want)
			}
			read := resultValue{typ: c.typ}
			if err := gocql.Unmarshal(infoOf(c.typ), want, &read); err != nil {
				t.Fatal(err)
			}
			if wantNull := c.typ.Collection() && len(c.v.Elems()) == 0; !read.v.Equal(c.v) && !wantNull {
				t.Errorf("read back as %v, want %v", read.v, c.v)
			}
		})
	}
}

func TestNull(t *testing.T) {
	var s bindValue
	if got, err := gocql.Marshal(infoOf(textType), &s); got != nil || err != nil {
		t.Errorf("null is marshalled to %x, %v", got, err)
	}
	c := resultValue{typ: textType, v: drivers.Text("before")}
	if err := gocql.Unmarshal(infoOf(textType), nil, &c); err != nil || !c.v.IsNull() {
		t.Errorf("null reads as %v, %v", c.v, err)
	}
}

// TestBroken: bytes that no node sends are an error, and no panic.
func TestBroken(t *testing.T) {
	list := schemas.Type{Kind: schemas.List, Elem: &intType}
	for what, c := range map[string]struct {
		typ  schemas.Type
		data []byte
	}{
		"an int of 3 bytes":             {intType, []byte{1, 2, 3}},
		"a list of 2 bytes":             {list, []byte{0, 0}},
		"a list without its element":    {list, []byte{0, 0, 0, 1}},
		"a list whose element ends":     {list, []byte{0, 0, 0, 1, 0, 0, 0, 4, 1}},
		"a list with a null element":    {list, []byte{0, 0, 0, 1, 255, 255, 255, 255}},
		"a list whose element is short": {list, []byte{0, 0, 0, 1, 0, 0, 0, 1, 1}},
	} {
		if err := gocql.Unmarshal(infoOf(c.typ), c.data, &resultValue{typ: c.typ, tolerant: new(bool)}); err == nil {
			t.Errorf("%s was read without error", what)
		}
	}
}

// TestPartition: the routing key is the one that gocql works out itself.
func TestPartition(t *testing.T) {
	bindValues := []bindValue{{v: drivers.Bigint(5)}, {v: drivers.Text("user")}, {v: drivers.Int(7)}}
	one := &query{route: []int{1}}
	if got, want := one.partition(nil, bindValues), []byte("user"); !bytes.Equal(got, want) {
		t.Errorf("one column: %x, want %x", got, want)
	}
	two := &query{route: []int{1, 2}}
	want := []byte("\x00\x04user\x00\x00\x04\x00\x00\x00\x07\x00")
	if got := two.partition(nil, bindValues); !bytes.Equal(got, want) {
		t.Errorf("two columns: %q, want %q", got, want)
	}
	if got := one.partition(nil, []bindValue{{}, {v: drivers.Text("")}}); got == nil {
		t.Errorf("an empty key is nil, which gocql takes for none")
	}
}

// TestCompare: values sort as Cassandra sorts them. (drivertest tests the order
// of rows against a real one.)
func TestCompare(t *testing.T) {
	v1 := func(low, first byte) drivers.Value {
		return drivers.TimeUUID([16]byte{3: low, 6: 0x10, 8: first})
	}
	v4 := func(first byte) drivers.Value { return drivers.UUID([16]byte{0: first, 6: 0x40}) }
	for _, ascending := range [][]drivers.Value{
		{drivers.Text(""), drivers.Text("\x00"), drivers.Text("a"), drivers.Text("a\x00"), drivers.Text("b")},
		{drivers.Int(-5), drivers.Int(0), drivers.Int(3)},
		{drivers.Boolean(false), drivers.Boolean(true)},
		{v1(1, 0x80), v1(1, 0xff), v1(1, 0), v1(1, 0x7f), v1(2, 0x80), v4(0), v4(1), v4(0x80)},
	} {
		if !slices.IsSortedFunc(ascending, compare) {
			t.Errorf("%v do not ascend", ascending)
		}
		for i := range ascending {
			for j := range ascending {
				if got := compare(ascending[i], ascending[j]); (got < 0) != (i < j) || (got == 0) != (i == j) {
					t.Errorf("compare(%v, %v) = %d", ascending[i], ascending[j], got)
				}
			}
		}
	}
}

func TestClock(t *testing.T) {
	var c clock
	const workers, each = 8, 2000
	got := make(chan []int64, workers)
	for range workers {
		go func() {
			var mine []int64
			for i := range each {
				n := int64(i%3 + 1)
				first := c.next(n)
				for k := range n {
					mine = append(mine, first+k)
				}
			}
			got <- mine
		}()
	}
	var all []int64
	for range workers {
		mine := <-got
		if !slices.IsSorted(mine) {
			t.Errorf("the timestamps of one worker do not ascend")
		}
		all = append(all, mine...)
	}
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != len(all) {
		t.Errorf("%d of %d timestamps were given twice", len(all)-n, len(all))
	}
}

func TestNextPage(t *testing.T) {
	for _, c := range []struct {
		rows int
		took time.Duration
		want int
	}{
		{20, time.Millisecond, 40},
		{600, time.Millisecond, 1000},
		{1000, 0, 1000},
		{500, 500 * time.Millisecond, 500},
		{500, 2 * time.Second, 250},
		{1, time.Minute, 1},
	} {
		if got := nextPage(c.rows, 1000, c.took); got != c.want {
			t.Errorf("after a page of %d rows in %v one of %d, want %d", c.rows, c.took, got, c.want)
		}
	}
}

// TestTokenRanges: the parts of a scan are of equal length and cover the ring.
func TestTokenRanges(t *testing.T) {
	for n, want := range map[int][][2]int64{
		1: {{math.MinInt64, math.MaxInt64}},
		4: {{math.MinInt64, -1 << 62}, {-1 << 62, 0}, {0, 1 << 62}, {1 << 62, math.MaxInt64}},
	} {
		at, err := divide(t.Context(), nil, n)
		if err != nil {
			t.Fatal(err)
		}
		var got [][2]int64
		from := []byte(nil)
		for _, end := range append(at, nil) {
			after, to := tokens(from, end)
			got = append(got, [2]int64{after, to})
			from = end
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d parts are %v, want %v", n, got, want)
		}
	}
}

// TestBoundLimit: a read without a limit gets the highest one that CQL has.
func TestBoundLimit(t *testing.T) {
	for limit, want := range map[int64]int32{-1: math.MaxInt32, 1 << 40: math.MaxInt32, 25: 25} {
		if got := (&inputs{limit: limit}).value(bindLimit); !got.Equal(drivers.Int(want)) {
			t.Errorf("LIMIT %v for %d, want %d", got, limit, want)
		}
	}
}
