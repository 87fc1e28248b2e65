package datastax

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// Audit implements models.Mailbox. It holds some 80 bytes for each row of a label and
// about 100 bytes for each attachment and label, but no content.
func (m *mailbox) Audit(ctx context.Context) (models.Audit, error) {
	a := audit{
		labels: map[labelKey]*labelCount{}, shown: map[[16]byte]int64{}, rows: models.Keys{}, files: map[uint64]*fileSum{},
	}
	err := m.Verify(ctx,
		m.Scan(m.do.AllFolders, a.folder),
		m.Scan(m.do.AllShown, a.shows),
		m.Scan(m.do.AllUnread, func(row []drivers.Value) { a.label(row[0], row[1].Str()).unread -= row[2].Int64() }),
		m.Scan(m.do.AllSizes, func(row []drivers.Value) {
			f := folder{label: row[1].Str()}
			a.label(row[0], string(f.appendName(nil, int32(row[2].Int64())))).messages -= row[3].Int64()
		}),
		m.Scan(m.do.AllChunks, a.chunk),
		m.Scan(m.do.AllEmails, a.email))
	if err == nil {
		a.missing()
	}
	return a.Audit, err
}

type audit struct {
	models.Audit
	labels map[labelKey]*labelCount
	shown  map[[16]byte]int64  // emails that were not found yet: how many rows show each
	rows   models.Keys         // email, username and folder of each row that shows an email
	files  map[uint64]*fileSum // attachments that no email has named yet, by email and name
}

type labelKey struct{ username, label string }

// labelCount is the number of rows of a label minus its counters, and the number of rows.
type labelCount struct {
	unread, messages, rows int64
	folder                 bool // the label is that of a folder
}

// fileSum is the sum of the chunks of one attachment.
type fileSum struct {
	bytes         int64
	chunks, last  int64
	wrongChecksum bool
}

func (a *audit) label(username drivers.Value, label string) *labelCount {
	k := labelKey{username.Str(), label}
	if a.labels[k] == nil {
		a.labels[k] = &labelCount{}
	}
	return a.labels[k]
}

func (a *audit) folder(row []drivers.Value) {
	a.Folders++
	a.label(row[0], row[1].Str()).folder = true
	if row[2].Bool() {
		a.Accounts++
	}
}

func (a *audit) shows(row []drivers.Value) {
	label, id := row[1].Str(), row[2].UUIDBytes()
	c := a.label(row[0], label)
	c.messages++
	c.rows++
	if !row[3].Bool() {
		c.unread++
	}
	a.shown[id]++
	if !a.rows.Add(row[2], row[0], drivers.Text(base(label))) {
		a.Find(models.Duplicated, 1, "email %s is shown twice in one folder", models.UUIDText(id))
	}
}

func (a *audit) chunk(row []drivers.Value) {
	k := models.KeyOf(row[0], row[1])
	f := a.files[k]
	if f == nil {
		f = &fileSum{}
		a.files[k] = f
	}
	f.chunks++
	f.last = max(f.last, row[2].Int64())
	f.bytes += int64(len(row[3].Raw()))
	f.wrongChecksum = f.wrongChecksum || int64(models.Checksum(0, row[3].Raw())) != row[4].Int64()
}

func (a *audit) email(row []drivers.Value) {
	id := row[0].UUIDBytes()
	rows, shown := a.shown[id]
	if !shown {
		a.Unreferenced++
	}
	a.Messages += rows
	delete(a.shown, id)
	_, err := models.WriteText(io.Discard, row[1].Raw())
	whole := err == nil && !row[1].IsNull()
	for files := row[2].Elems(); len(files) > 0; files = files[2:] {
		k := models.KeyOf(row[0], files[0])
		whole = whole && a.files[k].whole(files[1].Int64())
		delete(a.files, k)
	}
	if !whole {
		a.Find(models.BrokenBody, 1, "email %s", models.UUIDText(id))
	}
}

// whole reports whether no chunk is missing and none is orphaned.
func (f *fileSum) whole(size int64) bool {
	if f == nil {
		return size == 0
	}
	return f.bytes == size && f.chunks == f.last+1 && !f.wrongChecksum
}

// missing finds what no row was for, after all were read.
func (a *audit) missing() {
	a.Unreferenced += int64(len(a.files))
	for _, id := range slices.SortedFunc(maps.Keys(a.shown), compareTime) {
		a.Find(models.Dangling, a.shown[id], "email %s is shown and not there", models.UUIDText(id))
	}
	for _, k := range slices.SortedFunc(maps.Keys(a.labels), func(x, y labelKey) int {
		return cmp.Or(cmp.Compare(x.username, y.username), cmp.Compare(x.label, y.label))
	}) {
		c := a.labels[k]
		if c.unread != 0 || c.messages != 0 {
			a.Find(models.CounterDrift, max(c.unread, -c.unread)+max(c.messages, -c.messages),
				"username %q, label %q: num_unread by %d, messages by %d", k.username, k.label, -c.unread, -c.messages)
		}
		// No operation deletes a folder, and an email comes after its folder.
		if f := a.labels[labelKey{k.username, base(k.label)}]; c.rows > 0 && (f == nil || !f.folder) {
			a.Find(models.Dangling, c.rows, "username %q, label %q shows %d emails, and its folder is lost",
				k.username, k.label, c.rows)
		}
	}
}
