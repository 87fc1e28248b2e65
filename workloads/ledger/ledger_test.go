package ledger

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// handle is a handle that starts with the number.
func handle(n int) (h models.Handle) {
	binary.BigEndian.PutUint64(h[:], uint64(n))
	return h
}

func writeRecords(t *testing.T, name string, records ...Record) {
	t.Helper()
	open := Open
	if _, err := os.Stat(name); err != nil {
		open = Create
	}
	l, err := open(name)
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

// records is how many records a ledger has.
func records(name string) (n int, torn bool, err error) {
	torn, err = read(name, func(*Record) { n++ })
	return n, torn, err
}

// A killed process leaves a last record of any length, or one of full length that is not
// whole. The next run cuts it off and continues after the one before.
func TestTornLastRecord(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ledger")
	var two []byte
	for n := range 2 {
		two = (&Record{Event: Delivered, Handle: handle(n)}).Append(two)
	}
	link(firstLink, two)
	torn := map[string][]byte{"nothing of the first": nil}
	for n := 1; n < recordSize; n++ {
		torn[fmt.Sprintf("%d bytes of the first", n)] = two[:n]
		torn[fmt.Sprintf("%d bytes of the second", n)] = two[:recordSize+n]
		flipped := bytes.Clone(two)
		flipped[recordSize+n] ^= 1
		torn[fmt.Sprintf("the second, byte %d changed", n)] = flipped
	}
	torn["the second all zero"] = append(bytes.Clone(two[:recordSize]), make([]byte, recordSize)...)
	for what, b := range torn {
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
		whole := min(1, len(b)/recordSize)
		if n, torn, err := records(name); err != nil || torn != (len(b) > 0) || n != whole {
			t.Errorf("%s: %d records, torn %v, %v; want %d", what, n, torn, err, whole)
		}
		for more := 1; more <= 2; more++ {
			writeRecords(t, name, Record{Event: Delivered, Handle: handle(3)})
			if n, torn, err := records(name); err != nil || torn || n != whole+more {
				t.Errorf("%s, after appending %d: %d records, torn %v, %v; want %d", what, more, n, torn, err, whole+more)
			}
		}
	}
}

// Whatever is in the file, a ledger that can be read can be appended to and read again, and
// nothing is appended to one that cannot be opened.
func FuzzLedger(f *testing.F) {
	var good []byte
	for i, e := range []Event{Delivered, Shown, Taking, Left, Arrived, Labeled, Shown, Taking, Deleted, Taking, Restored, UnknownDelivery, Kept} {
		good = (&Record{Event: e, Place: Place{Account: uint32(i % 3), Folder: uint16(i % 2)}, N: 7, Handle: handle(1)}).Append(good)
	}
	f.Add(good, true)
	link(firstLink, good)
	f.Add(good, false)
	f.Add(good[:len(good)-1], false)
	f.Add(append(bytes.Clone(good), make([]byte, 3*recordSize)...), false)
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		bad := bytes.Clone(good[:random.IntN(len(good))+1])
		for range random.IntN(4) {
			bad[random.IntN(len(bad))] = byte(random.Uint32())
		}
		f.Add(bad, random.IntN(2) == 0)
	}
	for range 200 { // whole records of few messages, in an order that makes no sense
		var b []byte
		for range random.IntN(30) + 1 {
			b = (&Record{
				Event: Event(random.IntN(int(lastEvent)) + 1), Place: Place{uint32(random.IntN(2)), uint16(random.IntN(2))},
				N: uint64(random.IntN(2)), Handle: handle(random.IntN(3)),
			}).Append(b)
		}
		f.Add(b, true)
	}
	f.Fuzz(func(t *testing.T, b []byte, checksums bool) {
		if checksums { // right ones: then it is the events that make no sense
			link(firstLink, b[:len(b)-len(b)%recordSize])
		}
		name := filepath.Join(t.TempDir(), "ledger")
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
		before, _, readErr := records(name)
		if _, err := ReadHistory(name); (err == nil) != (readErr == nil) {
			t.Errorf("read: %v, as history: %v", readErr, err)
		}
		l, err := Open(name)
		if err != nil {
			if left, rerr := os.ReadFile(name); rerr != nil || !bytes.Equal(left, b) || readErr == nil {
				t.Errorf("%v: changed %v, could be read: %v", err, !bytes.Equal(left, b), readErr)
			}
			return
		}
		if err := errors.Join(l.Write((&Record{Event: Delivered}).Append(nil)), l.Close()); err != nil {
			t.Fatal(err)
		}
		if after, torn, err := records(name); readErr == nil && (err != nil || torn || after != before+1) {
			t.Errorf("%d records, after appending %d, torn %v, %v", before, after, torn, err)
		}
	})
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
	if _, err := read(name, func(*Record) {}); !errors.Is(err, drivers.ErrCorrupt) || !strings.Contains(err.Error(), "record 1") {
		t.Errorf("err = %v, want the number of the damaged record", err)
	}
}

