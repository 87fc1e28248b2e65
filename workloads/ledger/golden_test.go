package ledger

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/models"
)

// goldenRecords are what testdata/ledger.golden holds: each event once, and no
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

// TestGolden: a ledger that an older mailbench wrote is read as it was meant, and
// written the same today. Its encoding must not change: audits read the ledgers
// of data sets that were kept.
func TestGolden(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "ledger.golden")) // a record a line, in hex
	if err != nil {
		t.Fatal(err)
	}
	golden, err := hex.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	want := goldenRecords()
	name := filepath.Join(t.TempDir(), "ledger")
	if err := os.WriteFile(name, golden, 0o644); err != nil {
		t.Fatal(err)
	}
	var got []Record
	if torn, err := read(name, func(r *Record) { got = append(got, *r) }); err != nil || torn {
		t.Fatalf("torn = %t, err = %v", torn, err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("read\n%+v\nwant\n%+v", got, want)
	}
	var written []byte
	for i := range want {
		written = want[i].Append(written)
	}
	if !bytes.Equal(written, golden) {
		t.Errorf("written:\n%x\nwant:\n%x", written, golden)
	}
}

// TestHeld: what calls on a message hold comes back from its ledger, also after a move.
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
