package pebble

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// testSchema has a table for each thing the layout does.
const testSchema = `
schema: 1
name: test
tables:
  mail:
    partition: [user text, folder text]
    clustering: [day bigint desc, id bigint]
    static: {title: text}
    columns: {subject: text, size: bigint, seen: boolean}
    indexes: {by_id: [user, folder, id desc]}
  part:
    parent: mail
    clustering: [n int]
    columns: {data: blob}
  tally:
    partition: [user text]
    clustering: [name text]
    columns: {n: counter}
  post:
    partition: [room text]
    clustering: [id bigint desc]
    columns: {body: text, to: set<text>, seen_by: list<text>, files: "map<text,bigint>"}
  noted:
    partition: [id int]
    columns: {word: text}
    indexes: {by_word: [word]}
  event:
    partition: [room text]
    clustering: [id bigint]
    indexes: {newest: [room, id desc]}
patterns:
  happen: {put: event}
  events: {slice: event, by: room, columns: id}
  newest: {slice: event, index: newest, by: room, columns: id}
  forget: {delete: event, by: room}
  note: {put: noted}
  worded: {slice: noted, index: by_word, by: word, columns: id}
  worded_whole: {slice: noted, index: by_word, by: word, columns: [id, word]}
  wordless: {scan: noted, filter: word, columns: id}
  put: {put: mail, by: [user, folder, day, id]}
  mark: {put: mail, by: [user, folder, day, id], columns: [seen]}
  claim: {put-if: mail, by: [user, folder, day, id], if: absent}
  swap: {put-if: mail, by: [user, folder, day, id], columns: [subject], if: [subject]}
  get: {get: mail, by: [user, folder, day, id], columns: "*"}
  some: {get: mail, by: [user, folder, day], in: id, columns: [id, subject]}
  page: {slice: mail, by: [user, folder], after: [day, id], limit: arg, columns: [day, id, subject]}
  back: {slice: mail, by: [user, folder], reverse: true, columns: [day, id]}
  days: {slice: mail, by: [user, folder], from: day, to: day open, columns: [day, id]}
  ids: {slice: mail, index: by_id, by: [user, folder], columns: [id, subject, title], limit: 3}
  id_only: {slice: mail, index: by_id, by: [user, folder], columns: [id, day]}
  seen: {slice: mail, by: [user, folder], filter: [seen], columns: [id]}
  all: {scan: mail, columns: [user, folder, day, id]}
  title: {put: mail, static: true, by: [user, folder]}
  titled: {get: mail, static: true, by: [user, folder], columns: [title]}
  drop: {delete: mail, by: [user, folder, day, id]}
  drop_day: {delete: mail, by: [user, folder, day]}
  drop_folder: {delete: mail, by: [user, folder]}
  put_part: {put: part, by: [user, folder, day, id, n]}
  parts: {slice: part, by: [user, folder, day, id], columns: [n, data]}
  add: {increment: tally, by: [user, name], columns: [n]}
  next: {increment: tally, by: [user, name], columns: [n], returns: new}
  tallies: {slice: tally, by: [user], columns: [name, n]}
  post: {put: post, by: [room, id]}
  posts: {slice: post, by: [room], columns: "*"}
  post_ids: {slice: post, by: [room], columns: [id]}
  posts_back: {slice: post, by: [room], reverse: true, columns: [id, to]}
  posts_of: {get: post, by: [room], in: id, columns: [id, to]}
  file: {get: post, by: [room, id], element: files}
  see: {append: post, by: [room, id], columns: [seen_by]}
  unsee: {remove-element: post, by: [room, id], columns: [seen_by]}
  unpost: {delete: post, by: [room, id]}
  repost: {batch: [unpost, post]}
  postrepost: {batch: [post, unpost, post]}
  leave: {delete: post, by: [room]}
  move: {batch: [drop, put, add], atomic: all}
`

// env is a store with the test schema and a session.
type env struct {
	t     testing.TB
	store *Store
	set   *drivers.Prepared
	sess  drivers.Session
}

func newEnv(t testing.TB, o drivers.Options) *env {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	e, err := openEnv(o)
	if err != nil {
		t.Fatal(err)
	}
	e.t = t
	t.Cleanup(e.close)
	return e
}

func openEnv(o drivers.Options) (*env, error) { return openEnvOn(vfs.Default, o) }

