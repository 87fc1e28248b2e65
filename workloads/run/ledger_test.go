package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeRecords(t *testing.T, name string, records ...record) {
	t.Helper()
	l, err := openLedger(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		if err := l.write(records[i].append(nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
}

func TestLedgerReadsWhatWasWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ledger")
	want := []record{
		{event: delivered, place: place{7, 3}, n: 1 << 40, handle: handle(1), digest: 0xfeedfacecafebeef, ahead: 1<<32 - 1},
		{event: deleted, place: place{7, 3}, n: 9, handle: handle(1)},
	}
	writeRecords(t, name, want...)
	var got []record
	torn, err := readLedger(name, func(r *record) { got = append(got, *r) })
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
		writeRecords(t, name, record{event: delivered, handle: handle(1)}, record{event: delivered, handle: handle(2)})
		if err := os.Truncate(name, 2*recordSize-int64(cut)); err != nil {
			t.Fatal(err)
		}
		n := 0
		torn, err := readLedger(name, func(*record) { n++ })
		if err != nil || !torn || n != 1 {
			t.Errorf("cut by %d: %d records, torn = %v, err = %v; want 1, torn", cut, n, torn, err)
		}
		// Opening it for appending takes the torn record away.
		writeRecords(t, name, record{event: delivered, handle: handle(3)})
		n = 0
		torn, err = readLedger(name, func(*record) { n++ })
		if err != nil || torn || n != 2 {
			t.Errorf("appended after a cut by %d: %d records, torn = %v, err = %v; want 2", cut, n, torn, err)
		}
	}
}

func TestDamagedLedgerIsRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ledger")
	writeRecords(t, name, record{event: delivered, handle: handle(1)}, record{event: delivered, handle: handle(2)})
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[20] ^= 1
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readLedger(name, func(*record) {}); err == nil || !strings.Contains(err.Error(), "record 1") {
		t.Errorf("err = %v, want the number of the damaged record", err)
	}
}

func TestHistory(t *testing.T) {
	inbox, archive := place{1, 0}, place{1, 1}
	a, b := handle(1), handle(2)
	d := func(e event, p place, n int) record {
		return record{event: e, place: p, handle: handle(n), digest: uint64(n)}
	}
	cases := []struct {
		name    string
		records []record
		want    map[key]state
		unknown int64
	}{
		{"delivered", []record{d(delivered, inbox, 1)}, map[key]state{{inbox, a}: live}, 0},
		{"deleted", []record{d(delivered, inbox, 1), d(taking, inbox, 1), d(deleted, inbox, 1)}, map[key]state{{inbox, a}: gone}, 0},
		{"killed while deleting", []record{d(delivered, inbox, 1), d(taking, inbox, 1)}, map[key]state{{inbox, a}: liveOrGone}, 1},
		{"not deleted", []record{d(delivered, inbox, 1), d(taking, inbox, 1), d(kept, inbox, 1)}, map[key]state{{inbox, a}: live}, 0},
		{"restored", []record{d(delivered, inbox, 1), d(taking, inbox, 1), d(deleted, inbox, 1), d(taking, inbox, 1), d(restored, inbox, 1)}, map[key]state{{inbox, a}: live}, 0},
		{"not restored", []record{d(delivered, inbox, 1), d(taking, inbox, 1), d(deleted, inbox, 1), d(taking, inbox, 1), d(kept, inbox, 1)}, map[key]state{{inbox, a}: gone}, 0},
		{"killed while restoring", []record{d(delivered, inbox, 1), d(taking, inbox, 1), d(deleted, inbox, 1), d(taking, inbox, 1)}, map[key]state{{inbox, a}: goneOrLive}, 1},
		{"moved, with a new handle", []record{d(delivered, inbox, 1), d(taking, inbox, 1), d(left, inbox, 1), d(arrived, archive, 2)}, map[key]state{{inbox, a}: gone, {archive, b}: live}, 0},
		{"moved away, and shown where it was by a label", []record{d(delivered, inbox, 1), d(taking, inbox, 1), d(left, inbox, 1), d(arrived, archive, 2), d(labelled, archive, 2), d(shown, inbox, 1)}, map[key]state{{inbox, a}: superseded, {archive, b}: live}, 0},
		{
			"moved away, and perhaps back, under the handle it had",
			[]record{
				d(delivered, inbox, 1), d(taking, inbox, 1), d(left, inbox, 1), d(arrived, archive, 2), d(shown, inbox, 2), d(taking, archive, 2),
			},
			map[key]state{{inbox, a}: superseded, {archive, b}: liveOrGone},
			1,
		},
		{
			"moved away, and labelled back",
			[]record{
				d(delivered, inbox, 1), d(taking, inbox, 1), d(left, inbox, 1), d(arrived, archive, 2), d(labelled, archive, 2), d(shown, inbox, 2),
			},
			map[key]state{{inbox, a}: superseded, {archive, b}: live},
			0,
		},
		{
			"moved away, and perhaps on to a third folder",
			[]record{
				d(delivered, inbox, 1), d(taking, inbox, 1), d(left, inbox, 1), d(arrived, archive, 2), d(shown, place{1, 2}, 2), d(taking, archive, 2),
			},
			map[key]state{{inbox, a}: gone, {archive, b}: liveOrGone},
			1,
		},
		{"delivery unsure", []record{d(unsure, inbox, 0)}, map[key]state{}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "ledger")
			writeRecords(t, name, c.records...)
			h, err := readHistory(name)
			if err != nil {
				t.Fatal(err)
			}
			got := map[key]state{}
			for _, e := range h.entries {
				got[e.key] = e.state
				if e.digest != 1 {
					t.Errorf("%+v lost its digest", e)
				}
			}
			if len(got) != len(c.want) || h.unknown != c.unknown {
				t.Fatalf("states %v, %d unknown; want %v, %d", got, h.unknown, c.want, c.unknown)
			}
			for k, s := range c.want {
				if got[k] != s {
					t.Errorf("%v is in state %d, want %d", k, got[k], s)
				}
			}
		})
	}
}

// A message that is moved away and back under the same handle is live once,
// and its first stay is no deletion.
func TestMovedAwayAndBack(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ledger")
	inbox, archive := place{1, 0}, place{1, 1}
	r := func(e event, p place) record { return record{event: e, place: p, handle: handle(1), digest: 5} }
	writeRecords(t, name, r(delivered, inbox),
		r(taking, inbox), r(left, inbox), r(arrived, archive),
		r(taking, archive), r(left, archive), r(arrived, inbox))
	h, err := readHistory(name)
	if err != nil {
		t.Fatal(err)
	}
	i := h.at[key{inbox, handle(1)}]
	if e := h.entries[i]; e.state != live || e.digest != 5 || int(i) != len(h.entries)-1 {
		t.Errorf("entry %d = %+v, want the last, live, digest 5", i, e)
	}
	if h.entries[0].state != superseded {
		t.Errorf("its first stay is in state %d", h.entries[0].state)
	}
}

func BenchmarkLedgerWrite(b *testing.B) {
	l, err := openLedger(filepath.Join(b.TempDir(), "ledger"))
	if err != nil {
		b.Fatal(err)
	}
	defer l.close()
	r := record{event: delivered, handle: handle(1)}
	buf := make([]byte, 0, recordSize)
	b.ReportAllocs()
	for b.Loop() {
		if err := l.write(r.append(buf[:0])); err != nil {
			b.Fatal(err)
		}
	}
}
