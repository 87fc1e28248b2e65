package run

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/models"
)

// withUID is the handle that a desk gives with that UID.
func withUID(uid int) models.Handle { return (&desk{last: uint64(uid) - 1}).handle() }

func TestUIDs(t *testing.T) {
	inbox, archive := place{1, 0}, place{1, 1}
	// came is a message that got a UID, with so many records ahead of its delivery.
	came := func(p place, uid int, ahead uint32) record {
		return record{event: delivered, place: p, handle: withUID(uid), ahead: ahead}
	}
	moved := func(uid int, ahead uint32) []record {
		return []record{{event: left, place: inbox, handle: withUID(1)}, {event: arrived, place: archive, handle: withUID(uid), ahead: ahead}}
	}
	for _, c := range []struct {
		name    string
		records []record
		bad     int64
		note    string
	}{
		{"one after the other", []record{came(inbox, 1, 0), came(inbox, 2, 1), came(inbox, 5, 2)}, 0, ""},
		{"at once, acknowledged in another order", []record{came(inbox, 1, 0), came(inbox, 3, 1), came(inbox, 2, 1)}, 0, ""},
		{"lower than one acknowledged before", []record{came(inbox, 1, 0), came(inbox, 3, 1), came(inbox, 2, 2)}, 1, "UID 2 of account 1, folder 0 is below that of a message that was acknowledged before"},
		{"lower than one long before", []record{came(inbox, 9, 0), came(inbox, 3, 0), came(inbox, 4, 2)}, 1, "UID 4 "},
		{"twice at once", []record{came(inbox, 1, 0), came(inbox, 1, 0)}, 1, "was given twice"},
		{"again after a deletion", []record{came(inbox, 1, 0), {event: taking, place: inbox, handle: withUID(1)}, {event: deleted, place: inbox, handle: withUID(1)}, came(inbox, 1, 3)}, 1, "was given twice"},
		{"the same in another folder", []record{came(inbox, 1, 0), came(archive, 1, 1)}, 0, ""},
		{"a move to the end", append([]record{came(inbox, 1, 0), came(archive, 7, 1)}, moved(8, 2)...), 0, ""},
		{"a move into the middle", append([]record{came(inbox, 1, 0), came(archive, 7, 1)}, moved(6, 2)...), 1, "UID 6 of account 1, folder 1 "},
		{"folders by turns", []record{came(inbox, 5, 0), came(archive, 1, 1), came(inbox, 6, 2), came(archive, 2, 3), came(inbox, 4, 4)}, 1, "UID 4 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "ledger")
			writeRecords(t, name, c.records...)
			h, err := readHistory(name)
			if err != nil {
				t.Fatal(err)
			}
			number := []string{"0", "1"}
			a := auditor{history: h, address: func(i int) string { return number[i] }, folder: func(_, i int) string { return number[i] }}
			a.uids(deskBox{})
			if notes := strings.Join(a.found.Notes, "\n"); a.found.BadUIDs != c.bad || !strings.Contains(notes, c.note) || (notes == "") != (c.bad == 0) {
				t.Errorf("%d bad, notes %q; want %d, %q", a.found.BadUIDs, notes, c.bad, c.note)
			}
		})
	}
}

// A counter of UIDs that jumps ahead for a while, and then goes on where it was,
// gives none twice.
func TestUIDsThatGoBack(t *testing.T) {
	d := newDesk()
	c := config(t, d, changes)
	c.Audit = AuditAfter
	const jump = 1 << 20
	jumped := false
	d.before = func(string) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		switch {
		case d.last > 400 && !jumped:
			d.last, jumped = d.last+jump, true
		case d.last > jump+500:
			d.last -= jump
		}
		return nil
	}
	a := auditOf(t, runOK(t, c))
	if a.BadUIDs == 0 || !a.Wrong() || !strings.Contains(a.Notes[0], "is below that of a message") {
		t.Errorf("the counter went back from above %d; audit %+v", jump, a)
	}
}
