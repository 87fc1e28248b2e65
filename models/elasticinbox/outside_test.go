package elasticinbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/blobs"
	"github.com/mailbench/mailbench/models/modeltest"
)

// newOutside is a world whose messages of more than 1000 bytes are files.
func newOutside(t *testing.T) (w *world, dir string) {
	o := modeltest.Sized(200, 0)
	o.Values["blob_store"], o.Values["blob_threshold"], o.Blobs = inDatabase+1, 1000, t.TempDir()
	return newWorld(t, o), o.Blobs
}

// filesIn are the blobs in a folder.
func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() != "mailbench-blobs" {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestWordsOfStores: the schema's words are the database and the stores that there are.
func TestWordsOfStores(t *testing.T) {
	s, err := Model().Schema()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"db", blobs.FSLocal}
	if got := s.Parameter("blob_store").Words; !slices.Equal(got, want) {
		t.Errorf("words %v, want %v", got, want)
	}
}

// TestThreshold: a message of the threshold's bytes is in the database, a larger one is a file,
// and its bytes are counted.
func TestThreshold(t *testing.T) {
	w, dir := newOutside(t)
	d := draft(0)
	size := int64(len(d.Text)) - d.Message().Raw.Size() // the headers, negative
	for extra, files := range []int{0, 1} {
		d.Text = content(int(1000 + size + int64(extra)))
		msg := d.Message()
		if got := msg.Raw.Size(); got != int64(1000+extra) {
			t.Fatalf("a message of %d bytes, want %d", got, 1000+extra)
		}
		w.Meter.Take()
		h := w.deliver(msg)[0]
		cost := w.Meter.Take()
		if got := len(filesIn(t, dir)); got != files {
			t.Errorf("%d bytes: %d files, want %d", msg.Raw.Size(), got, files)
		}
		if cost.BlobRequests != int64(files) || cost.BlobBytesWritten != int64(files)*msg.Raw.Size() ||
			cost.BytesWritten < msg.Raw.Size() {
			t.Errorf("%d bytes: cost %+v", msg.Raw.Size(), cost)
		}
		var raw strings.Builder
		if _, err := w.mb.Raw(t.Context(), w.a.Folders[0], h, &raw); err != nil {
			t.Fatal(err)
		}
		if cost := w.Meter.Take(); files == 1 && (cost.BlobBytesRead != 1001 || cost.BlobRequests != 6) {
			t.Errorf("a read of 1001 bytes in blocks of 200: cost %+v", cost)
		}
	}
	var locations []string
	for _, r := range w.Rows("MessageMetadata.columns") {
		if s := string(r[3].Raw()); r[2].Str() == "location" {
			locations = append(locations, s[:min(len(s), len("blob://fs-local/container/ann@example.org:"))])
		}
	}
	slices.Sort(locations)
	if len(locations) != 2 || !strings.HasPrefix(locations[0], "blob://db/") ||
		locations[1] != "blob://fs-local/container/ann@example.org:" {
		t.Errorf("locations %q", locations)
	}
}

// TestOutsideGoes: a purge and a delivery that fails remove the file.
func TestOutsideGoes(t *testing.T) {
	w, dir := newOutside(t)
	d := draft(0)
	d.Text = content(2000)
	hs := w.deliver(d.Message())
	w.Must(w.mb.Delete(t.Context(), w.a.Folders[0], hs))
	if got := len(filesIn(t, dir)); got != 1 {
		t.Errorf("%d files after a delete, want 1", got)
	}
	n, err := w.mb.Purge(t.Context(), w.a, w.Now().Add(100))
	w.Must(err)
	if got := filesIn(t, dir); n != 1 || len(got) != 0 {
		t.Errorf("purge of %d messages leaves %v", n, got)
	}
	w.mb.S = &failing{Session: w.mb.S, pattern: "store"}
	if err := w.mb.Deliver(t.Context(), d.Message(), w.a.Folders[:1], hs); !errors.Is(err, errDown) {
		t.Fatalf("a delivery that fails: %v", err)
	}
	if got := filesIn(t, dir); len(got) != 0 {
		t.Errorf("a delivery that failed leaves %v", got)
	}
}

// TestOutsideGoesAtOnce: a delete that keeps nothing removes the file.
func TestOutsideGoesAtOnce(t *testing.T) {
	w, dir := newOutside(t)
	w.mb.threshold, w.mb.deletes = 1, removes
	hs := w.deliver(draft(0).Message(), draft(1).Message())
	w.Must(w.mb.Delete(t.Context(), w.a.Folders[0], hs[:1]))
	if got := filesIn(t, dir); len(got) != 1 {
		t.Errorf("files %v, want one", got)
	}
}

