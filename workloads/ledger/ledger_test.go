package ledger

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/models"
)

// handle is a handle that starts with the number.
func handle(n int) (h models.Handle) {
	binary.BigEndian.PutUint64(h[:], uint64(n))
	return h
}

func writeRecords(t *testing.T, name string, records ...Record) {
	t.Helper()
	l, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		if err := l.Write(records[i].Append(nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestLedgerReadsWhatWasWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ledger")
	want := []Record{
		{Event: Delivered, Place: Place{7, 3}, N: 1 << 40, Handle: handle(1), Digest: 0xfeedfacecafebeef, Ahead: 1<<32 - 1},
		{Event: Deleted, Place: Place{7, 3}, N: 9, Handle: handle(1)},
	}
	writeRecords(t, name, want...)
	var got []Record
	torn, err := read(name, func(r *Record) { got = append(got, *r) })
	if err != nil || torn {
		t.Fatalf("torn = %v, err = %v", torn, err)
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("read %+v, want %+v", got, want)
	}
}

func TestTornLastRecord(t *testing.T) {
	for cut := 1; cut < recordSize; cut += 31 {
		name := filepath.Join(t.TempDir(), "ledger")
		writeRecords(t, name, Record{Event: Delivered, Handle: handle(1)}, Record{Event: Delivered, Handle: handle(2)})
		if err := os.Truncate(name, 2*recordSize-int64(cut)); err != nil {
			t.Fatal(err)
		}
		n := 0
		torn, err := read(name, func(*Record) { n++ })
		if err != nil || !torn || n != 1 {
			t.Errorf("cut by %d: %d records, torn = %v, err = %v; want 1, torn", cut, n, torn, err)
		}
		// Opening it for appending takes the torn Record away.
		writeRecords(t, name, Record{Event: Delivered, Handle: handle(3)})
		n = 0
		torn, err = read(name, func(*Record) { n++ })
		if err != nil || torn || n != 2 {
			t.Errorf("appended after a cut by %d: %d records, torn = %v, err = %v; want 2", cut, n, torn, err)
		}
	}
}

func TestDamagedLedgerIsRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ledger")
	writeRecords(t, name, Record{Event: Delivered, Handle: handle(1)}, Record{Event: Delivered, Handle: handle(2)})
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[20] ^= 1
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := read(name, func(*Record) {}); err == nil || !strings.Contains(err.Error(), "record 1") {
		t.Errorf("err = %v, want the number of the damaged record", err)
	}
}

func TestHistory(t *testing.T) {
	inbox, archive := Place{1, 0}, Place{1, 1}
	a, b := handle(1), handle(2)
	d := func(e Event, p Place, n int) Record {
		return Record{Event: e, Place: p, Handle: handle(n), Digest: uint64(n)}
	}
	cases := []struct {
		name    string
		records []Record
		want    map[Key]State
		unknown int64
	}{
		{"delivered", []Record{d(Delivered, inbox, 1)}, map[Key]State{{inbox, a}: Live}, 0},
		{"deleted", []Record{d(Delivered, inbox, 1), d(Taking, inbox, 1), d(Deleted, inbox, 1)}, map[Key]State{{inbox, a}: Gone}, 0},
		{"killed while deleting", []Record{d(Delivered, inbox, 1), d(Taking, inbox, 1)}, map[Key]State{{inbox, a}: LiveOrGone}, 1},
		{"not deleted", []Record{d(Delivered, inbox, 1), d(Taking, inbox, 1), d(Kept, inbox, 1)}, map[Key]State{{inbox, a}: Live}, 0},
		{"restored", []Record{d(Delivered, inbox, 1), d(Taking, inbox, 1), d(Deleted, inbox, 1), d(Taking, inbox, 1), d(Restored, inbox, 1)}, map[Key]State{{inbox, a}: Live}, 0},
		{"not restored", []Record{d(Delivered, inbox, 1), d(Taking, inbox, 1), d(Deleted, inbox, 1), d(Taking, inbox, 1), d(Kept, inbox, 1)}, map[Key]State{{inbox, a}: Gone}, 0},
		{"killed while restoring", []Record{d(Delivered, inbox, 1), d(Taking, inbox, 1), d(Deleted, inbox, 1), d(Taking, inbox, 1)}, map[Key]State{{inbox, a}: GoneOrLive}, 1},
		{"moved, with a new handle", []Record{d(Delivered, inbox, 1), d(Taking, inbox, 1), d(Left, inbox, 1), d(Arrived, archive, 2)}, map[Key]State{{inbox, a}: Gone, {archive, b}: Live}, 0},
		{"moved away, and shown where it was by a label", []Record{d(Delivered, inbox, 1), d(Taking, inbox, 1), d(Left, inbox, 1), d(Arrived, archive, 2), d(Labelled, archive, 2), d(Shown, inbox, 1)}, map[Key]State{{inbox, a}: Superseded, {archive, b}: Live}, 0},
		{
			"moved away, and perhaps back, under the handle it had",
			[]Record{
				d(Delivered, inbox, 1), d(Taking, inbox, 1), d(Left, inbox, 1), d(Arrived, archive, 2), d(Shown, inbox, 2), d(Taking, archive, 2),
			},
			map[Key]State{{inbox, a}: Superseded, {archive, b}: LiveOrGone},
			1,
		},
		{
			"moved away, and labelled back",
			[]Record{
				d(Delivered, inbox, 1), d(Taking, inbox, 1), d(Left, inbox, 1), d(Arrived, archive, 2), d(Labelled, archive, 2), d(Shown, inbox, 2),
			},
			map[Key]State{{inbox, a}: Superseded, {archive, b}: Live},
			0,
		},
		{
			"moved away, and perhaps on to a third folder",
			[]Record{
				d(Delivered, inbox, 1), d(Taking, inbox, 1), d(Left, inbox, 1), d(Arrived, archive, 2), d(Shown, Place{1, 2}, 2), d(Taking, archive, 2),
			},
			map[Key]State{{inbox, a}: Gone, {archive, b}: LiveOrGone},
			1,
		},
		{"delivery unsure", []Record{d(Unsure, inbox, 0)}, map[Key]State{}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "ledger")
			writeRecords(t, name, c.records...)
			h, err := ReadHistory(name)
			if err != nil {
				t.Fatal(err)
			}
			got := map[Key]State{}
			for _, e := range h.Entries {
				got[e.Key] = e.State
				if e.Digest != 1 {
					t.Errorf("%+v lost its digest", e)
				}
			}
			if len(got) != len(c.want) || h.Unknown != c.unknown {
				t.Fatalf("states %v, %d unknown; want %v, %d", got, h.Unknown, c.want, c.unknown)
			}
			for k, s := range c.want {
				if got[k] != s {
					t.Errorf("%v is in state %d, want %d", k, got[k], s)
				}
			}
		})
	}
}

