package hbase

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
	"github.com/mailbench/mailbench/schemas"
)

// bundled lays out a table of a schema that mailbench brings along.
func bundled(t *testing.T, schema, name string) *table {
	t.Helper()
	s, err := schemas.Bundled(schema)
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLayout(prefixOf("", schema), s)
	if err != nil {
		t.Fatal(err)
	}
	return l.tables[s.Table(name)]
}

// TestJamesKeys holds the keys to the source design: the mailbox's 16 bytes and
// 2^63-1-UID in 8, big-endian; chunks are 1, 2, 3 … in 8. UID 0 is given to no
// message.
func TestJamesKeys(t *testing.T) {
	messages, data := bundled(t, "james", "JAMES_MESSAGES"), bundled(t, "james", "JAMES_MESSAGES.data")
	mailbox := [16]byte{0xde, 0xad, 0xbe, 0xef, 15: 1}
	const id = "deadbeef000000000000000000000001"
	var before []byte
	for _, c := range []struct {
		uid int64
		key string
	}{
		{math.MaxInt64, id + "0000000000000000"},
		{1 << 31, id + "7fffffff7fffffff"},
		{2, id + "7ffffffffffffffd"},
		{1, id + "7ffffffffffffffe"},
		{0, id + "7fffffffffffffff"},
	} {
		vals := []drivers.Value{drivers.UUID(mailbox), drivers.Bigint(c.uid)}
		for _, tb := range []*table{messages, data} {
			key, err := tb.row.Append(nil, 0, vals)
			if err != nil || hex.EncodeToString(key) != c.key {
				t.Errorf("table %s, UID %d: row key %x, %v; expected %s", tb.schema.Name, c.uid, key, err, c.key)
			}
		}
		key, _ := hex.DecodeString(c.key)
		if bytes.Compare(before, key) >= 0 {
			t.Errorf("UID %d does not come behind the greater one before", c.uid)
		}
		before = key
		got := make([]drivers.Value, 2)
		if _, err := messages.row.Decode(key, got, nil, false); err != nil || !got[0].Equal(vals[0]) || !got[1].Equal(vals[1]) {
			t.Errorf("row key %s decodes to %v, %v", c.key, got, err)
		}
	}
	for n, want := range map[int64]string{1: "0000000000000001", 10: "000000000000000a", math.MaxInt64: "7fffffffffffffff"} {
		if got, err := data.rest.Append(nil, 0, []drivers.Value{drivers.Bigint(n)}); err != nil || hex.EncodeToString(got) != want {
			t.Errorf("chunk %d is column %x, %v; expected %s", n, got, err, want)
		}
	}
	if _, err := data.rest.Append(nil, 0, []drivers.Value{drivers.Bigint(-1)}); err == nil {
		t.Error("chunk -1 got a name, though the schema says that there is none")
	}
	if data.family != "data" || messages.family != "m" || string(data.hbase) != "mailbench_james.JAMES_MESSAGES" {
		t.Errorf("families %s and %s of table %s", messages.family, data.family, data.hbase)
	}
}

// TestRawKeys holds last texts to standing as they are, in order, and never empty.
func TestRawKeys(t *testing.T) {
	tb := bundled(t, "elasticinbox", "IndexLabels")
	var before []byte
	for _, c := range []struct{ text, key string }{
		{"", "\x00"},
		{"\x00", "\x00\x00"},
		{"\x00\x01", "\x00\x00\x01"},
		{"\x01", "\x01"},
		{"a", "a"},
		{"a\x00", "a\x00"},
		{"joe@x:1", "joe@x:1"},
		{"joe@x:10", "joe@x:10"},
	} {
		key, err := tb.row.Append(nil, 0, []drivers.Value{drivers.Text(c.text)})
		if err != nil || string(key) != c.key {
			t.Errorf("text %q is row key %q, %v; expected %q", c.text, key, err, c.key)
		}
		if bytes.Compare(before, key) >= 0 {
			t.Errorf("text %q does not come behind the lesser one before", c.text)
		}
		before = key
		if next := tb.row.After(bytes.Clone(key), 1); bytes.Compare(next, key) <= 0 || string(next) != c.key+"\x00" {
			t.Errorf("behind row key %q is %q", key, next)
		}
		got := make([]drivers.Value, 1)
		if _, err := tb.row.Decode(key, got, nil, false); err != nil || got[0].Str() != c.text {
			t.Errorf("row key %q decodes to %v, %v", key, got, err)
		}
	}
	long := []byte(strings.Repeat("k", rpc.MaxRow+1))
	if err := rpc.CheckRow(long); !errors.Is(err, drivers.ErrTooLarge) {
		t.Errorf("a row key of %d bytes: %v", len(long), err)
	}
	if err := rpc.CheckRow(long[1:]); err != nil {
		t.Error(err)
	}
}

// TestValues writes values as HBase's class Bytes does, none of them empty.
func TestValues(t *testing.T) {
	id := [16]byte{0xff, 0, 'm', 'b', 'n'} // like an escape, and none
	for _, c := range []struct {
		v    drivers.Value
		want string
	}{
		{drivers.Text("é"), "c3a9"},
		{drivers.Text(""), "ff006d6265"},
		{drivers.Blob(nil), "ff006d6265"},
		{drivers.Value{}, "ff006d626e"},
		{drivers.Blob([]byte("\xff\x00mbn")), "ff006d6276ff006d626e"},
		{drivers.Blob([]byte{0xff, 0}), "ff00"},
		{drivers.Int(-2), "fffffffe"},
		{drivers.Bigint(1), "0000000000000001"},
		{drivers.Counter(-1), "ffffffffffffffff"},
		{drivers.Timestamp(1 << 40), "0000010000000000"},
		{drivers.Boolean(true), "ff"},
		{drivers.Boolean(false), "00"},
		{drivers.UUID(id), "ff006d626e0000000000000000000000"},
		{drivers.TimeUUID(id), "ff006d626e0000000000000000000000"},
		{drivers.Int(-16749214), "ff006d62"},
	} {
		got := appendValue(nil, c.v)
		if hex.EncodeToString(got) != c.want || !bytes.Equal(got, encodeValue(c.v)) {
			t.Errorf("%v %q is written as %x and %x, expected %s", c.v.Kind(), c.v.Str(), got, encodeValue(c.v),
				c.want)
		}
		kind := c.v.Kind()
		if c.v.IsNull() {
			kind = schemas.Text
		}
		back, err := decodeValue(kind, got, false)
		if err != nil || back.Kind() != c.v.Kind() || fmt.Sprint(back) != fmt.Sprint(c.v) && len(back.Raw())+len(c.v.Raw()) > 0 {
			t.Errorf("%x of a %s is read as %v, %v; expected %v", got, kind, back, err, c.v)
		}
	}
	for kind, wrong := range map[schemas.Kind]string{
		schemas.Int: "12345", schemas.Bigint: "1", schemas.Boolean: "", schemas.UUID: "short", schemas.Text: "", schemas.Blob: escape,
	} {
		if v, err := decodeValue(kind, []byte(wrong), false); !errors.Is(err, errValue) {
			t.Errorf("%q of a %s is read as %v, %v", wrong, kind, v, err)
		}
	}
}