// TestRecordsTakenOut: whichever record is taken out of a ledger, put elsewhere or put in twice,
// what is left is refused. Only a ledger that is cut at its end is one.
func TestRecordsTakenOut(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ledger")
	const n = 30
	var records []Record
	for i := range n {
		records = append(records, Record{Event: Delivered, N: uint64(i), Handle: handle(i)})
	}
	writeRecords(t, name, records...)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	record := func(i int) []byte { return whole[i*recordSize : (i+1)*recordSize] }
	for i := range n - 2 { // without the one before it, the last looks torn
		before, after := whole[:i*recordSize], whole[(i+1)*recordSize:]
		for what, parts := range map[string][][]byte{
			"taken out": {before, after}, "at the end": {before, after, record(i)},
			"twice": {before, record(i), record(i), after},
		} {
			b := bytes.Join(parts, nil)
			if err := os.WriteFile(name, b, 0o600); err != nil {
				t.Fatal(err)
			}
			_, herr := ReadHistory(name)
			_, oerr := Open(name)
			if left, err := os.ReadFile(name); err != nil || !bytes.Equal(left, b) {
				t.Errorf("record %d %s: the ledger was changed (%v)", i+1, what, err)
			}
			if !errors.Is(herr, drivers.ErrCorrupt) || !errors.Is(oerr, drivers.ErrCorrupt) {
				t.Errorf("record %d %s: read %v, open %v; want that it is damaged", i+1, what, herr, oerr)
			}
		}
	}
}

// TestNoLedgerIsMade: a ledger that is gone is no empty one.
func TestNoLedgerIsMade(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ledger")
	_, oerr := Open(name)
	_, herr := ReadHistory(name)
	if !errors.Is(oerr, drivers.ErrCorrupt) || !errors.Is(herr, drivers.ErrCorrupt) {
		t.Errorf("open %v, read %v; want that the ledger is unfit", oerr, herr)
	}
	if _, err := os.Stat(name); err == nil {
		t.Error("a ledger was made")
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
		{"moved away, and shown where it was by a label", []Record{d(Delivered, inbox, 1), d(Taking, inbox, 1), d(Left, inbox, 1), d(Arrived, archive, 2), d(Labeled, archive, 2), d(Shown, inbox, 1)}, map[Key]State{{inbox, a}: Superseded, {archive, b}: Live}, 0},
		{"deleted, and shown again", []Record{d(Delivered, inbox, 1), d(Taking, inbox, 1), d(Deleted, inbox, 1), d(Shown, inbox, 1)}, map[Key]State{{inbox, a}: Superseded}, 0},
		{
			"moved away, and perhaps back, under the handle it had",
			[]Record{
				d(Delivered, inbox, 1), d(Taking, inbox, 1), d(Left, inbox, 1), d(Arrived, archive, 2), d(Shown, inbox, 2), d(Taking, archive, 2),
			},
			map[Key]State{{inbox, a}: Superseded, {archive, b}: LiveOrGone},
			1,
		},
		{
			"moved away, and labeled back",
			[]Record{
				d(Delivered, inbox, 1), d(Taking, inbox, 1), d(Left, inbox, 1), d(Arrived, archive, 2), d(Labeled, archive, 2), d(Shown, inbox, 2),
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
		{"delivery unsure", []Record{d(UnknownDelivery, inbox, 0)}, map[Key]State{}, 1},
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
	l, err := Create(filepath.Join(b.TempDir(), "ledger"))
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

// TestLinkIsNoLedger: a link that came with a folder of somebody else is not followed.
func TestLinkIsNoLedger(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	name := filepath.Join(dir, "ledger")
	if err := errors.Join(os.WriteFile(victim, []byte("mine"), 0o600), os.Symlink(victim, name)); err != nil {
		t.Fatal(err)
	}
	_, err := Open(name)
	_, herr := ReadHistory(name)
	for _, err := range []error{err, herr} {
		if err == nil || !strings.Contains(err.Error(), "is a link") {
			t.Errorf("error %v, want that it is a link", err)
		}
	}
	if b, err := os.ReadFile(victim); string(b) != "mine" || err != nil {
		t.Errorf("the file outside holds %q, %v", b, err)
	}
}
