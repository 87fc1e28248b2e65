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

// TestGolden: ledgers that older mailbenches wrote are read as they were meant, and today's are
// written as ever. The encoding must not change: audits read the ledgers of data sets that
// were kept. In ledger.golden records are not chained, as until 2026-11-23; in mixed.golden
// one was appended to such records; in chained.golden all are.
func TestGolden(t *testing.T) {
	want := goldenRecords()
	dir := t.TempDir()
	for golden, n := range map[string]int{"ledger": len(want), "chained": len(want), "mixed": len(want) + 1} {
		b := readGolden(t, golden)
		name := filepath.Join(dir, golden)
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		var got []Record
		if torn, err := read(name, func(r *Record) { got = append(got, *r) }); err != nil || torn {
			t.Fatalf("%s: torn = %t, err = %v", golden, torn, err)
		}
		if len(got) != n || !slices.Equal(got[:len(want)], want) {
			t.Errorf("%s: read\n%+v\nwant\n%+v", golden, got, want)
		}
	}
	writeRecords(t, filepath.Join(dir, "ledger"), want[0])
	writeRecords(t, filepath.Join(dir, "today"), want...)
	for name, golden := range map[string]string{"ledger": "mixed", "today": "chained"} {
		written, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Equal(written, readGolden(t, golden)) {
			t.Errorf("written, of %s:\n%s\n%v", golden, inHex(written), err)
		}
	}
}

// readGolden reads a ledger that is kept as a record a line, in hex.
func readGolden(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".golden"))
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