// TestAuditOfFiles damages files, and rows that have one.
func TestAuditOfFiles(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(w *world, file string) error
		want   models.Audit
	}{
		{"lost", func(_ *world, f string) error { return os.Remove(f) }, models.Audit{BrokenBodies: 1}},
		{"shorter", func(_ *world, f string) error { return os.Truncate(f, 1999) }, models.Audit{BrokenBodies: 1}},
		{"longer", func(_ *world, f string) error { return appendTo(f, "x") }, models.Audit{BrokenBodies: 1}},
		{"longer, and without a checksum", func(w *world, f string) error {
			id := w.Rows("MessageMetadata.columns")[0][1]
			args := []drivers.Value{drivers.Text("ann@example.org"), id, drivers.Text("parts")}
			_, err := w.Meter.Write(w.Context(), w.mb.do.ColumnDelete, args)
			return errors.Join(err, appendTo(f, "x"))
		}, models.Audit{BrokenBodies: 1}},
		{"changed", func(_ *world, f string) error {
			b, err := os.ReadFile(f)
			if err == nil {
				b[1000] ^= 1
				err = os.WriteFile(f, b, 0o600)
			}
			return err
		}, models.Audit{BrokenBodies: 1}},
		{"a file without a message", func(w *world, _ string) error {
			b, err := w.mb.outside.Write([16]byte{1})
			if err == nil {
				err = b.Commit()
			}
			return err
		}, models.Audit{Unreferenced: 1}},
		{"a write that was broken off", func(w *world, _ string) error {
			b, err := w.mb.outside.Write([16]byte{1})
			if err == nil {
				_, err = b.Write([]byte("half of a mess"))
			}
			return err
		}, models.Audit{InterruptedBlobs: 1}},
		{"a file of somebody else", func(_ *world, f string) error {
			return os.WriteFile(filepath.Join(filepath.Dir(f), "notes.txt"), nil, 0o600)
		}, models.Audit{}},
		{"a block of a message in a file", func(w *world, _ string) error {
			id := w.Rows("MessageMetadata.columns")[0][1]
			w.run(w.mb.do.BlocksPut, call(only, id, drivers.Int(0), drivers.Int(0), drivers.Blob(nil)))
			return nil
		}, models.Audit{Unreferenced: 1}},
		{"another store", func(w *world, _ string) error {
			id := w.Rows("MessageMetadata.columns")[0][1]
			w.run(w.mb.do.Store, call(storeColumn, drivers.Text("ann@example.org"), id, drivers.Text("location"),
				drivers.Blob([]byte("blob://s3/container/ann@example.org:x?s=2000"))))
			return nil
		}, models.Audit{BrokenBodies: 1, Unreferenced: 1, CounterDrift: -1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, dir := newOutside(t)
			d := draft(0)
			d.Text = content(2000)
			msg := d.Message()
			h := w.deliver(msg)
			files := filesIn(t, dir)
			if clean := w.audit(); len(files) != 1 || clean.BrokenBodies+clean.Unreferenced+clean.InterruptedBlobs != 0 {
				t.Fatalf("files %v, audit %+v", files, clean)
			}
			w.Must(c.damage(w, files[0]))
			got := w.audit()
			if c.want.CounterDrift < 0 {
				c.want.CounterDrift = got.CounterDrift
			}
			if got.BrokenBodies != c.want.BrokenBodies || got.Unreferenced != c.want.Unreferenced ||
				got.InterruptedBlobs != c.want.InterruptedBlobs || got.Dangling != 0 || got.CounterDrift != c.want.CounterDrift {
				t.Errorf("audit %+v, want %+v", got, c.want)
			}
			var raw strings.Builder
			_, err := w.mb.Raw(t.Context(), w.a.Folders[0], h[0], &raw)
			if read := c.want.BrokenBodies == 0 || strings.HasPrefix(c.name, "longer") || strings.HasPrefix(c.name, "a block"); read != (err == nil) {
				t.Errorf("a read: %v", err)
			}
		})
	}
}

// TestOutsideNeedsAFolder: without one nothing is bound, and the content in files is named.
func TestOutsideNeedsAFolder(t *testing.T) {
	w, _ := newOutside(t)
	d := draft(0)
	d.Text = content(2000)
	w.deliver(d.Message())
	p, err := drivers.PrepareAll(t.Context(), w.Store, w.Schema)
	w.Must(err)
	_, err = Model().Bind(t.Context(), p, models.Options{Values: map[string]int{"blob_store": inDatabase + 1}})
	if err == nil || !strings.Contains(err.Error(), "blob_store fs-local: it is a folder of this machine") {
		t.Errorf("bind without a folder: %v", err)
	}
	w.mb = w.Mailbox(w.Bind(models.Options{})).(*mailbox)
	if a := w.audit(); a.BrokenBodies != 1 || len(a.Notes) == 0 || !strings.Contains(a.Notes[0], "fs-local is not here") {
		t.Errorf("audit without a folder: %+v", a)
	}
}

func appendTo(name, text string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
