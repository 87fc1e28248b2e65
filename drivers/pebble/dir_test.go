package pebble

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

func tryOpen(dir string) error {
	st, err := Engine().Open(context.Background(), drivers.Options{Dir: dir})
	if err == nil {
		err = st.Close()
	}
	return err
}

// oneLine checks that an error is what it should be and can be shown as it is.
func oneLine(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is %q, want %q in one line", err, want)
	}
}

func TestForeignDirectory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "precious")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(file, []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	oneLine(t, tryOpen(dir), drivers.ErrForeign)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v; want only what was there", entries, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for range 2 { // an empty folder is taken, and then known
		if err := tryOpen(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, markName), []byte("layout 99"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := tryOpen(dir); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("a folder of another layout: %v", err)
	}
}

func TestLockedDirectory(t *testing.T) {
	dir := t.TempDir()
	e := newEnv(t, drivers.Options{Dir: dir})
	oneLine(t, tryOpen(dir), drivers.ErrLocked)
	// Another process meets the lock of the operating system.
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, childClass+"=0")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), drivers.ErrLocked.Error()) {
		t.Errorf("a second process said %q, %v", out, err)
	}
	e.write("add", "u", "a", 1) // the first goes on
}

func TestUnfitDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", file, filepath.Join(file, "below")} {
		if err := tryOpen(dir); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("directory %q: %v", dir, err)
		}
	}
	if _, err := Engine().Open(context.Background(), drivers.Options{Dir: t.TempDir(), Settings: map[string]string{"x": "1"}}); err == nil {
		t.Error("an unknown setting was taken")
	}
	if _, err := Engine().Open(context.Background(), drivers.Options{Dir: t.TempDir(), Durability: drivers.Quorum}); err == nil {
		t.Error("durability quorum was taken")
	}
}

