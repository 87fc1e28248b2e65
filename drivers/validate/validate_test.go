package validate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	rawpebble "github.com/cockroachdb/pebble/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/drivers/validate"
	"github.com/mailbench/mailbench/schemas"
)

// everything has a column of each type, and a table with the sums of another.
const everything = `
schema: 1
name: everything
tables:
  things:
    partition: [id uuid]
    clustering: [at timeuuid desc]
    static: {title: text, seen: uuid}
    columns:
      name: text
      data: blob
      owner: uuid
      small: int
      tags: set<uuid>
      list: list<uuid>
      sizes: map<uuid,uuid>
  marks:
    partition: [n int]
    columns: {value: blob}
    references:
      thing: {to: things, from: {value: "{id uuid}"}, at: {id: "{id}"}}
  boxes:
    partition: [box text]
    columns: {files: bigint, bytes: bigint}
    counts:
      files: {column: files, of: files, by: box}
      bytes: {column: bytes, of: files, by: box, sum: data}
  files:
    partition: [box text]
    clustering: [n int]
    columns: {data: blob}
    references:
      box: {to: boxes, by: box}
`

type world struct {
	t      testing.TB
	dir    string
	schema *schemas.Schema
	store  drivers.Store
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldOf(t, everything)
}

func newWorldOf(t testing.TB, text string) *world {
	t.Helper()
	s, err := schemas.Parse("everything.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "store"), schema: s}
	w.open()
	t.Cleanup(w.close)
	return w
}

func (w *world) open() {
	w.t.Helper()
	var err error
	w.store, err = pebble.Engine().Open(w.t.Context(), drivers.Options{Dir: w.dir, Durability: drivers.Memory})
	if err == nil {
		err = w.store.Apply(w.t.Context(), w.schema)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) close() {
	if err := w.store.Close(); err != nil {
		w.t.Error(err)
	}
}

// putter returns a function that puts rows into a table: its key, then its columns.
func (w *world) putter(table string, static bool) func(vs ...drivers.Value) {
	w.t.Helper()
	t := w.schema.Table(table)
	p := &schemas.Pattern{Name: "put", Kind: schemas.Put, Table: t, By: t.Key(), Columns: t.Columns}
	if static {
		p.Static, p.By, p.Columns = true, t.Partition, t.Static
	}
	st, err := w.store.Prepare(w.t.Context(), p)
	if err != nil {
		w.t.Fatal(err)
	}
	session, err := w.store.Session()
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { session.Close() })
	return func(vs ...drivers.Value) {
		w.t.Helper()
		if _, err := session.Write(w.t.Context(), st, vs); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) check(c validate.Config) *validate.Report {
	w.t.Helper()
	c.Dir = w.t.TempDir()
	r, err := validate.Run(w.t.Context(), w.store, w.schema, c)
	if err != nil {
		w.t.Fatal(err)
	}
	left, err := os.ReadDir(c.Dir)
	if err != nil || len(left) > 0 {
		w.t.Errorf("files are left: %v, %v", left, err)
	}
	return r
}

// found lists findings with their first example.
func found(r *validate.Report) []string {
	var all []string
	for _, f := range r.Findings {
		all = append(all, fmt.Sprintf("%s %s %s %d: %s", f.Table, f.Check, f.Name, f.Rows, f.Examples[0]))
	}
	return all
}

// id returns an identifier of version 1, whose bytes occur nowhere else.
func id(n byte) [16]byte { return [16]byte{n, n, n, n, n, n, 0x10, n, 0x80, n, n, n, n, n, n, n} }

// TestValues plants values that are none of their columns' types, below the driver,
// and looks whether each is found and the other rows are read.
func TestValues(t *testing.T) {
	w := newWorld(t)
	put, title := w.putter("things", false), w.putter("things", true)
	uuids := func(n byte) []drivers.Value { return []drivers.Value{drivers.UUID(id(n)), drivers.UUID(id(n + 1))} }
	row := func(n byte) []drivers.Value {
		return []drivers.Value{
			drivers.UUID(id(n)), drivers.TimeUUID(id(n)), drivers.Text("name"), drivers.Blob([]byte{0xff}), drivers.UUID(id(n + 100)),
			drivers.Int(7),
			{},
			{},
			{},
		}
	}
	for n := range byte(9) {
		put(row(n)...)
	}
	title(drivers.UUID(id(0)), drivers.Text("t"), drivers.UUID(id(200)))
	r := row(10)
	r[2] = drivers.TextBytes([]byte("caf\xe9"))
	put(r...)
	r = row(11)
	r[1] = drivers.TimeUUID([16]byte{6: 0x40, 8: 0x80})
	put(r...)
	r = row(12)
	r[6], r[7], r[8] = drivers.SetOf(uuids(30)), drivers.ListOf(uuids(32)), drivers.MapOf(uuids(34))
	put(r...)
	if got := found(w.check(validate.Config{})); len(got) != 2 {
		t.Fatalf("before bytes are changed: %q", got)
	}

	cut := func(b []byte, id [16]byte) ([]byte, bool) { // an identifier of 15 bytes
		i := bytes.Index(b, id[:])
		if i < 0 {
			return b, false
		}
		return append(bytes.Clone(b[:i]), b[i+1:]...), true
	}
	cell := func(b []byte, of [16]byte) ([]byte, bool) { // with its length before it
		i := bytes.Index(b, append([]byte{16}, of[:]...))
		if i < 0 {
			return b, false
		}
		b, _ = cut(b, of)
		b[i] = 15
		return b, true
	}
	w.rewrite(func(key, value []byte) ([]byte, []byte, bool) {
		for _, n := range []byte{102, 200} { // owner of row 2, seen of partition 0
			if v, ok := cell(value, id(n)); ok {
				return key, v, true
			}
		}
		if v, ok := cut(value, id(32)); ok { // an element of the list
			return key, v, true
		}
		if k, ok := cut(key, id(31)); ok { // an element of the set
			return k, value, true
		}
		if bytes.Contains(value, append([]byte{16}, bytes.Repeat([]byte{103}, 6)...)) { // row 3
			return key[:len(key)-1], value, true
		}
		if bytes.Contains(value, append([]byte{16}, bytes.Repeat([]byte{104}, 6)...)) { // row 4
			return key, value[:len(value)-1], true
		}
		return key, value, false
	})
	// The places of a row are its id and, of the same bytes, its time.
	at := func(n byte) string {
		return fmt.Sprintf("%[1]x%[1]x-%[1]x-10%02[2]x-80%02[2]x-%[1]x%[1]x%[1]x", []byte{n, n}, n)
	}
	row2, row4, row12 := place(at(2)), place(at(4)), place(at(12))
	got := found(w.check(validate.Config{}))
	want := []string{
		"things decode data 1: " + row4 + ": 0x010001ff08046e616d650c1068686868… (30 bytes) is no blob",
		"things decode id 1: id=0x03030303030310038003030303030303… (31 bytes), " +
			"at=0x03030303030310038003030303030303… (31 bytes): 0x03030303030310038003030303030303… (31 bytes) is no uuid",
		"things decode list 1: " + row12 + ": an element: 0x202020202010208020202020202020 is no uuid",
		"things decode name 1: " + row4 + ": 0x010001ff08046e616d650c1068686868… (30 bytes) is no text",
		"things decode owner 2: " + row2 + ": 0x666666666610668066666666666666 is no uuid",
		"things decode seen 1: id=" + at(0) + ": 0xc8c8c8c8c810c880c8c8c8c8c8c8c8 is no uuid",
		"things decode small 1: " + row4 + ": 0x010001ff08046e616d650c1068686868… (30 bytes) is no int",
		"things decode tags 1: " + row12 + ": an element: 0x1f1f1f1f1f101f801f1f1f1f1f1f1f is no uuid",
		"things timeuuid at 1: id=" + at(11) +
			", at=00000000-0000-4000-8000-000000000000: 00000000-0000-4000-8000-000000000000 is no UUID of version 1",
		"things utf-8 name 1: " + place(at(10)) + ": 0x636166e9 is not UTF-8",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// place is how a row is named whose two key columns are the same.
func place(id string) string { return "id=" + id + ", at=" + id }

// rewrite changes keys and values of the closed store as they are stored.
func (w *world) rewrite(change func(key, value []byte) (k, v []byte, changed bool)) {
	w.t.Helper()
	w.close()
	opts := pebble.Tuned(1 << 20)
	db, err := rawpebble.Open(w.dir, opts)
	if err != nil {
		w.t.Fatal(err)
	}
	it, err := db.NewIter(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	b := db.NewBatch()
	for ok := it.First(); ok; ok = it.Next() {
		if k, v, changed := change(bytes.Clone(it.Key()), bytes.Clone(it.Value())); changed {
			if err := b.Delete(it.Key(), nil); err != nil {
				w.t.Fatal(err)
			}
			if err := b.Set(k, v, nil); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	if err := it.Close(); err != nil {
		w.t.Fatal(err)
	}
	if err := b.Commit(rawpebble.Sync); err != nil {
		w.t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.open()
}

// boxes fills n boxes. Box i has i%7 files of 10 bytes.
func (w *world) boxes(n int, put func(box string, i int) bool) {
	w.t.Helper()
	boxes, files := w.putter("boxes", false), w.putter("files", false)
	for i := range n {
		box := fmt.Sprintf("box-%06d", i)
		if put(box, i) {
			boxes(drivers.Text(box), drivers.Bigint(int64(i%7)), drivers.Bigint(int64(10*(i%7))))
		}
		for k := range i % 7 {
			files(drivers.Text(box), drivers.Int(int32(k)), drivers.Blob(make([]byte, 10)))
		}
	}
}

// TestDivided: the findings do not depend on the number of workers, or on the number of tables the records are sorted in.
func TestDivided(t *testing.T) {
	w := newWorld(t)
	w.boxes(1000, func(_ string, i int) bool { return i%50 != 6 })
	w.putter("files", false)(drivers.Text("box-000008"), drivers.Int(99), drivers.Blob([]byte("x")))
	want := []string{
		"boxes count bytes 1: box=\"box-000008\": bytes is 10, counted 11",
		"boxes count files 1: box=\"box-000008\": files is 1, counted 2",
		"files reference box 58: box=\"box-000006\", n=0 and 5 more: no row of boxes",
	}
	for _, c := range []validate.Config{{Workers: 1}, {Workers: 1, Memory: 16 << 10}, {Workers: 3, Memory: 32 << 10}, {Workers: 16, Memory: 16 << 10}} {
		r := w.check(c)
		if c.Memory > 0 && r.Scratch < 4*c.Memory {
			t.Errorf("%+v: %d bytes on disk, want more than several tables in memory", c, r.Scratch)
		}
		if diff := cmp.Diff(want, found(r)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c, diff)
		}
		if f := r.Findings[len(r.Findings)-1]; f.Missing != 17 || len(f.Examples) != validate.Examples {
			t.Errorf("%+v: %d boxes are missing, want 17; %d examples", c, f.Missing, len(f.Examples))
		}
	}
}

// TestMissingCounter: a counter that is missing is 0, as nothing was ever added to it. It is
// found if there is something to count. A number that is null in its row is 0 too; without the row it is
// not compared.
func TestMissingCounter(t *testing.T) {
	w := newWorldOf(t, `
schema: 1
name: counters
tables:
  tallies:
    partition: [folder text]
    columns: {n: counter}
    counts: {n: {column: n, of: letters, by: folder}}
  notes:
    partition: [folder text]
    columns: {n: bigint}
    counts: {n: {column: n, of: letters, by: folder}}
  lists:
    partition: [folder text]
    columns: {n: bigint}
    counts: {n: {column: n, of: letters, by: folder}}
  letters:
    partition: [folder text]
    clustering: [id int]
    columns: {size: int}
`)
	letter := w.putter("letters", false)
	for id := range int32(3) {
		letter(drivers.Text("in"), drivers.Int(id), drivers.Int(1))
	}
	list := w.putter("lists", false)
	list(drivers.Text("in"), drivers.Value{})
	list(drivers.Text("empty"), drivers.Value{})
	want := []string{
		"tallies count n 1: no n for folder=\"in\", id=0: 3 counted",
		"lists count n 1: folder=\"in\": n is 0, counted 3",
	}
	r := w.check(validate.Config{})
	if diff := cmp.Diff(want, found(r)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if len(r.Findings) == 2 && r.Findings[0].Drift != 3 {
		t.Errorf("%+v", r.Findings[0])
	}
}

// TestMapsAndAnyText: each number of a map is compared with its own rows. A row that any text completes cannot be looked
// up in a sample.
func TestMapsAndAnyText(t *testing.T) {
	w := newWorldOf(t, `
schema: 1
name: maps
tables:
  totals:
    partition: [box text]
    columns: {files: "map<text,bigint>"}
    counts: {files: {column: files, of: files, from: {box: "{box}", files: "{label}"}, at: {box: "{box}", label: "{label}"}}}
  files:
    partition: [box text]
    clustering: [n int]
    columns: {label: text, note: text}
    references: {note: {to: notes, from: {note: "{id}"}, at: {key: "{id}:{}"}}}
  notes:
    partition: [key text]
`)
	text := drivers.Text
	w.putter("totals", false)(text("in"), drivers.MapOf([]drivers.Value{text("a"), drivers.Bigint(2), text("b"), drivers.Bigint(5)}))
	file := w.putter("files", false)
	for n, of := range [][2]string{{"a", "x"}, {"a", "x"}, {"b", "y"}} {
		file(text("in"), drivers.Int(int32(n)), text(of[0]), text(of[1]))
	}
	w.putter("notes", false)(text("x:anything"))
	want := []string{
		"totals count files 1: box=\"in\": files is 5, counted 1",
		"files reference note 1: box=\"in\", n=2: no row of notes",
	}
	if diff := cmp.Diff(want, found(w.check(validate.Config{}))); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	r := w.check(validate.Config{Sample: 0.999})
	if diff := cmp.Diff([]string{"totals: count files", "files: reference note"}, r.Unchecked); diff != "" || len(r.Findings) > 0 {
		t.Errorf("a sample found %q, and leaves out (-want +got):\n%s", found(r), diff)
	}
}

// TestSample reads about as much as the sample says, and finds what that refers to.
func TestSample(t *testing.T) {
	w := newWorld(t)
	w.boxes(2000, func(_ string, i int) bool { return i%2 == 0 })
	files := 0
	for seed := range uint64(5) {
		r := w.check(validate.Config{Sample: 0.1, Seed: seed})
		read := r.Tables[len(r.Tables)-1]
		if read.Rows < 100 || read.Rows > 2000 { // of about 6,000
			t.Errorf("%d rows of 6,000 were read, want about 600", read.Rows)
		}
		if len(r.Findings) != 1 || r.Findings[0].Rows < read.Rows/3 || r.Findings[0].Rows > 2*read.Rows/3 {
			t.Errorf("of %d rows, half of which refer to nothing, these were found: %q", read.Rows, found(r))
		}
		if diff := cmp.Diff([]string{"boxes: count files", "boxes: count bytes"}, r.Unchecked); diff != "" {
			t.Error(diff)
		}
		files += int(read.Rows)
	}
	if files < 1500 || files > 6000 {
		t.Errorf("five samples of a tenth read %d rows of 6,000, want about 3,000", files)
	}
}

// refusing is a store that refuses some keys, as Cassandra and HBase do, or fails to read an empty one.
type refusing struct {
	drivers.Store
	fault error
}

func (s refusing) Session() (drivers.Session, error) {
	inner, err := s.Store.Session()
	return refusingSession{inner, s.fault}, err
}

type refusingSession struct {
	drivers.Session
	fault error
}

func (s refusingSession) Read(
	ctx context.Context, st drivers.Statement, args []drivers.Value, yield func(row []drivers.Value) error,
) error {
	empty := func(v drivers.Value) bool { return v.Size() == 0 }
	switch key := slices.Concat(args, []drivers.Value{drivers.Text("none")})[0].Raw(); {
	case s.fault != nil && slices.ContainsFunc(args, empty):
		return s.fault
	case len(key) == 0:
		return errors.New("key may not be empty")
	case len(key) > 1<<15:
		return fmt.Errorf("a row key of %d bytes: %w", len(key), drivers.ErrTooLarge)
	case !utf8.Valid(key):
		return errors.New("string did not validate")
	}
	return s.Session.Read(ctx, st, args, yield)
}

// TestRefusedKeys: a sample finds that rows refer to none, also if the engine refuses the key of that row.
func TestRefusedKeys(t *testing.T) {
	w := newWorld(t)
	file := w.putter("files", false)
	for _, box := range []string{"", "none", "\xff", strings.Repeat("x", 1<<15+1)} {
		file(drivers.Text(box), drivers.Int(1), drivers.Blob(nil))
	}
	r, err := validate.Run(t.Context(), refusing{w.store, nil}, w.schema, validate.Config{Dir: t.TempDir(), Sample: 0.999})
	if err != nil || r.Broken() != 5 { // the key that is not UTF-8 is found twice
		t.Errorf("found %q, %v; want each row of files", found(r), err)
	}
}

// TestFailedLookUps: an error that is not about the key of the other row ends a sample. It says nothing of the row.
func TestFailedLookUps(t *testing.T) {
	for key, fault := range map[string]error{
		"partition: [box text]":                          drivers.ErrCorrupt,
		"partition: [user text], clustering: [box text]": errors.New("a replica failed"),
		"partition: [user text, box text]":               errors.New("not authorized"),
	} {
		by := "box"
		if strings.Contains(key, "user") {
			by = "[user, box]"
		}
		w := newWorldOf(t, `
schema: 1
name: lookups
tables:
  boxes: {`+key+`}
  files:
    partition: [n int]
    columns: {user: text, box: text}
    references: {box: {to: boxes, by: `+by+`}}
`)
		w.putter("files", false)(drivers.Int(1), drivers.Text("ann"), drivers.Text(""))
		_, err := validate.Run(t.Context(), refusing{w.store, fault}, w.schema, validate.Config{Dir: t.TempDir(), Sample: 0.999})
		if !errors.Is(err, fault) {
			t.Errorf("%s: %v; want %v", key, err, fault)
		}
	}
}

// TestIdentifiers: a blob may hold an identifier as 16 bytes or as text. Other blobs
// take no part.
func TestIdentifiers(t *testing.T) {
	w := newWorld(t)
	thing, mark := w.putter("things", false), w.putter("marks", false)
	thing(drivers.UUID(id(1)), drivers.TimeUUID(id(1)), drivers.Value{}, drivers.Value{}, drivers.Value{}, drivers.Value{},
		drivers.Value{}, drivers.Value{}, drivers.Value{})
	there, gone := id(1), id(2)
	for n, value := range [][]byte{
		there[:], []byte("01010101-0101-1001-8001-010101010101"), gone[:], []byte("02020202-0202-1002-8002-020202020202"),
		[]byte("something else"), nil,
	} {
		mark(drivers.Int(int32(n)), drivers.Blob(value))
	}
	want := []string{"marks reference thing 2: n=2 and 1 more: no row of things"}
	if diff := cmp.Diff(want, found(w.check(validate.Config{Sample: 1}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A sample of as good as all rows. It names the rows of each part by themselves.
	r := w.check(validate.Config{Sample: 1 - 1e-9})
	if len(r.Findings) != 1 || r.Findings[0].Rows != 2 || !strings.HasPrefix(r.Findings[0].Examples[0], "n=2") {
		t.Errorf("a sample of all rows found %q, want the rows 2 and 3 of marks", found(r))
	}
}

// partless is a store that divides a scan into no parts.
type partless struct {
	drivers.Store
	drivers.Splitter
}

func (partless) Split(context.Context, drivers.Statement, int) ([]string, error) {
	return nil, nil
}

// TestNoParts: an engine that names no parts of a table is an error, and no table without faults.
func TestNoParts(t *testing.T) {
	w := newWorld(t)
	w.boxes(1, func(string, int) bool { return true })
	for _, sample := range []float64{0.5, 1} {
		_, err := validate.Run(t.Context(), partless{Store: w.store}, w.schema, validate.Config{Dir: t.TempDir(), Sample: sample})
		if err == nil || !strings.Contains(err.Error(), "no parts") {
			t.Errorf("sample %g: %v", sample, err)
		}
	}
}
