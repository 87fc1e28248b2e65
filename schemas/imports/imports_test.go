package imports_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/imports"
)

var update = flag.Bool("update", false, "rewrite the imported schemas in testdata")

// TestImport: each keyspace in testdata is imported as its yaml file says, which Format does not change.
func TestImport(t *testing.T) {
	files, err := filepath.Glob("testdata/*-queries.cql")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, queries := range files {
		base := strings.TrimSuffix(queries, "-queries.cql")
		r := read(t, "", base+".cql", queries)
		golden := base + ".yaml"
		if *update {
			if err := os.WriteFile(golden, r.Text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(r.Text)); d != "" {
			t.Errorf("%s (-want +got); -update rewrites it:\n%s", golden, d)
		}
		s, err := schemas.Parse(golden, want)
		if err != nil {
			t.Fatal(err)
		}
		if again := schemas.Format(s); string(again) != string(want) {
			t.Errorf("%s: Format changes it:\n%s", golden, cmp.Diff(string(want), string(again)))
		}
	}
}

func read(t *testing.T, keyspace string, files ...string) *imports.Result {
	t.Helper()
	var sources []imports.Source
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, imports.Source{File: filepath.Base(f), Text: string(text)})
	}
	r, err := imports.Import(keyspace, sources...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// table is a keyspace for single statements.
const table = `CREATE TABLE t (a int, b text, c timeuuid, d timeuuid, e int, f map<text, int>, g list<int>, h text,
  s int static, "1x" int, PRIMARY KEY ((a, b), c, d)) WITH CLUSTERING ORDER BY (c DESC, d DESC);
CREATE INDEX ON t (h);
CREATE TABLE n (k text PRIMARY KEY, x counter); CREATE TABLE p (k text PRIMARY KEY, x int); CREATE MATERIALIZED VIEW v AS SELECT * FROM p WHERE x IS NOT NULL AND k IS NOT NULL PRIMARY KEY (x, k); CREATE TABLE q (a int, b int, c int, s int static, x int, PRIMARY KEY (a, b, c)); CREATE TABLE r (a int, b int, s map<text, text> static, PRIMARY KEY (a, b)); CREATE TABLE u (a int, b int, n counter static, x counter, PRIMARY KEY (a, b));
`

// TestStatements: each statement as a pattern, without its place.
func TestStatements(t *testing.T) {
	ddl := strings.Replace(table, `"1x" int, `, "", 1)
	for statement, want := range map[string]string{
		"SELECT * FROM t WHERE a = 1 AND b = ? AND c = ? AND d = ?":      "get: t",
		"SELECT e FROM t WHERE b = ? AND a = 1 AND c = ? AND d IN ?":     "get: t|in: d|columns: [e]",
		"SELECT f['x'] FROM t WHERE a = 1 AND b = ? AND c = ? AND d = ?": "get: t|element: f",
		"SELECT DISTINCT s FROM t WHERE a = 1 AND b = ?":                 "get: t|static: true|columns: [s]",
		"SELECT DISTINCT a, b, s FROM t":                                 "scan: t|static: true",
		"SELECT * FROM t WHERE a = 1 AND b = ?":                          "slice: t|by: [a, b]",
		"SELECT * FROM t WHERE a = 1 AND b IN (?, ?)":                    "slice: t|by: [a]|in: b",
		"SELECT * FROM t WHERE a IN ? AND b = ?":                         "slice: t|by: [a, b]|other:|  where: a in ?",
		"SELECT * FROM t WHERE a = 1 AND b = ? AND c < ? LIMIT 25":       "slice: t|by: [a, b]|after: [c]|limit: 25",
		"SELECT * FROM t WHERE a = 1 AND b = ? AND c > ? LIMIT 25":       "slice: t|by: [a, b]|from: c open|limit: 25",
		"SELECT * FROM t WHERE a = 1 AND b = ? AND c > ? ORDER BY c LIMIT ?": "slice: t|by: [a, b]|after: [c]|reverse: true|" +
			"limit: arg",
		"SELECT * FROM t WHERE a = 1 AND b = ? AND c >= ? AND c < ?":      "slice: t|by: [a, b]|from: c|to: c open",
		"SELECT * FROM t WHERE a = 1 AND b = ? AND (c, d) < (?, ?)":       "slice: t|by: [a, b]|after: [c, d]",
		"SELECT * FROM t WHERE a = 1 AND b = ? AND e > 1 ALLOW FILTERING": "slice: t|by: [a, b]|filter: [e]|other:|  where: e > ?",
		"DELETE FROM t WHERE a = 1 AND b = ? AND c >= ? AND c <= ?":       "delete: t|by: [a, b]|other:|  where: c >= ? and c <= ?",
		"DELETE FROM t WHERE a = 1 AND b = ? AND c > ? AND c < ?":         "delete: t|by: [a, b]|other:|  where: c > ? and c < ?",
		"SELECT * FROM t WHERE a = 1 AND b IN ? AND c >= ? AND c < ?":     "slice: t|by: [a]|in: b|filter: [c]|other:|  where: c >= ? and c < ?",
		"SELECT * FROM t WHERE h = 'x' LIMIT 3":                           "slice: t|index: t_h_idx|by: [h]|limit: 3",
		"SELECT count(*) FROM t WHERE f CONTAINS KEY 'x' ALLOW FILTERING": "scan: t|filter: [f]|columns: [a, b]|other:|" +
			"  select: count(*)|  where: f contains key ?",
		"SELECT a FROM t WHERE token(a, b) > ?":                                   "scan: t|columns: [a]|other:|  where: token(a, b) > ?",
		"INSERT INTO t (a, b, c, d, e, f, g, h) VALUES (1, 2, 3, 4, 5, 6, 7, 8)":  "put: t",
		"INSERT INTO t (a, b, c, d, h) VALUES (?, ?, ?, ?, ?) IF NOT EXISTS":      "put-if: t|columns: [h]|if: absent",
		"INSERT INTO t (a, b, s) VALUES (?, ?, ?)":                                "put: t|static: true",
		"UPDATE t SET e = 1 WHERE a = 1 AND b = 2 AND c = 3 AND d = 4 IF h = 'x'": "put-if: t|columns: [e]|if: [h]",
		"UPDATE t SET e = 1 WHERE a = 1 AND b = 2 AND c = 3 AND d = 4 IF EXISTS":  "put-if: t|columns: [e]|if: present",
		"UPDATE t SET f['x'] = 1 WHERE a = 1 AND b = 2 AND c = 3 AND d = 4":       "append: t|columns: [f]",
		"UPDATE t SET g = g - [1] WHERE a = 1 AND b = 2 AND c = 3 AND d IN (4)": "remove-element: t|columns: [g]|other:|" +
			"  where: d in ?",
		"UPDATE n SET x = x - 1 WHERE k = ?": "increment: n|columns: [x]",
		"UPDATE t SET g[0] = 1, g[1] = 2 WHERE a = 1 AND b = 2 AND c = 3 AND d = 4": "append: t|columns: [g]|other:|" +
			"  set: g[0] = 1, g[1] = 2",
		"SELECT x FROM q WHERE a = 1 AND b = 2 ORDER BY c DESC":     "slice: q|by: [a, b]|reverse: true|columns: [x]",
		"SELECT x FROM q WHERE a = 1 AND b = 2 GROUP BY c":          "slice: q|by: [a, b]|columns: [x]|other:|  group by: c",
		"UPDATE q SET s = 1 WHERE a = 1":                            "put: q|static: true",
		"UPDATE r SET s = s + ? WHERE a = 1":                        "append: r|static: true|columns: [s]",
		"UPDATE u SET n = n + 1 WHERE a = 1":                        "increment: u|static: true|columns: [n]",
		"DELETE FROM q WHERE a = 1 AND (b, c) > (1, 2)":             "delete: q|by: [a]|other:|  where: (b, c) > ?",
		"DELETE h FROM t WHERE a = 1 AND b = 2 AND c = 3 AND d = 4": "put: t|columns: [h]|other:|  delete: h",
		"DELETE FROM t WHERE a = 1 AND b = 2":                       "delete: t|by: [a, b]",
		"DELETE FROM t WHERE a = 1 AND b = 2 AND c > 3":             "delete: t|by: [a, b]|other:|  where: c > ?",
		"DELETE FROM t WHERE a = 1 AND b = 2 AND c = 3 AND d = 4":   "delete: t|by: [a, b, c, d]",
	} {
		r, err := imports.Import("", imports.Source{File: "t.cql", Text: ddl + statement})
		if err != nil || len(r.Unread) > 0 || len(r.Schema.Patterns) != 1 {
			t.Errorf("%s: %v, unread %+v", statement, err, r)
			continue
		}
		got := strings.ReplaceAll(strings.TrimSpace(r.Schema.Patterns[0].Shape()), "\n", "|")
		if got = strings.ReplaceAll(got, "|    ", "|  "); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", statement, got, want)
		}
	}
}

