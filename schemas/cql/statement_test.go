package cql_test

import (
	"strings"
	"testing"

	"github.com/alecthomas/participle/v2/lexer"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mailbench/mailbench/schemas/cql"
)

// statements are texts with what is read from them. The texts and places are checked apart.
var statements = map[string]cql.Statement{
	"SELECT * FROM ks.t": {Kind: cql.Select, Table: cql.Name{"ks", "t"}},
	`SELECT json, "A", m['x'], p.city, count(*) AS n, ks.f(b, c + 1), writetime(d) FROM t`: {
		Kind: cql.Select, Table: cql.Name{"", "t"}, Select: []cql.Expr{
			{Column: "json", Columns: []string{"json"}, Text: "json"},
			{Column: "A", Columns: []string{"A"}, Text: `"A"`},
			{Column: "m", Within: true, Columns: []string{"m"}, Text: "m['x']"},
			{Column: "p", Within: true, Columns: []string{"p"}, Text: "p.city"},
			{Text: "count(*)"},
			{Columns: []string{"b", "c"}, Text: "ks.f(b, c + 1)"},
			{Columns: []string{"d"}, Text: "writetime(d)"},
		},
	},
	`SELECT JSON DISTINCT a FROM t WHERE a = f47ac10b-58cc-4372-a567-0e02b2c3d479 AND b IN (1, -2.5e-3) AND (c, d) > (?, :x)
AND token(a, b) <= token(1, 2) AND m['k'] = 'it''s' AND e CONTAINS KEY ? AND g IN :gs AND h IS NOT NULL
GROUP BY a, b ORDER BY c DESC, d PER PARTITION LIMIT 2 LIMIT ? ALLOW FILTERING`: {
		Kind: cql.Select, Table: cql.Name{"", "t"}, JSON: true, Distinct: true,
		Select: []cql.Expr{{Column: "a", Columns: []string{"a"}, Text: "a"}},
		Where: []cql.Relation{
			{
				Columns: []string{"a"}, Op: "=", Terms: []cql.Expr{{Text: "f47ac10b-58cc-4372-a567-0e02b2c3d479"}},
				Text: "a = f47ac10b-58cc-4372-a567-0e02b2c3d479",
			},
			{Columns: []string{"b"}, Op: "in", Terms: []cql.Expr{{Text: "1"}, {Text: "-2.5e-3"}}, Text: "b IN (1, -2.5e-3)"},
			{
				Columns: []string{"c", "d"}, Tuple: true, Op: ">", Terms: []cql.Expr{{Text: "?", Marker: true, Bound: true}, {Text: ":x", Marker: true, Bound: true}},
				Text: "(c, d) > (?, :x)",
			},
			{
				Columns: []string{"a", "b"}, Token: true, Op: "<=", Terms: []cql.Expr{{Text: "token(1, 2)"}},
				Text: "token(a, b) <= token(1, 2)",
			},
			{Columns: []string{"m"}, Within: true, Op: "=", Terms: []cql.Expr{{Text: "'it''s'"}}, Text: "m['k'] = 'it''s'"},
			{Columns: []string{"e"}, Op: "contains key", Terms: []cql.Expr{{Text: "?", Marker: true, Bound: true}}, Text: "e CONTAINS KEY ?"},
			{Columns: []string{"g"}, Op: "in", Terms: []cql.Expr{{Text: ":gs", Marker: true, Bound: true}}, Text: "g IN :gs"},
			{Columns: []string{"h"}, Op: "is not null", Text: "h IS NOT NULL"},
		},
		GroupBy: []string{"a", "b"}, OrderBy: []cql.Order{{Column: "c", Descending: true}, {Column: "d"}},
		PerPartition: &cql.Expr{Text: "2"}, Limit: &cql.Expr{Text: "?", Marker: true, Bound: true}, AllowFiltering: true,
	},
	"INSERT INTO t (a, b, c) VALUES (?, {'x': [1, ?], 'y': []}, (int) 3) IF NOT EXISTS USING TTL 60 AND TIMESTAMP ?": {
		Kind: cql.Insert, Table: cql.Name{"", "t"}, Columns: []string{"a", "b", "c"},
		Values: []cql.Expr{{Text: "?", Marker: true, Bound: true}, {Text: "{'x': [1, ?], 'y': []}", Bound: true}, {Text: "(int) 3"}}, IfNotExists: true,
		Using: []cql.Using{{"ttl", cql.Expr{Text: "60"}}, {"timestamp", cql.Expr{Text: "?", Marker: true, Bound: true}}},
	},
	"SELECT p.home.road, l[1..2], m['a'..'c'], m[?].x FROM t WHERE d = P1Y2M AND e = pt3h AND f = 1h30m": {
		Kind: cql.Select, Table: cql.Name{"", "t"}, Select: []cql.Expr{
			{Column: "p", Within: true, Columns: []string{"p"}, Text: "p.home.road"},
			{Column: "l", Within: true, Columns: []string{"l"}, Text: "l[1..2]"},
			{Column: "m", Within: true, Columns: []string{"m"}, Text: "m['a'..'c']"},
			{Column: "m", Within: true, Columns: []string{"m"}, Text: "m[?].x"},
		},
		Where: []cql.Relation{
			{Columns: []string{"d"}, Op: "=", Terms: []cql.Expr{{Text: "P1Y2M"}}, Text: "d = P1Y2M"},
			{Columns: []string{"e"}, Op: "=", Terms: []cql.Expr{{Text: "pt3h"}}, Text: "e = pt3h"},
			{Columns: []string{"f"}, Op: "=", Terms: []cql.Expr{{Text: "1h30m"}}, Text: "f = 1h30m"},
		},
	},
	"INSERT INTO t JSON ? DEFAULT UNSET": {
		Kind: cql.Insert, Table: cql.Name{"", "t"}, JSON: true, Values: []cql.Expr{{Text: "?", Marker: true, Bound: true}},
	},
	"UPDATE t USING TTL ? SET a = ?, n = n + 1, l = [?] + l, s -= {1}, m['x'] = 2, u.f = now() WHERE k = 0xcafe IF b = 1 AND c != ?": {
		Kind: cql.Update, Table: cql.Name{"", "t"}, Using: []cql.Using{{"ttl", cql.Expr{Text: "?", Marker: true, Bound: true}}},
		Set: []cql.Assignment{
			{Column: "a", Value: cql.Expr{Text: "?", Marker: true, Bound: true}, Text: "a = ?"},
			{Column: "n", Add: true, Value: cql.Expr{Text: "1"}, Text: "n = n + 1"},
			{Column: "l", Add: true, Prepend: true, Value: cql.Expr{Text: "[?] + l", Bound: true}, Text: "l = [?] + l"},
			{Column: "s", Remove: true, Value: cql.Expr{Text: "{1}"}, Text: "s -= {1}"},
			{Column: "m", Within: true, Value: cql.Expr{Text: "2"}, Text: "m['x'] = 2"},
			{Column: "u", Within: true, Value: cql.Expr{Text: "now()"}, Text: "u.f = now()"},
		},
		Where: []cql.Relation{{Columns: []string{"k"}, Op: "=", Terms: []cql.Expr{{Text: "0xcafe"}}, Text: "k = 0xcafe"}},
		If: []cql.Relation{
			{Columns: []string{"b"}, Op: "=", Terms: []cql.Expr{{Text: "1"}}, Text: "b = 1"},
			{Columns: []string{"c"}, Op: "!=", Terms: []cql.Expr{{Text: "?", Marker: true, Bound: true}}, Text: "c != ?"},
		},
	},
	"DELETE a, m[?] FROM t USING TIMESTAMP 5 WHERE k = ? IF EXISTS": {
		Kind: cql.Delete, Table: cql.Name{"", "t"}, Using: []cql.Using{{"timestamp", cql.Expr{Text: "5"}}},
		Delete: []cql.Expr{
			{Column: "a", Columns: []string{"a"}, Text: "a"}, {Column: "m", Within: true, Columns: []string{"m"}, Text: "m[?]"},
		},
		Where:    []cql.Relation{{Columns: []string{"k"}, Op: "=", Terms: []cql.Expr{{Text: "?", Marker: true, Bound: true}}, Text: "k = ?"}},
		IfExists: true,
	},
	"BEGIN UNLOGGED BATCH USING TIMESTAMP 1\nINSERT INTO t (a) VALUES (1);\nDELETE FROM t WHERE a = 1\nAPPLY BATCH": {
		Kind: cql.Batch, Batch: "unlogged", Using: []cql.Using{{"timestamp", cql.Expr{Text: "1"}}}, Parts: []cql.Statement{
			{
				Kind: cql.Insert, Table: cql.Name{"", "t"}, Pos: lexer.Position{Line: 2}, Text: "INSERT INTO t (a) VALUES (1)",
				Columns: []string{"a"}, Values: []cql.Expr{{Text: "1"}},
			},
			{
				Kind: cql.Delete, Table: cql.Name{"", "t"}, Pos: lexer.Position{Line: 3}, Text: "DELETE FROM t WHERE a = 1",
				Where: []cql.Relation{{Columns: []string{"a"}, Op: "=", Terms: []cql.Expr{{Text: "1"}}, Text: "a = 1"}},
			},
		},
	},
}

