package keys

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

var kinds = []schemas.Kind{
	schemas.Text, schemas.Blob, schemas.Int, schemas.Bigint, schemas.Boolean,
	schemas.UUID, schemas.TimeUUID, schemas.Timestamp,
}

// compare is the order of values stated without their encoding.
func compare(a, b drivers.Value) int {
	switch a.Kind() {
	case schemas.Text, schemas.Blob:
		return bytes.Compare(a.Raw(), b.Raw())
	case schemas.UUID:
		x, y := a.UUIDBytes(), b.UUIDBytes()
		return bytes.Compare(x[:], y[:])
	case schemas.TimeUUID:
		x, y := a.UUIDBytes(), b.UUIDBytes()
		if c := cmp.Compare(uuidTime(x), uuidTime(y)); c != 0 {
			return c
		}
		for i := 8; i < 16; i++ {
			if c := cmp.Compare(int8(x[i]), int8(y[i])); c != 0 {
				return c
			}
		}
		return 0
	default:
		return cmp.Compare(a.Int64(), b.Int64())
	}
}

// uuidTime is the 60-bit time of a version 1 UUID, field by field.
func uuidTime(u [16]byte) uint64 {
	var t uint64
	for _, i := range []int{6, 7, 4, 5, 0, 1, 2, 3} {
		b := u[i]
		if i == 6 {
			b &= 0x0F
		}
		t = t<<8 | uint64(b)
	}
	return t
}

func drawValue(t *rapid.T, k schemas.Kind, label string) drivers.Value {
	switch k {
	case schemas.Text, schemas.Blob:
		// Few different bytes, zeros and 0xFF among them: prefixes and escapes are common.
		b := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 0, 1, 'a', 'b', 0xFE, 0xFF, 0xFF}), 0, 6).Draw(t, label)
		return drivers.Bytes(k, b)
	case schemas.Int:
		return drivers.Int(rapid.Int32().Draw(t, label))
	case schemas.Boolean:
		return drivers.Boolean(rapid.Bool().Draw(t, label))
	case schemas.UUID, schemas.TimeUUID:
		var u [16]byte
		copy(u[:], rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0x7F, 0x80, 0xFF}), 16, 16).Draw(t, label))
		if k == schemas.TimeUUID {
			u[6] = u[6]&0x0F | 0x10
		}
		return drivers.ID(k, u)
	default:
		return drivers.Number(k, rapid.Int64().Draw(t, label))
	}
}

// A key of several columns sorts as its columns do, each in its direction, and
// decodes to what it was made of.
func TestOrderAndRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "columns")
		var ka, kb []byte
		var as []drivers.Value
		var colKinds []schemas.Kind
		var descs []bool
		want := 0
		for range n {
			k := rapid.SampledFrom(kinds).Draw(t, "kind")
			desc := rapid.Bool().Draw(t, "desc")
			a := drawValue(t, k, "a")
			b := a
			if rapid.Bool().Draw(t, "different") {
				b = drawValue(t, k, "b")
			}
			ka, kb = Append(ka, a, desc), Append(kb, b, desc)
			if c := compare(a, b); want == 0 && desc {
				want = -c
			} else if want == 0 {
				want = c
			}
			as, colKinds, descs = append(as, a), append(colKinds, k), append(descs, desc)
		}
		if got := bytes.Compare(ka, kb); got != want {
			t.Fatalf("bytes compare as %d, values as %d:\n%x\n%x", got, want, ka, kb)
		}
		rest, buf := ka, []byte(nil)
		for i, a := range as {
			var v drivers.Value
			var err error
			v, rest, buf, err = Decode(rest, colKinds[i], descs[i], buf)
			if err != nil || !v.Equal(a) {
				t.Fatalf("column %d: decoded %v, %v; want %v", i, v, err, a)
			}
		}
		if len(rest) != 0 {
			t.Fatalf("%d bytes left", len(rest))
		}
	})
}

// All keys that begin with a column's encoding lie below its Successor, and no
// other key lies between.
func TestSuccessor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(kinds).Draw(t, "kind")
		desc := rapid.Bool().Draw(t, "desc")
		// Callers put a table's number before every key; it is never all 0xFF.
		space := []byte{0, 7}
		a, b := drawValue(t, k, "a"), drawValue(t, k, "b")
		prefix := Append(bytes.Clone(space), a, desc)
		other := Append(bytes.Clone(space), b, desc)
		tail := rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "tail")
		end := Successor(bytes.Clone(prefix))
		if bytes.Compare(append(bytes.Clone(prefix), tail...), end) >= 0 {
			t.Fatalf("%x+%x is not below its end %x", prefix, tail, end)
		}
		if !b.Equal(a) && bytes.Compare(other, prefix) > 0 && bytes.Compare(append(other, tail...), end) < 0 {
			t.Fatalf("%x lies between %x and its end %x", other, prefix, end)
		}
	})
	if got := Successor([]byte{0xFF, 0xFF}); len(got) != 0 {
		t.Errorf("Successor(FF FF) = %x, want none", got)
	}
}

