package cql_test

import (
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/schemas/cql"
)

const sensors = `CREATE TYPE IF NOT EXISTS iot.place (lat double, "Lon" double);
-- readings of a day
CREATE TABLE iot.readings (
  sensor uuid, day date, -- a bucket
  at timestamp, v vector<float, 3>, owner text static,
  tags map<TEXT, frozen<place>>,
  PRIMARY KEY ((sensor, day), at)
) WITH CLUSTERING ORDER BY (at DESC)
  AND compaction = {'class': 'TimeWindowCompactionStrategy'} AND default_time_to_live = 60 AND id = a1b2-3
  AND comment = 'it''s; /* one */';
CREATE CUSTOM INDEX ON iot.readings (values(tags)) USING 'sai' WITH OPTIONS = {'a': 'b'};`

func TestParse(t *testing.T) {
	want := cql.Script{
		Types: []cql.UserType{{cql.Name{"iot", "place"}, 1, []cql.Column{
			{"lat", "double", false, 1}, {"Lon", "double", false, 1},
		}}},
		Tables: []cql.Table{{
			cql.Name{"iot", "readings"},
			3,
			[]cql.Column{
				{"sensor", "uuid", false, 4},
				{"day", "date", false, 4},
				{"at", "timestamp", false, 5},
				{"v", "vector<float, 3>", false, 5},
				{"owner", "text", true, 5},
				{"tags", "map<text, frozen<place>>", false, 6},
			},
			[]string{"sensor", "day"},
			[]cql.Order{{"at", true}},
			[]cql.Option{
				{"compaction", "{'class': 'TimeWindowCompactionStrategy'}", 9},
				{"default_time_to_live", "60", 9},
				{"id", "a1b2-3", 9},
				{"comment", "'it''s; /* one */'", 10},
			},
			[]string{"readings of a day"},
		}},
		Indexes: []cql.Index{{
			Table: cql.Name{"iot", "readings"}, Line: 11,
			Target: "tags", Part: "values", Using: "sai", Options: "{'a': 'b'}",
		}},
	}
	if got := cql.Parse(sensors); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestUnread: each of these is named, with its line and reason, and the statement after it is read.
func TestUnread(t *testing.T) {
	for _, c := range []struct{ text, reason string }{
		{"CREATE MATERIALIZED VIEW v AS SELECT a FROM t", "not a CREATE"},
		{"CREATE TABLE t (\n a int)", "without a primary key"},
		{"CREATE TABLE t (\n a int,\n PRIMARY KEY (b))", "column b"},
		{"CREATE TABLE t (a int PRIMARY KEY,\n a int)", "second column a"},
		{"CREATE TABLE t (a int PRIMARY KEY,\n b map<int)", "in a type"},
		{"CREATE TABLE t (a int PRIMARY KEY,\n b int MASKED)", `"masked" after a type`},
		{"CREATE TABLE t (a int,\n b int, PRIMARY KEY (a, b))\n WITH CLUSTERING ORDER BY (a)", "not clustering column 1"},
		{"CREATE TABLE t (a int PRIMARY KEY, b map<int>>)", "too many"},
		{"CREATE TABLE t (a int PRIMARY KEY) WITH c = 1 d = 2", "end of the statement"},
		{"CREATE TABLE t (a int PRIMARY KEY) WITH c = {'a': 1", "brackets of a value"},
		{"CREATE TABLE t (a int PRIMARY KEY) WITH c =", "value is missing"},
		{"CREATE TABLE t (a int PRIMARY KEY) x", "end of the statement"},
		{"CREATE TABLE t (a int PRIMARY KEY", `expected ")"`},
	} {
		s := cql.Parse("\n" + c.text + ";\nCREATE TYPE u (a int);")
		if len(s.Unread) != 1 || !strings.Contains(s.Unread[0].Reason, c.reason) || s.Unread[0].Text != c.text ||
			s.Unread[0].Line < 2 || s.Unread[0].Line > 2+strings.Count(c.text, "\n") {
			t.Errorf("%s: unread %+v", c.text, s.Unread)
		}
		if len(s.Tables) != 0 || len(s.Types) != 1 {
			t.Errorf("%s: read %+v", c.text, s)
		}
	}
	if s := cql.Parse("CREATE TABLE t (a int PRIMARY KEY) WITH comment = 'open;"); len(s.Unread) != 1 {
		t.Errorf("an open quote: %+v", s)
	}
}

// TestRendered: the bundled schemas' CQL is read whole.
func TestRendered(t *testing.T) {
	files, err := fs.Glob(os.DirFS(".."), "*.cql")
	if err != nil || len(files) < 5 {
		t.Fatalf("%q: %v", files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile("../" + f)
		if err != nil {
			t.Fatal(err)
		}
		s := cql.Parse(string(text))
		if want := strings.Count(string(text), "\nCREATE TABLE "); len(s.Tables) != want || want == 0 {
			t.Errorf("%s: %d tables, want %d", f, len(s.Tables), want)
		}
		for _, u := range s.Unread {
			t.Errorf("%s:%d: %s", f, u.Line, u.Reason)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sensors)
	f.Add("CREATE TABLE t (a int PRIMARY KEY) WITH x = 'open")
	for text := range statements {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := cql.Parse(text)
		for _, u := range s.Unread {
			if u.Reason == "" || u.Line < 1 || u.Line > 1+strings.Count(text, "\n") || !strings.Contains(text, u.Text) {
				t.Errorf("unread %+v", u)
			}
		}
		for _, st := range s.Statements {
			if !strings.Contains(text, st.Text) || st.Text == "" || (st.Kind == cql.Batch) != (len(st.Parts) > 0) {
				t.Errorf("statement %+v", st)
			}
		}
		for _, table := range s.Tables {
			if len(table.Partition) == 0 {
				t.Errorf("no key: %+v", table)
			}
		}
	})
}