func TestCatalog(t *testing.T) {
	dir := t.TempDir()
	e := newEnv(t, drivers.Options{Dir: dir})
	e.write("add", "u", "a", 1)
	other, err := schemas.Parse("other.yaml", []byte(strings.Replace(testSchema, "name: test", "name: other", 1)))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := e.store.Apply(ctx, other); err != nil {
		t.Fatal(err)
	}
	changed, err := schemas.Parse("test.yaml", []byte(strings.Replace(testSchema, "size: bigint", "size: int", 1)))
	if err != nil {
		t.Fatal(err)
	}
	const why = "column size of table mail is bigint; it should be int"
	if err := e.store.Apply(ctx, changed); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("a different schema of the same name was applied: %v, want an error with %q", err, why)
	}
	// Another schema has key spaces of its own: its equal tables are empty.
	slice, err := e.store.Prepare(ctx, other.Pattern("tallies"))
	if err != nil {
		t.Fatal(err)
	}
	err = e.sess.Read(ctx, slice, values([]any{"u"}), func(row []drivers.Value) error {
		t.Errorf("schema other reads %s", text(row))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	e.sess.Close()
	if err := e.store.Close(); err != nil {
		t.Fatal(err)
	}

	e = newEnv(t, drivers.Options{Dir: dir})
	e.want("a 1", "tallies", "u")
	for _, name := range []string{"test", "other"} {
		if s, err := e.store.Inspect(ctx, name); err != nil || s.Name != name || s.Table("mail") == nil {
			t.Errorf("inspect %s: %v, %v", name, s, err)
		}
	}
	if _, err := e.store.Inspect(ctx, "none"); err == nil {
		t.Error("a schema that is not there was inspected")
	}
	if _, err := e.store.Prepare(ctx, changed.Pattern("get")); err == nil {
		t.Error("a pattern of a schema that was not applied was prepared")
	}
}

// TestReordered: a schema file may be written in another order than the one that
// a data directory was made with, which older versions kept as it was.
func TestReordered(t *testing.T) {
	const head = "schema: 1\nname: test\ntables:\n"
	const patterns = `
patterns:
  put: {put: mail, columns: [subject, size, tags]}
  newest: {slice: mail, index: newest, by: u, columns: [id, subject, size, tags]}
  put_note: {put: note}
  note: {get: note}
`
	const notes = "  note: {partition: [u text], columns: {text: text}}\n"
	made := head + notes + `  mail:
    partition: [u text]
    clustering: [id bigint]
    columns: {subject: text, tags: set<text>, size: bigint}
    indexes: {by_subject: [subject], oldest: [u, id], newest: [u, id desc]}` + patterns
	read := head + `  mail:
    partition: [u text]
    clustering: [id bigint]
    columns: {size: bigint, subject: text, tags: set<text>}
    indexes: {newest: [u, id desc], by_subject: [subject], oldest: [u, id]}
` + notes + patterns
	for what, asItWas := range map[string]bool{"the canonical form": false, "an older version's file": true} {
		st, err := openStore(drivers.Options{Dir: t.TempDir()}, vfs.Default)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		if asItWas { // with the first space, and the one after the last: two tables of four, and three indexes
			if err := st.putSynced([]byte(schemaKey+"test"), append([]byte{0, 1, 0, 12}, made...)); err != nil {
				t.Fatal(err)
			}
		}
		applied := func(source string) *env {
			s, err := schemas.Parse("test.yaml", []byte(source))
			if err == nil {
				err = st.Apply(t.Context(), s)
			}
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			e := &env{t: t, store: st}
			if e.set, err = drivers.PrepareAll(t.Context(), st, s); err != nil {
				t.Fatal(err)
			}
			e.sess = e.session()
			return e
		}
		e := applied(made)
		e.write("put", "u", 1, "one", 10, set("a", "b"))
		e.write("put_note", "u", "noted")
		e = applied(read)
		e.write("put", "u", 2, "two", 20, set("c"))
		e.want("2 two 20 (c); 1 one 10 (a b)", "newest", "u")
		e.want("u noted", "note", "u")
		e = applied(made)
		e.want("2 two 20 (c); 1 one 10 (a b)", "newest", "u")
		there, err := st.Inspect(t.Context(), "test")
		if err != nil {
			t.Fatal(err)
		}
		if form := schemas.Format(schemas.Canonical(there)); string(schemas.Format(there)) != string(form) || len(there.Table("mail").Indexes) != 3 {
			t.Errorf("made from %s, the schema is inspected as\n%s", what, schemas.Format(there))
		}
	}
}

// Cool forgets caches and keeps data and statements; Observe and Settle report
// facts of the store.
func TestCoolAndObserve(t *testing.T) {
	e := newEnv(t, drivers.Options{})
	e.fill()
	e.sess.(drivers.Bulk).Bulk(true)
	e.write("add", "u", "a", 1)
	if err := e.store.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := e.store.Observe()
	if o.DiskBytes <= 0 || o.WrittenBytes <= 0 || o.CacheBytes != defaultCache || o.CompactionDebt < 0 || o.Tombstones != 0 || o.Settings["durability"] != "power" {
		t.Errorf("observed %+v", o)
	}
	e.sess.Close()
	if err := e.store.Cool(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.store.Sleep(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.store.Session(); !errors.Is(err, drivers.ErrClosed) {
		t.Errorf("a session of a store that sleeps: %v", err)
	}
	for range 2 { // the second is no error
		if err := e.store.Wake(); err != nil {
			t.Fatal(err)
		}
	}
	e.sess = e.session()
	e.want("a 1", "tallies", "u")
	e.want("1 2; 1 1; 2 2; 2 1; 3 2; 3 1", "back", "b", "in")
	e.write("drop", "b", "in", 1, 1)
	if err := e.store.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.store.Settle(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("settle with a canceled context: %v", err)
	}
}

func TestClosed(t *testing.T) {
	e := newEnv(t, drivers.Options{})
	e.sess.Close()
	if err := e.store.Close(); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	_, sessErr := e.store.Session()
	_, writeErr := e.sess.Write(ctx, e.stmt("add"), values([]any{"u", "a", 1}))
	_, inspectErr := e.store.Inspect(ctx, "test")
	for name, err := range map[string]error{
		"session": sessErr, "write": writeErr, "inspect": inspectErr,
		"settle": e.store.Settle(ctx), "cool": e.store.Cool(ctx), "wake": e.store.Wake(),
	} {
		if !errors.Is(err, drivers.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := e.store.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

// TestPrivate: only the user can read the files of a store, and Pebble never writes through a
// link that somebody left: it would empty what LOCK points to.
func TestPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	for range 2 { // the second time what is there is read, too
		if err := tryOpen(dir); err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"LOCK", markName, "link.sst"} {
		link := filepath.Join(dir, name)
		if err := os.RemoveAll(link); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(victim, link); err != nil {
			t.Fatal(err)
		}
		if err := tryOpen(dir); err == nil || !strings.Contains(err.Error(), name+" is a link and mailbench does not use it") {
			t.Errorf("a store whose %s is a link: %v", name, err)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(victim); string(b) != "mine" || err != nil {
		t.Errorf("the file outside holds %q, %v", b, err)
	}
}