// TestConditions: a statement alone has its condition. Of a part, the whole has it.
func TestConditions(t *testing.T) {
	const key = " WHERE a = :a AND b = :b AND c = 1 AND d = 2"
	for statement, want := range map[string]string{
		"UPDATE t SET e = 1" + key + " IF h = 'x' AND e > 1": "put-if: t; columns: [e]; if: [h]; other:; if: e > ?",
		"DELETE FROM t" + key + " IF EXISTS":                 "delete: t; by: [a, b, c, d]; other:; if: exists",
		"BEGIN BATCH INSERT INTO t (a, b, c, d, e) VALUES (:a, :b, 1, 2, 3) IF NOT EXISTS; DELETE FROM t" + key + "; APPLY BATCH": "" +
			"put: t; columns: [e]|delete: t; by: [a, b, c, d]|batch:; - p0; - p1; atomic: partition; other:; if: not exists",
		"BEGIN BATCH UPDATE t SET e = 1" + key + " IF EXISTS; UPDATE t SET h = 'x'" + key + " IF e = 5 AND h > 'a'; APPLY BATCH": "" +
			"put: t; columns: [e]|put: t; columns: [h]; other:; if: h > ?|batch:; - p0; - p1; atomic: partition; other:; if: exists, e = ?",
		"UPDATE t SET e = 1, f['x'] = 1" + key + " IF h = 'x'": "" +
			"put: t; columns: [e]|append: t; columns: [f]; other:; if: h = ?|batch:; - p0; - p1; atomic: row; other:; if: h = ?",
	} {
		text := strings.Replace(table, `"1x" int, `, "", 1) + statement
		r, err := imports.Import("", imports.Source{File: "t.cql", Text: text})
		if err != nil || len(r.Unread) > 0 {
			t.Errorf("%s: %v, unread %+v", statement, err, r)
			continue
		}
		var shapes []string
		for i, p := range r.Schema.Patterns {
			p.Name = fmt.Sprintf("p%d", i)
			shapes = append(shapes, strings.Join(strings.FieldsFunc(p.Shape(), func(r rune) bool { return r == '\n' }), "; "))
		}
		got := strings.Join(strings.Fields(strings.Join(shapes, "|")), " ")
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", statement, got, want)
		}
	}
}