// A message that is moved away and back under the same handle is Live once,
// and its first stay is no deletion.
func TestMovedAwayAndBack(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ledger")
	inbox, archive := Place{1, 0}, Place{1, 1}
	r := func(e Event, p Place) Record { return Record{Event: e, Place: p, Handle: handle(1), Digest: 5} }
	writeRecords(t, name, r(Delivered, inbox),
		r(Taking, inbox), r(Left, inbox), r(Arrived, archive),
		r(Taking, archive), r(Left, archive), r(Arrived, inbox))
	h, err := ReadHistory(name)
	if err != nil {
		t.Fatal(err)
	}
	i := h.at[Key{inbox, handle(1)}]
	if e := h.Entries[i]; e.State != Live || e.Digest != 5 || int(i) != len(h.Entries)-1 {
		t.Errorf("entry %d = %+v, want the last, live, digest 5", i, e)
	}
	if h.Entries[0].State != Superseded {
		t.Errorf("its first stay is in state %d", h.Entries[0].State)
	}
}

func BenchmarkLedgerWrite(b *testing.B) {
	l, err := Open(filepath.Join(b.TempDir(), "ledger"))
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	r := Record{Event: Delivered, Handle: handle(1)}
	buf := make([]byte, 0, recordSize)
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Write(r.Append(buf[:0])); err != nil {
			b.Fatal(err)
		}
	}
}
