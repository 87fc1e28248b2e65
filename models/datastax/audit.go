package datastax

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// Audit implements models.Mailbox. It keeps 24 bytes for each row of a label and
// about 100 bytes for each attachment and label, but no content.
func (m *mailbox) Audit(ctx context.Context) (models.Audit, error) {
	a := audit{
		seed: maphash.MakeSeed(), folders: map[labelKey]bool{}, labels: map[labelKey]*labelCount{},
		files: map[fileKey]*fileSum{},
	}
	var err error
	read := func(stmt drivers.Statement, row func([]drivers.Value) error) {
		if err == nil {
			err = m.S.Read(ctx, stmt, nil, row)
		}
	}
	read(m.do.AllFolders, a.folder)
	read(m.do.AllShown, a.shows)
	a.sort()
	read(m.do.AllUnread, func(row []drivers.Value) error {
		a.label(row[0].Str(), row[1].Str()).unread -= row[2].Int64()
		return nil
	})
	read(m.do.AllSizes, func(row []drivers.Value) error {
		f := folder{label: row[1].Str()}
		a.label(row[0].Str(), f.name(int32(row[2].Int64()))).messages -= row[3].Int64()
		return nil
	})
	read(m.do.AllChunks, a.chunk)
	read(m.do.AllEmails, a.email)
	if err != nil {
		return models.Audit{}, fmt.Errorf("datastax: verification: %w", err)
	}
	return a.result(), nil
}

type audit struct {
	models.Audit
	seed    maphash.Seed
	folders map[labelKey]bool
	labels  map[labelKey]*labelCount
	rows    []labelRow // sorted by email once all were read
	files   map[fileKey]*fileSum
}

type labelKey struct{ username, label string }

// labelCount is the number of rows of a label minus its counters, and the number of rows.
type labelCount struct{ unread, messages, rows int64 }

// labelRow is a row that shows an email. Its folder is a hash of user and folder.
type labelRow struct {
	id     [16]byte
	folder uint64
	found  bool // the email is there
}

type fileKey struct {
	id   [16]byte
	name uint64
}

// fileSum is the sum of the chunks of one attachment.
type fileSum struct {
	bytes         int64
	chunks, last  int64
	wrongChecksum bool
}

func (a *audit) folder(row []drivers.Value) error {
	a.Folders++
	a.folders[labelKey{row[0].Str(), row[1].Str()}] = true
	if row[2].Bool() {
		a.Accounts++
	}
	return nil
}

func (a *audit) label(username, label string) *labelCount {
	k := labelKey{username, label}
	if a.labels[k] == nil {
		a.labels[k] = &labelCount{}
	}
	return a.labels[k]
}

func (a *audit) shows(row []drivers.Value) error {
	username, label := row[0].Str(), row[1].Str()
	c := a.label(username, label)
	c.messages++
	c.rows++
	if !row[3].Bool() {
		c.unread++
	}
	a.rows = append(a.rows, labelRow{
		id: row[2].UUIDBytes(), folder: maphash.String(a.seed, username+"\x00"+base(label)),
	})
	return nil
}

func (a *audit) chunk(row []drivers.Value) error {
	k := fileKey{row[0].UUIDBytes(), maphash.Bytes(a.seed, row[1].Raw())}
	f := a.files[k]
	if f == nil {
		f = &fileSum{}
		a.files[k] = f
	}
	f.chunks++
	f.last = max(f.last, row[2].Int64())
	f.bytes += int64(len(row[3].Raw()))
	f.wrongChecksum = f.wrongChecksum || int64(models.Checksum(0, row[3].Raw())) != row[4].Int64()
	return nil
}

// sort sorts the rows of labels by email, and finds those that show one twice.
func (a *audit) sort() {
	slices.SortFunc(a.rows, func(x, y labelRow) int {
		return cmp.Or(bytes.Compare(x.id[:], y.id[:]), cmp.Compare(x.folder, y.folder))
	})
	for i := 1; i < len(a.rows); i++ {
		if a.rows[i] == a.rows[i-1] {
			a.Find(models.Duplicated, 1, "email %s is shown twice in one folder", models.UUIDText(a.rows[i].id))
		}
	}
}

func (a *audit) email(row []drivers.Value) error {
	id := row[0].UUIDBytes()
	i, found := slices.BinarySearchFunc(a.rows, id, func(r labelRow, id [16]byte) int {
		return bytes.Compare(r.id[:], id[:])
	})
	if !found {
		a.Unreferenced++
	}
	for ; i < len(a.rows) && a.rows[i].id == id; i++ {
		a.Messages++
		a.rows[i].found = true
	}
	whole := !row[1].IsNull()
	if _, err := models.WriteText(io.Discard, row[1].Raw()); err != nil {
		whole = false
	}
	for files := row[2].Elems(); len(files) > 0; files = files[2:] {
		k := fileKey{id, maphash.Bytes(a.seed, files[0].Raw())}
		whole = whole && a.files[k].whole(files[1].Int64())
		delete(a.files, k)
	}
	if !whole {
		a.Find(models.BrokenBody, 1, "email %s", models.UUIDText(id))
	}
	return nil
}

// whole reports whether no chunk is missing and none is orphaned.
func (f *fileSum) whole(size int64) bool {
	if f == nil {
		return size == 0
	}
	return f.bytes == size && f.chunks == f.last+1 && !f.wrongChecksum
}

func (a *audit) result() models.Audit {
	for _, r := range a.rows {
		if !r.found {
			a.Find(models.Dangling, 1, "email %s is shown and not there", models.UUIDText(r.id))
		}
	}
	a.Unreferenced += int64(len(a.files)) // attachments that no email names
	for _, k := range slices.SortedFunc(maps.Keys(a.labels), func(a, b labelKey) int {
		return cmp.Or(cmp.Compare(a.username, b.username), cmp.Compare(a.label, b.label))
	}) {
		c := a.labels[k]
		if c.unread != 0 || c.messages != 0 {
			a.Find(models.CounterDrift, max(c.unread, -c.unread)+max(c.messages, -c.messages),
				"username %q, label %q: num_unread by %d, messages by %d", k.username, k.label, -c.unread, -c.messages)
		}
		// No operation deletes a folder, and an email comes after its folder.
		if c.rows > 0 && !a.folders[labelKey{k.username, base(k.label)}] {
			a.Find(models.Dangling, c.rows, "username %q, label %q shows %d emails, and its folder is lost",
				k.username, k.label, c.rows)
		}
	}
	return a.Audit
}
