package ledger

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// goldenRecords are the content of testdata/ledger.golden: each event once, and no
// field like another.
func goldenRecords() []Record {
	var records []Record
	for e := Delivered; e <= lastEvent; e++ {
		r := Record{
			Event: e, Place: Place{Account: 0x01020304 + uint32(e), Folder: 0x0506},
			N: 0x1112131415161718, Digest: 0x2122232425262728, Ahead: 0x31323334,
		}
		for i := range r.Handle {
			r.Handle[i] = 0x80 + byte(i)
		}
		records = append(records, r)
	}
	return records
}

// TestGolden: the encoding of records does not change unnoticed: audits read the ledgers of data sets
// that were kept. A record with a right checksum of its own alone does not continue a ledger.
func TestGolden(t *testing.T) {
	want, golden := goldenRecords(), readGolden(t)
	name := filepath.Join(t.TempDir(), "ledger")
	writeRecords(t, name, want...)
	if written, err := os.ReadFile(name); err != nil || !bytes.Equal(written, golden) {
		t.Errorf("written:\n%s\n%v", inHex(written), err)
	}
	var got []Record
	if torn, err := read(name, func(r *Record) { got = append(got, *r) }); err != nil || torn || !slices.Equal(got, want) {
		t.Errorf("read\n%+v, torn = %t, err = %v; want\n%+v", got, torn, err, want)
	}
	apart := bytes.Clone(golden)
	first := apart[:recordSize]
	binary.LittleEndian.PutUint32(first[recordSize-4:], crc32.Checksum(first[:recordSize-4], castagnoli))
	if err := os.WriteFile(name, apart, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := read(name, func(*Record) {}); !errors.Is(err, drivers.ErrCorrupt) {
		t.Errorf("a record of no chain: %v", err)
	}
}

// readGolden reads a ledger that is kept as a record a line, in hex.
func readGolden(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "ledger.golden"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func inHex(ledger []byte) string {
	var text strings.Builder
	for record := range slices.Chunk(ledger, recordSize) {
		text.WriteString(hex.EncodeToString(record) + "\n")
	}
	return text.String()
}

// TestHeld: the content of calls on a message comes back from its ledger, also after a move.
func TestHeld(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ledger")
	var b []byte
	for _, r := range []Record{
		{Event: Delivered, Held: 0x65, N: 1, Handle: models.Handle{1}},
		{Event: Left, N: 2, Handle: models.Handle{1}},
		{Event: Arrived, Place: Place{Folder: 1}, N: 2, Handle: models.Handle{2}},
	} {
		b = r.Append(b)
	}
	link(firstLink, b)
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := ReadHistory(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range h.Entries {
		if e.Held != 0x65 {
			t.Errorf("%+v, want what the delivery holds", e)
		}
	}
}