func openEnvOn(disk vfs.FS, o drivers.Options) (*env, error) {
	ctx := context.Background()
	st, err := openStore(o, disk)
	if err != nil {
		return nil, err
	}
	e := &env{store: st}
	sch, err := schemas.Parse("test.yaml", []byte(testSchema))
	if err != nil {
		return nil, err
	}
	if err := st.Apply(ctx, sch); err != nil {
		return nil, err
	}
	if e.set, err = drivers.PrepareAll(ctx, st, sch); err != nil {
		return nil, err
	}
	e.sess, err = st.Session()
	return e, err
}

func (e *env) close() {
	e.sess.Close()
	e.store.Close()
}

func (e *env) session() drivers.Session {
	e.t.Helper()
	s, err := e.store.Session()
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { s.Close() })
	return s
}

func (e *env) stmt(name string) drivers.Statement {
	e.t.Helper()
	st, err := e.set.Get(name)
	if err != nil {
		e.t.Fatal(err)
	}
	return st
}

// value makes a value of a Go value in a test. Integers become bigints.
func value(x any) drivers.Value {
	switch x := x.(type) {
	case nil:
		return drivers.Value{}
	case int:
		return drivers.Bigint(int64(x))
	case int32:
		return drivers.Int(x)
	case string:
		return drivers.Text(x)
	case bool:
		return drivers.Boolean(x)
	case []byte:
		return drivers.Blob(x)
	case drivers.Value:
		return x
	}
	panic(fmt.Sprintf("no value for %T", x))
}

func values(xs []any) []drivers.Value {
	vs := make([]drivers.Value, len(xs))
	for i, x := range xs {
		vs[i] = value(x)
	}
	return vs
}

func list(xs ...any) drivers.Value  { return drivers.ListOf(values(xs)) }
func set(xs ...any) drivers.Value   { return drivers.SetOf(values(xs)) }
func pairs(xs ...any) drivers.Value { return drivers.MapOf(values(xs)) }

func (e *env) write(name string, args ...any) drivers.Result {
	e.t.Helper()
	r, err := e.sess.Write(context.Background(), e.stmt(name), values(args))
	if err != nil {
		e.t.Fatal(err)
	}
	return r
}

func (e *env) batch(name string, calls ...drivers.Call) {
	e.t.Helper()
	if err := e.sess.Batch(context.Background(), e.stmt(name), calls); err != nil {
		e.t.Fatal(err)
	}
}

func call(part int, args ...any) drivers.Call { return drivers.Call{Part: part, Args: values(args)} }

// read returns rows as text: values by spaces, rows by lines.
func (e *env) read(name string, args ...any) string {
	e.t.Helper()
	var rows []string
	err := e.sess.Read(context.Background(), e.stmt(name), values(args), func(row []drivers.Value) error {
		rows = append(rows, text(row))
		return nil
	})
	if err != nil {
		e.t.Fatal(err)
	}
	return strings.Join(rows, "; ")
}

func text(row []drivers.Value) string {
	words := make([]string, len(row))
	for i, v := range row {
		switch v.Kind() {
		case schemas.Null:
			words[i] = "-"
		case schemas.Text, schemas.Blob:
			words[i] = v.Str()
		case schemas.Set, schemas.List, schemas.Map:
			words[i] = "(" + text(v.Elems()) + ")"
		default:
			words[i] = fmt.Sprint(v.Int64())
		}
	}
	return strings.Join(words, " ")
}

func (e *env) want(want, name string, args ...any) {
	e.t.Helper()
	if got := e.read(name, args...); got != want {
		e.t.Errorf("%s%v:\n got %q\nwant %q", name, args, got, want)
	}
}

// TestGuarded: a table's writes take locks as soon as a pattern of any schema that
// was applied over it reads before it writes.
func TestGuarded(t *testing.T) {
	const plain = "schema: 1\nname: guarded\ntables: {mail: {partition: [user text], columns: {size: bigint}}}\n" +
		"patterns: {put: {put: mail, columns: size}"
	st := newEnv(t, drivers.Options{}).store
	var tables []*table
	for _, text := range []string{plain + "}\n", plain + ", swap: {put-if: mail, columns: size, if: size}}\n"} {
		s, err := schemas.Parse("guarded.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Apply(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if _, err := drivers.PrepareAll(t.Context(), st, s); err != nil {
			t.Fatal(err)
		}
		stmt, err := st.Prepare(t.Context(), s.Pattern("put"))
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, stmt.(*statement).table)
	}
	for i, tb := range tables {
		if !tb.guarded.Load() {
			t.Errorf("schema %d: writes take no lock, though another schema has conditional ones", i)
		}
	}
}