func TestStatements(t *testing.T) {
	read := cmp.Options{ // and not how the grammar reads it
		cmpopts.IgnoreFields(cql.Statement{}, "EndPos", "Deletes", "On", "Groups"), cmpopts.IgnoreFields(lexer.Position{}, "Offset", "Column"),
		cmpopts.IgnoreFields(cql.Expr{}, "Pos", "EndPos", "First", "Operator", "Rest"),
		cmpopts.IgnoreFields(cql.Assignment{}, "Pos", "EndPos", "Target", "Operator"),
		cmpopts.IgnoreFields(cql.Relation{}, "Pos", "EndPos", "Element", "Field", "Between", "NotNull", "Value"),
	}
	for text, want := range statements {
		want.Text, want.Pos.Line = text, 1
		got := cql.Parse("", text)
		if len(got.Unread) > 0 || len(got.Statements) != 1 {
			t.Errorf("%s: %+v", text, got)
		} else if diff := cmp.Diff(want, got.Statements[0], read); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// TestLines: statements need no semicolon if each begins on a line of its own, and know
// the comments right above them.
func TestLines(t *testing.T) {
	s := cql.Parse("", `USE shop;
-- far: away

-- page: the newest
// accept queue: few
SELECT a
  FROM t WHERE b = ?  -- inside
UPDATE t SET a = 1 WHERE b = 2
DELETE FROM other.t WHERE b = 2; INSERT INTO t (b) VALUES (1)
BEGIN BATCH
  INSERT INTO t (b) VALUES (1)
  DELETE FROM t WHERE b = 1
APPLY BATCH
SELECT c FROM t`)
	if len(s.Unread) > 0 {
		t.Fatalf("%+v", s.Unread)
	}
	var lines []int
	for _, st := range s.Statements {
		lines = append(lines, st.Pos.Line)
	}
	if want := []int{6, 8, 9, 9, 10, 14}; !cmp.Equal(lines, want) {
		t.Fatalf("lines %v, want %v", lines, want)
	}
	if want := []string{"page: the newest", "accept queue: few"}; !cmp.Equal(s.Statements[0].Comments, want) {
		t.Errorf("comments %q", s.Statements[0].Comments)
	}
	if a, b := s.Statements[0].Table.Keyspace, s.Statements[2].Table.Keyspace; a != "shop" || b != "other" {
		t.Errorf("keyspaces %q, %q", a, b)
	}
}

func TestUnreadStatements(t *testing.T) {
	for text, reason := range map[string]string{
		"SELECT FROM t":                             `expected a value, found "from"`,
		"SELECT a, FROM t":                          `expected "from", found ","`,
		"SELECT a FROM t WHERE a ~ 1":               `a strange character: "~"`,
		"SELECT a FROM t WHERE expr(i, 'x')":        `expected a comparison, found "("`,
		"SELECT a FROM t WHERE a = x":               `expected a value, found "x"`,
		"SELECT a FROM t WHERE (a, b) > (?, f(c))":  `expected a value, found "c"`,
		"SELECT a FROM t WHERE a IN (1, 2":          "the brackets do not match",
		"SELECT a FROM t LIMIT":                     "expected a value, found the end of the statement",
		"SELECT a FROM t x":                         "expected the end of the statement",
		"SELECT a FROM t WHERE a = ? b = ?":         `expected the end of the statement, found "b"`,
		"INSERT INTO t (a, b) VALUES (1)":           "2 columns and 1 values",
		"INSERT INTO t (a) VALUES (:from)":          `expected a name, found "from"`,
		"INSERT INTO t (a) VALUES (1) USING NODE 1": "TTL or TIMESTAMP",
		"UPDATE t SET a = b + 1 WHERE a = 1":        `expected a value, found "b"`,
		"UPDATE t SET a = 1":                        `expected "where"`,
		"DELETE a t WHERE a = 1":                    `expected "from"`,
		"DELETE FROM t SET a = 1 WHERE b = 1":       `the statement has "set", which DELETE does not have`,
		"SELECT a FROM t USING TTL 1 WHERE a = 1":   `the statement has "using"`,
		"TRUNCATE t WHERE a = 1":                    `the statement has "where"`,
		"UPDATE t WHERE a = 1":                      `expected "set"`,
		"BEGIN BATCH SELECT a FROM t; APPLY BATCH":  `expected "apply", found "select"`,
		"ALTER TABLE t PLACE a":                     `expected "add", found "place"`,
		"DROP t":                                    "DROP T is not read",
		"MERGE INTO t":                              "MERGE INTO is not read",
		"SELECT a FROM t WHERE a = " + strings.Repeat("(", 200) + strings.Repeat(")", 200): "more than 100 brackets",
		"SELECT a FROM t WHERE a IN (" + strings.Repeat("?,", 30_000) + "?)":               "more than 50000 words",
	} {
		s := cql.Parse("", text+";\nSELECT a FROM t")
		if len(s.Unread) != 1 || !strings.Contains(s.Unread[0].Reason, reason) || s.Unread[0].Text != text {
			t.Errorf("%s: unread %+v", text, s.Unread)
		}
		if len(s.Statements) != 1 {
			t.Errorf("%s: read %+v", text, s.Statements)
		}
	}
}