// TestSeed: an INSERT of literals in the file that creates the table is no statement of an application.
func TestSeed(t *testing.T) {
	const ddl = "CREATE TABLE s (k int PRIMARY KEY, v int, w frozen<list<int>>);\nINSERT INTO s (k, v) VALUES (?, ?);\n"
	for values, want := range map[string]bool{
		"(1, [2])":             true,
		"(1, [2]) USING TTL 9": true,
		"(1, [?])":             false,
		"((int)?, [2])":        false,
		"(1, [:w])":            false,
		"(1, [2]) USING TTL ?": false,
	} {
		r, err := imports.Import("", imports.Source{File: "s.cql", Text: ddl + "INSERT INTO s (k, w) VALUES " + values})
		if err != nil || len(r.Schema.Patterns) != 2 {
			t.Fatalf("%s: %v, %+v", values, err, r)
		}
		if got := r.Schema.Patterns[1].Seed(); got != want {
			t.Errorf("%s: it is a fixed row: %t, not %t", values, got, want)
		}
	}
}

// TestUnread: a statement that is no pattern is named, and the schema has it under other.
func TestUnread(t *testing.T) {
	for statement, reason := range map[string]string{
		"SELECT * FROM t":                                             "there is no table t", // for its column 1x
		"SELECT y FROM n":                                             "table n has no column y",
		"INSERT INTO n (x) VALUES (1)":                                "it does not bind the primary key of table n: k is missing",
		"UPDATE n SET x = 1 WHERE x = 1":                              "it does not bind the primary key of table n: k is missing",
		"DELETE FROM n WHERE x = 1":                                   "it does not bind the primary key",
		"DELETE FROM n WHERE k = 1 AND x = 1":                         "WHERE names x: a write finds rows by the primary key only",
		"DELETE FROM q WHERE a = 1 AND c = 1":                         "it has a value of c, and none of b before it in the key",
		"DELETE FROM q WHERE a = 1 AND b > 1 AND c = 1":               "it has a value of c, and none of b before it in the key",
		"DELETE x FROM q WHERE a = 1 AND b > 1":                       "it does not bind the primary key of table q: b is missing",
		"UPDATE q SET x = 1 WHERE a = 1 AND b = 1":                    "it does not bind the primary key of table q: c is missing",
		"UPDATE q SET s = 1 WHERE a = 1 AND b = 1 AND c = 1":          "it changes static columns only",
		"UPDATE q SET b = 1 WHERE a = 1 AND b = 1 AND c = 1":          "b is in the primary key of table q: it cannot be changed or null",
		"UPDATE q SET x = x + 1 WHERE a = 1 AND b = 1 AND c = 1":      "Cassandra only adds to counters and collections",
		"UPDATE q SET x = 1 WHERE a = 1 AND b = 1 AND c = 1 IF y = 2": "table q has no column y",
		"INSERT INTO q (a, b, c) VALUES (1, null, 2)":                 "b is in the primary key of table q: it cannot be changed or null",
		"INSERT INTO q (a, c) VALUES (1, 2)":                          "it does not bind the primary key of table q: b is missing",
		"UPDATE n USING TTL 5 SET x = x + 1 WHERE k = 1":              "Cassandra refuses INSERT, TTL and IF",
		"SELECT x FROM q WHERE a = 1 ORDER BY c":                      "ORDER BY c: Cassandra sorts partitions that WHERE binds by clustering columns",
		"SELECT x FROM q WHERE a = 1 ORDER BY b DESC, c":              "ORDER BY c: Cassandra sorts partitions that WHERE binds by clustering columns",
		"SELECT x FROM q ORDER BY b":                                  "ORDER BY b: Cassandra sorts partitions that WHERE binds by clustering columns",
		"SELECT x FROM q ORDER BY z ANN OF ?":                         "table q has no column z",
		"SELECT x FROM q ORDER BY x ANN OF ?":                         "ORDER BY x: ANN OF needs a vector with an SAI index",
		"SELECT x FROM q WHERE a = 1 GROUP BY z":                      "table q has no column z",
		"SELECT x FROM q WHERE a = 1 GROUP BY c":                      "GROUP BY c: expected columns of the primary key",
		"SELECT x FROM q WHERE (a, b) = (1, 2)":                       "(a, b) = (1, 2): Cassandra compares only clustering columns together",
		"CREATE TABLE o (k int PRIMARY KEY, v frozen<nosuch>)":        "unknown type \"nosuch\" of column v in table o",
		"SOURCE 'more.cql'":                                           "SOURCE 'MORE.CQL' is not read",
		"SELECT DISTINCT b FROM q":                                    "SELECT DISTINCT b: expected columns of the partition key",
		"SELECT x FROM q WHERE a = 1 LIMIT 0":                         "LIMIT 0: expected at least 1",
		"BEGIN BATCH DELETE FROM m WHERE a = 1; APPLY BATCH":          "line 5: there is no table m",
		"DROP TABLE nn":                                               "there is no table nn",
		"INSERT INTO v (x, k) VALUES (1, 2)":                          "v is a materialized view of p: Cassandra refuses writes",
		"SELECT x FROM n WHERE k = ? ORDER BY x":                      "ORDER BY x: Cassandra sorts partitions that WHERE binds by clustering columns",
		"SELECT x FROM n WHERE k = ? ORDER BY y":                      "table n has no column y",
		"UPDATE n SET x = 0 WHERE k = ?":                              "Cassandra only adds to a counter",
		"INSERT INTO n (k, x) VALUES (?, ?)":                          "Cassandra refuses INSERT",
	} {
		r, err := imports.Import("", imports.Source{File: "t.cql", Text: table + statement})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(r.Unread); n < 2 || !strings.Contains(r.Unread[n-1].Reason+r.Unread[0].Reason, reason) {
			t.Errorf("%s: unread %+v", statement, r.Unread)
		}
		text := string(r.Text)
		if !strings.Contains(text, "t.cql:5: ") && !strings.Contains(text, "t.cql:5") {
			t.Errorf("%s is dropped:\n%s", statement, text)
		}
	}
	r, err := imports.Import("", imports.Source{File: "t.cql", Text: "CREATE TABLE t (a int);\n" +
		"-- accept queue\nSELECT a FROM t WHERE a = 1"})
	if err != nil || len(r.Schema.Tables) > 0 || len(r.Unread) != 3 || r.Unread[0].Pos.Line != 1 ||
		r.Unread[1].Reason != "it has no reason; expected -- accept RULE: REASON" {
		t.Errorf("%+v, %v: the only table cannot be read", r, err)
	}
	for text, reason := range map[string]string{
		"SELECT * FROM t": "no CREATE TABLE",
		"CREATE TABLE a.t (a int PRIMARY KEY); CREATE TABLE b.t (a int PRIMARY KEY)": "2 keyspaces (a, b)",
	} {
		if _, err := imports.Import("", imports.Source{File: "t.cql", Text: text}); err == nil ||
			!strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestNotUTF8: text of another encoding is read as far as it can be, and the schema file is UTF-8.
func TestNotUTF8(t *testing.T) {
	r, err := imports.Import("", imports.Source{File: "t.cql", Text: "CREATE TABLE t (a text PRIMARY KEY); -- caf\xe9\n" +
		"SELECT a FROM t WHERE a = 'caf\xe9';\nnonsense \xff\x00;"})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Schema.Patterns) != 1 || len(r.Unread) != 1 || r.Unread[0].Pos.Line != 3 || !utf8.Valid(r.Text) {
		t.Errorf("%d patterns, not read: %+v\n%s", len(r.Schema.Patterns), r.Unread, r.Text)
	}
}

// TestNames: patterns have the names that comments say, cut where they are long, and the schema that of its keyspace.
func TestNames(t *testing.T) {
	const long = "updateCurrentWorkflowExecutionForNewQueryOfShards"
	r, err := imports.Import("", imports.Source{File: "t.cql", Text: "CREATE TABLE app_v2.t (a uuid PRIMARY KEY, v text);\n" +
		"-- name: " + long + "1\nUPDATE t SET v = ? WHERE a = ?;\n-- name: " + long + "2\nSELECT v FROM t WHERE a = ?;"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range r.Schema.Patterns {
		got = append(got, p.Name+" "+p.Doc)
	}
	want := []string{long[:44] + " " + long + "1:", long[:44] + "_2 " + long + "2:"}
	if !slices.Equal(got, want) || r.Schema.Name != "app_v2" {
		t.Errorf("schema %s, patterns %q, want %q", r.Schema.Name, got, want)
	}
}

// TestOptions: options of a table become hints. These accept Cassandra's own classes by their names, and others with
// their package.
func TestOptions(t *testing.T) {
	for text, want := range map[string]string{
		"compaction = {'class': 'org.apache.cassandra.db.compaction.LeveledCompactionStrategy', 'a': 1}":   "LeveledCompactionStrategy a=1",
		"compaction = {'a': '1', 'class': 'com.example.Tiered'}":                                           "com.example.Tiered a=1",
		"compaction = {'class': 'UnifiedCompactionStrategy', 'scaling_parameters': 'L10, T4', 'a' : true}": "UnifiedCompactionStrategy a=true scaling_parameters=L10,T4",
		"compression = {'sstable_compression': ''}":                                                        "none",
		"compression = {'enabled': 'false'}":                                                               "none",
		"caching = {'keys': 'ALL', 'rows_per_partition': 'NONE'}":                                          "keys=ALL rows_per_partition=NONE",
		"compression = {'sstable_compression': 'LZ4Compressor', 'chunk_length_kb': 32}":                    "LZ4Compressor chunk_length_in_kb=32",
		"bloom_filter_fp_chance = 1e-3":                                                                    "1e-3",
		"bloom_filter_fp_chance = 0.010":                                                                   "0.010",
	} {
		option, _, _ := strings.Cut(text, " ")
		r, err := imports.Import("", imports.Source{File: "a.cql", Text: "CREATE TABLE t (k int PRIMARY KEY) WITH " + text})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Schema.Tables[0].Hints["cassandra"][option]; got != want {
			t.Errorf("%s: hint %q, want %q", text, got, want)
		}
	}
}
