package ledger

import (
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/models"
)

// counter gives handles that start with their UID.
type counter struct{ models.UIDs }

// UID implements models.UIDs.
func (counter) UID(h models.Handle) uint64 { return binary.BigEndian.Uint64(h[:]) }

func TestUIDs(t *testing.T) {
	inbox, archive := Place{1, 0}, Place{1, 1}
	// came is a message that got a UID, with so many records ahead of its delivery.
	came := func(p Place, uid int, ahead uint32) Record {
		return Record{Event: Delivered, Place: p, Handle: handle(uid), Ahead: ahead}
	}
	moved := func(uid int, ahead uint32) []Record {
		return []Record{{Event: Left, Place: inbox, Handle: handle(1)}, {Event: Arrived, Place: archive, Handle: handle(uid), Ahead: ahead}}
	}
	for _, c := range []struct {
		name    string
		records []Record
		bad     int64
		note    string
	}{
		{"one after the other", []Record{came(inbox, 1, 0), came(inbox, 2, 1), came(inbox, 5, 2)}, 0, ""},
		{"at once, acknowledged in another order", []Record{came(inbox, 1, 0), came(inbox, 3, 1), came(inbox, 2, 1)}, 0, ""},
		{"lower than one acknowledged before", []Record{came(inbox, 1, 0), came(inbox, 3, 1), came(inbox, 2, 2)}, 1, "UID 2 of account bjoern.abe@mailbench.example, folder Inbox is below that of a message that was acknowledged before"},
		{"lower than one long before", []Record{came(inbox, 9, 0), came(inbox, 3, 0), came(inbox, 4, 2)}, 1, "UID 4 "},
		{"twice at once", []Record{came(inbox, 1, 0), came(inbox, 1, 0)}, 1, "was given twice"},
		{"again after a deletion", []Record{came(inbox, 1, 0), {Event: Taking, Place: inbox, Handle: handle(1)}, {Event: Deleted, Place: inbox, Handle: handle(1)}, came(inbox, 1, 3)}, 1, "was given twice"},
		{"the same in another folder", []Record{came(inbox, 1, 0), came(archive, 1, 1)}, 0, ""},
		{"a move to the end", append([]Record{came(inbox, 1, 0), came(archive, 7, 1)}, moved(8, 2)...), 0, ""},
		{"a move into the middle", append([]Record{came(inbox, 1, 0), came(archive, 7, 1)}, moved(6, 2)...), 1, "UID 6 of account bjoern.abe@mailbench.example, folder Archive "},
		{"folders by turns", []Record{came(inbox, 5, 0), came(archive, 1, 1), came(inbox, 6, 2), came(archive, 2, 3), came(inbox, 4, 4)}, 1, "UID 4 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "ledger")
			writeRecords(t, name, c.records...)
			h, err := ReadHistory(name)
			if err != nil {
				t.Fatal(err)
			}
			a := Auditor{History: h}
			a.uids(counter{})
			if notes := strings.Join(a.Found.Notes, "\n"); a.Found.BadUIDs != c.bad || !strings.Contains(notes, c.note) || (notes == "") != (c.bad == 0) {
				t.Errorf("%d bad, notes %q; want %d, %q", a.Found.BadUIDs, notes, c.bad, c.note)
			}
		})
	}
}
