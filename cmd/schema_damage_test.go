package cmd

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	rawpebble "github.com/cockroachdb/pebble/v2"
	"github.com/gocql/gocql"
	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/drivers/pebble"
)

// stored is one cell as an engine keeps it. The embedded engine has a whole row in
// value, under row; qualifier is HBase's.
type stored struct {
	table, family         string
	row, qualifier, value []byte
}

// rawDamage changes stored bytes below the driver: it returns the cell that is to be
// there instead, or next to the old one if its place differs and keep is set.
type rawDamage struct {
	name   string
	of     func(c stored) bool // whether to change a cell; the first that matches is changed
	change func(c *stored)
	keep   bool
	want   []string // what schema validate must say
}

// damages are of equal length, but for those of keys. Each comes after the others, so what
// was found before is found again.
func damages() []rawDamage {
	has := func(b []byte, text string) bool { return bytes.Contains(b, []byte(text)) }
	index := func(c stored, label string) bool { // an entry of a label's index, whose row is address:label
		return has(c.row, "@") && has(c.row, ":"+label) && !has(c.row, "label:")
	}
	return []rawDamage{
		{
			name:   "a byte of a message is another one",
			of:     func(c stored) bool { return has(c.value, "MIME-Version: 1.0") },
			change: func(c *stored) { c.value[bytes.Index(c.value, []byte("MIME-Version"))] = 'N' },
			want:   []string{"1 broken bodies", "  broken body: message "},
		},
		{
			name: "a number is no number",
			of: func(c stored) bool {
				return has(c.row, "size") && len(c.qualifier) == 0 || strings.HasSuffix(string(c.qualifier), "size")
			},
			change: func(c *stored) {
				for i, b := range c.value {
					if '0' <= b && b <= '9' {
						c.value[i] = 0xff
					}
				}
			},
			want: []string{"MessageMetadata.columns: count size: 1 row", "is no number", "sub-column size of message "},
		},
		{
			name: "a text is not UTF-8",
			of:   func(c stored) bool { return has(c.row, "label:1") || has(c.qualifier, "label:1") },
			change: func(c *stored) {
				if i := bytes.IndexFunc(c.value, unicode.IsLetter); i >= 0 {
					c.value[i] = 0xff
				}
			},
			want: []string{"Accounts: utf-8 value: 1 row", "is not UTF-8"},
		},
		{
			name: "a key cannot be decoded",
			of:   func(c stored) bool { return index(c, "0") },
			change: func(c *stored) {
				if len(c.qualifier) > 0 {
					c.qualifier = c.qualifier[:len(c.qualifier)-3]
				} else {
					c.row = c.row[:len(c.row)-3]
				}
			},
			want: []string{"IndexLabels: decode "},
		},
		{
			name: "a row is there twice, under another label", keep: true,
			of:     func(c stored) bool { return index(c, "1") },
			change: func(c *stored) { c.row = bytes.Replace(c.row, []byte(":1"), []byte(":2"), 1) },
			want:   []string{"IndexLabels: reference message: 1 row", "no row of MessageMetadata.columns"},
		},
	}
}

// TestDamage damages the data of a run, below the driver. schema validate says each
// time what is wrong and where, and ends with the status of broken data.
func TestDamage(t *testing.T) {
	m := loadElasticInbox(t, "embedded")
	for _, d := range damages() {
		m.after(t, d.name, d.want, func() { plantPebble(t, filepath.Join(m.data, "elasticinbox-embedded", "store"), d) })
	}
}