// James' row key is the mailbox UUID and 2^63-1-UID, big-endian.
func TestReversedUID(t *testing.T) {
	for _, uid := range []int64{0, 1, 1 << 31, math.MaxInt64} {
		want := binary.BigEndian.AppendUint64(nil, uint64(math.MaxInt64-uid))
		if got := Append(nil, drivers.Bigint(uid), true); !bytes.Equal(got, want) {
			t.Errorf("uid %d: %x, want %x", uid, got, want)
		}
	}
}

func TestUnfit(t *testing.T) {
	for _, v := range []drivers.Value{{}, drivers.MapOf(nil), drivers.ListOf(nil)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a %s was taken as a key", v.Kind())
				}
			}()
			Append(nil, v, false)
		}()
	}
}

// Damaged keys are errors, and never panics.
func TestCorrupt(t *testing.T) {
	for _, k := range kinds {
		for _, desc := range []bool{false, true} {
			enc := Append(nil, rapid.Custom(func(t *rapid.T) drivers.Value { return drawValue(t, k, "v") }).Example(1),
				desc)
			for n := range enc {
				if _, _, _, err := Decode(enc[:n], k, desc, nil); err == nil {
					t.Errorf("%s desc=%v: %d of %d bytes decoded", k, desc, n, len(enc))
				}
			}
		}
	}
	if _, _, _, err := Decode([]byte{2}, schemas.Boolean, false, nil); err == nil {
		t.Error("2 decoded as a boolean")
	}
	if _, _, _, err := Decode([]byte{'a', 0, 7}, schemas.Text, false, nil); err == nil {
		t.Error("an unknown escape decoded")
	}
}

// Encoding and decoding into owned buffers allocates nothing.
func TestAllocations(t *testing.T) {
	v := drivers.Text("a\x00b")
	key, buf := make([]byte, 0, 64), make([]byte, 0, 64)
	n := testing.AllocsPerRun(100, func() {
		key = Append(key[:0], v, true)
		_, _, buf, _ = Decode(key, schemas.Text, true, buf[:0])
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte(""), []byte("\x00"), false)
	f.Add([]byte("a"), []byte("a\x00b"), true)
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff"), []byte("\x80\x00\x00\x00\x00\x00\x00\x00"), false)
	f.Add([]byte("0123456789abcdef"), []byte("\x00\xff\x00\x01ab\xfe\xff\x80\x7f\x00\xff\xff\xff\x80\x00"), true)
	f.Fuzz(func(t *testing.T, x, y []byte, desc bool) {
		for _, k := range kinds {
			a, b := fromBytes(k, x), fromBytes(k, y)
			ka, kb := Append(nil, a, desc), Append(nil, b, desc)
			want := compare(a, b)
			if desc {
				want = -want
			}
			if got := bytes.Compare(ka, kb); got != want {
				t.Errorf("%s: bytes compare as %d, values as %d", k, got, want)
			}
			v, rest, _, err := Decode(append(ka, y...), k, desc, nil)
			if err != nil || !v.Equal(a) || !bytes.Equal(rest, y) {
				t.Errorf("%s: decoded %v and %x, %v", k, v, rest, err)
			}
			// Any bytes are decoded or refused; what is decoded encodes to the same bytes.
			if v, rest, _, err := Decode(x, k, desc, nil); err == nil {
				if again := Append(nil, v, desc); !bytes.Equal(again, x[:len(x)-len(rest)]) {
					t.Errorf("%s: %x decodes to %v, which encodes to %x", k, x, v, again)
				}
			}
		}
	})
}

// fromBytes makes a value of the kind out of arbitrary bytes.
func fromBytes(k schemas.Kind, b []byte) drivers.Value {
	var u [16]byte
	copy(u[:], b)
	n := int64(binary.BigEndian.Uint64(u[:]))
	switch k {
	case schemas.Text, schemas.Blob:
		return drivers.Bytes(k, bytes.Clone(b))
	case schemas.Int:
		return drivers.Int(int32(n))
	case schemas.Boolean:
		return drivers.Boolean(n&1 == 1)
	case schemas.UUID:
		return drivers.UUID(u)
	case schemas.TimeUUID:
		u[6] = u[6]&0x0F | 0x10
		return drivers.TimeUUID(u)
	default:
		return drivers.Number(k, n)
	}
}