func TestDamageLiveHBase(t *testing.T) {
	m := loadElasticInbox(t, "hbase")
	client := gohbase.NewClient(live.Contact(t, "hbase"), gohbase.Logger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	defer client.Close()
	for _, d := range damages() {
		m.after(t, d.name, d.want, func() { plantHBase(t, client, m.keyspace, d) })
	}
}

// TestDamageLiveCassandra: Cassandra itself refuses texts that are not UTF-8, and keys that
// cannot be decoded.
func TestDamageLiveCassandra(t *testing.T) {
	m := loadElasticInbox(t, "cassandra")
	cluster := live.CQL(t)
	cluster.Keyspace = m.keyspace
	s, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run := func(cql string, args ...any) {
		t.Helper()
		if err := s.Query(cql, args...).Exec(); err != nil {
			t.Fatal(err)
		}
	}
	all := damages()
	m.after(t, all[0].name, all[0].want, func() {
		var id gocql.UUID
		var data []byte
		if err := s.Query(`SELECT message, data FROM "MessageBlob" WHERE block = 0 LIMIT 1 ALLOW FILTERING`).Scan(&id, &data); err != nil {
			t.Fatal(err)
		}
		data[0] ^= 1
		run(`UPDATE "MessageBlob" SET data = ? WHERE message = ? AND block = 0 AND subblock = 0`, data, id)
	})
	var key string
	var id gocql.UUID
	if err := s.Query(`SELECT key, message FROM "MessageMetadata" LIMIT 1`).Scan(&key, &id); err != nil {
		t.Fatal(err)
	}
	m.after(t, all[1].name, []string{"MessageMetadata.columns: count size: 1 row", "sub-column size of message "}, func() {
		run(`UPDATE "MessageMetadata" SET value = 0xffff WHERE key = ? AND message = ? AND name = 'size'`, key, id)
	})
	m.after(t, all[4].name, all[4].want, func() {
		var entry gocql.UUID
		if err := s.Query(`SELECT id FROM "IndexLabels" WHERE key = ? LIMIT 1`, key+":1").Scan(&entry); err != nil {
			t.Fatal(err)
		}
		run(`INSERT INTO "IndexLabels" (key, id) VALUES (?, ?)`, key+":2", entry)
	})
	m.after(t, "a counter of no label", []string{"Counters: reference label: 1 row"}, func() {
		run(`UPDATE "Counters" SET value = value + 2 WHERE key = ? AND kind = 'l' AND id = 'x' AND stat = 'm'`, key)
	})
}

// TestAsDocumentLiveCassandra: a keyspace without the extensions of the source design
// has no difference to fix, and all that exists is checked.
func TestAsDocumentLiveCassandra(t *testing.T) {
	m := &loaded{engine: "cassandra", model: "datastax", data: filepath.Join(t.TempDir(), "data")}
	m.load(t)
	cluster := live.CQL(t)
	cluster.Keyspace = m.keyspace
	s, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, cql := range []string{
		"DROP TABLE folder_sizes", "ALTER TABLE folders_by_user DROP is_inbox", "ALTER TABLE emails_by_user_folder DROP overflowed",
		"ALTER TABLE emails_by_user_folder DROP since",
		"ALTER TABLE attachments DROP checksum",
	} {
		if err := s.Query(cql).Exec(); err != nil {
			t.Fatal(err)
		}
	}
	diff := append([]string{"schema", "diff", "datastax", "-e", "cassandra", "--data", m.data}, m.args...)
	out := m.mailbench(t, exitOK, diff...)
	for _, text := range []string{
		"equals the source design of schema datastax", "NOT IN THE SOURCE DESIGN", "table folder_sizes is missing",
		"table attachments has no column checksum",
	} {
		if !strings.Contains(out, text) {
			t.Errorf("diff does not say %q:\n%s", text, out)
		}
	}
	if strings.Contains(out, "ALTER") || strings.Contains(out, "CREATE") || strings.Contains(out, "CALLS FAIL") {
		t.Errorf("diff proposes a change:\n%s", out)
	}
	out = m.validate(t, exitOK)
	for _, text := range []string{
		"emails_by_user_folder  ", "skipped: ", "table folder_sizes", "column checksum of table attachments", "the model's verification",
		"0 rows broken",
	} {
		if !strings.Contains(out, text) {
			t.Errorf("validate does not say %q:\n%s", text, out)
		}
	}
	if err := s.Query("ALTER TABLE emails DROP subject").Exec(); err != nil {
		t.Fatal(err)
	}
	if out = m.mailbench(t, exitBroken, diff...); !strings.Contains(out, "CALLS FAIL\n  table emails has no column subject") {
		t.Errorf("a column of the source design is missing:\n%s", out)
	}
	m.validate(t, exitFailed)
}

// TestUnmarkedLiveHBase: rows of another program have no marker cell. They are counted and
// named, and a schema that says so has them read. The tables' names begin with a word and a dot.
func TestUnmarkedLiveHBase(t *testing.T) {
	contact := live.Contact(t, "hbase")
	prefix := "mbforeign" + strings.ToLower(rand.Text()[:12])
	admin := gohbase.NewAdminClient(contact, gohbase.Logger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	client := gohbase.NewClient(contact, gohbase.Logger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	defer client.Close()
	for _, table := range []string{"events", "idx"} {
		name := []byte(prefix + "." + table)
		if err := admin.CreateTable(hrpc.NewCreateTable(t.Context(), name, map[string]map[string]string{"m": nil})); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx := context.Background()
			if err := admin.DisableTable(hrpc.NewDisableTable(ctx, name)); err != nil {
				t.Error(err)
			}
			if err := admin.DeleteTable(hrpc.NewDeleteTable(ctx, name)); err != nil {
				t.Error(err)
			}
		})
	}
	put := func(table, row string, cells map[string][]byte) {
		p, err := hrpc.NewPutStr(t.Context(), prefix+"."+table, row, map[string]map[string][]byte{"m": cells})
		if err == nil {
			_, err = client.Put(p)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("events", "e1", map[string][]byte{"a": []byte("x")})
	put("events", "e2", map[string][]byte{"b": []byte("y")})
	put("events", "e3", map[string][]byte{"other": []byte("z")})
	put("idx", "u1", map[string][]byte{"event": []byte("e2"), "\x00": {1}})
	put("idx", "u2", map[string][]byte{"event": []byte("e9"), "\x00": {1}})
	file := filepath.Join(t.TempDir(), "events.yaml")
	check := func(hint string, status int, want ...string) {
		t.Helper()
		text := strings.ReplaceAll(foreignSchema, "HINT", hint)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m := loaded{}
		out := m.mailbench(t, status, "schema", "validate", file, "-e", "hbase", "--namespace", prefix, "--contact", contact, "--quiet")
		for _, text := range want {
			if !strings.Contains(out, text) {
				t.Errorf("with %q the report does not say %q:\n%s", hint, text, out)
			}
		}
	}
	check("", exitData, "events  0  ", "events: marker row: 3 rows", `row key "e1" has cells and no marker`)
	check("hints: {hbase: {marker: none}},", exitData, "events  3  ", `idx: reference event: 1 row`, `k="u2": no row of events`, "1 row broken")
	absent := "no namespace " + prefix + "x with tables at " + contact + `; did you mean "` + prefix + `"? --namespace NAME names another`
	(&loaded{}).refuses(t, absent, "schema", "validate", file, "-e", "hbase", "--namespace", prefix+"x", "--contact", contact)
}

const foreignSchema = `schema: 1
name: foreign
tables:
  events: {partition: [id text], HINT columns: {a: text, b: text}}
  idx:
    partition: [k text]
    columns: {event: text, n: text}
    references: {event: {to: events, from: {event: "{id}"}, at: {id: "{id}"}}}
`

// loaded is a data set that a run has made.
type loaded struct {
	engine, model, data, keyspace string
	args                          []string
}

// loadElasticInbox loads a small data set and checks that nothing is wrong with it.
func loadElasticInbox(t *testing.T, engine string) *loaded {
	m := &loaded{engine: engine, model: "elasticinbox", data: filepath.Join(t.TempDir(), "data")}
	m.load(t)
	m.validate(t, exitOK)
	return m
}

// load has a run load the data set.
func (m *loaded) load(t *testing.T) {
	args := append([]string{"run", "-m", m.model, "-e", m.engine, "--data", m.data, "-o", filepath.Join(t.TempDir(), "results")}, small...)
	if m.engine != "embedded" {
		m.args = []string{"--contact", live.Contact(t, m.engine)}
		t.Cleanup(func() {
			m.mailbench(t, exitOK, append([]string{"engine", "clean", m.engine, m.namespace(t)}, m.args...)...)
		})
	}
	m.mailbench(t, exitOK, append(args, m.args...)...)
	if m.engine != "embedded" {
		m.keyspace = drivers.Prefix + m.namespace(t) + "_" + m.model
	}
}

func (m *loaded) namespace(t *testing.T) string {
	return notedNamespace(t, filepath.Join(m.data, m.model+"-"+m.engine, "dataset.json"))
}

func (m *loaded) mailbench(t *testing.T, want int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if got := execute(bundled(), args, &out, &errs); got != want {
		t.Fatalf("mailbench %s: status %d, want %d\n%s%s", strings.Join(args, " "), got, want, out.String(), errs.String())
	}
	return out.String()
}

// refuses checks that a command fails and says why.
func (m *loaded) refuses(t *testing.T, want string, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := execute(bundled(), args, &out, &errs); got != exitFailed || !strings.Contains(errs.String(), want) {
		t.Errorf("mailbench %s: status %d, want %d and %q\n%s%s", strings.Join(args, " "), got, exitFailed, want, out.String(), errs.String())
	}
}

func (m *loaded) validate(t *testing.T, want int) string {
	t.Helper()
	return m.mailbench(t, want, append([]string{"schema", "validate", m.model, "-e", m.engine, "--data", m.data, "--quiet"}, m.args...)...)
}

// after plants a damage and checks what schema validate says then.
func (m *loaded) after(t *testing.T, name string, want []string, plant func()) {
	t.Helper()
	plant()
	out := m.validate(t, exitData)
	for _, text := range want {
		if !strings.Contains(out, text) {
			t.Errorf("%s: the report does not say %q:\n%s", name, text, out)
		}
	}
}

// plantPebble damages a closed store of the embedded engine.
func plantPebble(t *testing.T, dir string, d rawDamage) {
	t.Helper()
	db, err := rawpebble.Open(dir, pebble.Tuned(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	it, err := db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	var was, is *stored
	for ok := it.First(); ok && was == nil; ok = it.Next() {
		if c := (stored{row: bytes.Clone(it.Key()), value: bytes.Clone(it.Value())}); d.of(c) {
			was = &stored{row: bytes.Clone(c.row), value: bytes.Clone(c.value)}
			is = &c
		}
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	if was == nil {
		t.Fatalf("%s: no such row", d.name)
	}
	if d.change(is); !d.keep {
		if err := db.Delete(was.row, rawpebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Set(is.row, is.value, rawpebble.Sync); err != nil {
		t.Fatal(err)
	}
}

// plantHBase damages cells of a live HBase.
func plantHBase(t *testing.T, client gohbase.Client, prefix string, d rawDamage) {
	t.Helper()
	for _, table := range []string{"Accounts", "MessageMetadata", "MessageBlob", "IndexLabels"} {
		scan, err := hrpc.NewScanStr(t.Context(), prefix+"."+table)
		if err != nil {
			t.Fatal(err)
		}
		scanner := client.Scan(scan)
		for {
			r, err := scanner.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, cell := range r.Cells {
				was := stored{table, string(cell.Family), bytes.Clone(cell.Row), bytes.Clone(cell.Qualifier), bytes.Clone(cell.Value)}
				if !d.of(was) {
					continue
				}
				is := stored{table, was.family, slices.Clone(was.row), slices.Clone(was.qualifier), slices.Clone(was.value)}
				d.change(&is)
				values := map[string]map[string][]byte{is.family: {string(is.qualifier): is.value}}
				put, err := hrpc.NewPutStr(t.Context(), prefix+"."+table, string(is.row), values)
				if err == nil {
					_, err = client.Put(put)
				}
				if err != nil {
					t.Fatal(err)
				}
				return
			}
		}
	}
	t.Fatalf("%s: no such cell", d.name)
}

func notedNamespace(t *testing.T, file string) string {
	t.Helper()
	var noted struct{ Namespace string }
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &noted)
	}
	if err != nil || noted.Namespace == "" {
		t.Fatalf("no namespace is noted in %s: %v", file, err)
	}
	return noted.Namespace
}
