package imports_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/imports"
)

const boxTables = "CREATE TABLE shop.messages (box text, id int, subject text, PRIMARY KEY (box, id));\n" +
	"CREATE TABLE shop.boxes (box text PRIMARY KEY, count int);\n"

// fqltoolDump is as Dump.java of Cassandra 5.0 prints it.
const fqltoolDump = `Type: single-query
Query start time: 1700000000000
Protocol version: 5
Generated timestamp:-9223372036854775808
Generated nowInSeconds:1700000000
Query: SELECT id, subject
  FROM shop.messages
  WHERE box = ? LIMIT 25
Values: 
00000000 62 6F 78 30                                      box0

Type: single-query
Query start time: 1700000000001
Protocol version: 5
Generated timestamp:-9223372036854775808
Generated nowInSeconds:1700000000
Query: SELECT key FROM system.local
Values: 

Type: batch
Query start time: 1700000000002
Protocol version: 5
Generated timestamp:1700000000002000
Generated nowInSeconds:1700000000
Batch type: UNLOGGED
Query: INSERT INTO shop.messages (box, id, subject) VALUES (?, ?, ?)
Values: 
00000000 62 6F 78 30                                      box0
-----
Query: UPDATE shop.boxes SET count = ? WHERE box = ?;
Values: 
00000000 00 00 00 01                                      ····

Type: single-query
Query start time: 1700000000003
Protocol version: 5
Generated timestamp:-9223372036854775808
Generated nowInSeconds:1700000000
Query: SELECT id, subject
  FROM shop.messages
  WHERE box = ? LIMIT 25
Values: 
00000000 62 6F 78 31                                      box1

Type: single-query
Query start time: 1700000000004
Protocol version: 5
Generated timestamp:-9223372036854775808
Generated nowInSeconds:1700000000
Query: SELECT release_version FROM system.local
Values: 
`

// auditLog is as AuditLogEntry of Cassandra 5.0 writes it, with what log4j and auditlogviewer put before it.
const auditLog = `INFO  [Native-Transport-Requests-1] 2023-11-14 22:13:20,000 FileAuditLogger.java:51 - user:app|host:/10.0.0.1:7000|source:/10.0.0.9|port:50000|timestamp:1700000000000|type:SELECT|category:QUERY|ks:shop|scope:messages|operation:SELECT id, subject FROM messages WHERE box = 'a|b' LIMIT 25;
user:app|host:/10.0.0.1:7000|source:/10.0.0.9|port:50000|timestamp:1700000000001|type:SELECT|category:QUERY|ks:system|scope:local|operation:SELECT key FROM local
user:app|host:/10.0.0.1:7000|source:/10.0.0.9|port:50000|timestamp:1700000000002|type:CREATE_TABLE|category:DDL|ks:shop|scope:x|operation:CREATE TABLE shop.x (a int PRIMARY KEY)
user:app|host:/10.0.0.1:7000|source:/10.0.0.9|port:50000|timestamp:1700000000003|type:REQUEST_FAILURE|category:ERROR|operation:SELECT nothing FROM shop.messages; unknown column
Type: AuditLog
LogMessage: user:app|host:/10.0.0.1:7000|source:/10.0.0.9|port:50000|timestamp:1700000000004|type:BATCH|category:DML|operation:BatchId:[0c8f5a30-2f7e-11e9-8af6-b5bd4a2a0d4e] - BATCH of [2] statements
Type: AuditLog
LogMessage: user:app|host:/10.0.0.1:7000|source:/10.0.0.9|port:50000|timestamp:1700000000004|type:UPDATE|category:DML|batch:0c8f5a30-2f7e-11e9-8af6-b5bd4a2a0d4e|ks:shop|scope:messages|operation:INSERT INTO messages (box, id, subject)
  VALUES (?, ?, ?)
Type: AuditLog
LogMessage: user:app|host:/10.0.0.1:7000|source:/10.0.0.9|port:50000|timestamp:1700000000004|type:UPDATE|category:DML|batch:0c8f5a30-2f7e-11e9-8af6-b5bd4a2a0d4e|ks:shop|scope:boxes|operation:UPDATE boxes SET count = ? WHERE box = ?
user:app|host:/10.0.0.1:7000|source:/10.0.0.9|port:50000|timestamp:1700000000005|type:PREPARE_STATEMENT|category:PREPARE|ks:shop|operation:SELECT count FROM boxes WHERE box IN ?
`

// TestLogs: statements are read out of Cassandra's logs, each once, at the lines where they are.
func TestLogs(t *testing.T) {
	recorded := func(name string) string {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, c := range []struct {
		name, log string
		want      []string
		unread    string
	}{
		{
			"fqltool dump", fqltoolDump,
			[]string{
				"6 slice messages limit 25", "25 batch none: put messages, put boxes", "26 put messages", "30 put boxes",
			},
			"17: it is of keyspace system; 50: it is of keyspace system",
		},
		{
			// nodetool enablefullquerylog of a node; what made its tables is in the log, too.
			"full query log of Cassandra 5.0.9", recorded("full-query.log"),
			[]string{
				"150 put messages", "172 slice messages limit 25", "204 get boxes", "214 put-if boxes",
				"227 batch none: put messages, put boxes", "235 put boxes", "246 batch all: delete messages, put boxes",
				"247 delete messages", "260 batch all: put messages, put boxes", "268 delete boxes",
			},
			"54: it is of keyspace system; 70: it is of keyspace system; 94: it is of keyspace system",
		},
		{
			"audit log", auditLog,
			[]string{
				"1 slice messages limit 25", "8 batch all: put messages, put boxes", "8 put messages", "11 put boxes", "12 get boxes",
			},
			"2: it is of keyspace system",
		},
		{
			"audit log of Cassandra 5.0.9, among other lines", recorded("audit.log"),
			[]string{
				"2 slice messages limit 25", "6 put messages", "8 put boxes", "9 get boxes", "14 batch all: put messages, put boxes",
				"18 batch all: delete messages, put boxes", "18 delete messages",
				"20 batch all: put messages, put boxes", "20 put messages", "22 scan boxes", "23 slice messages",
			},
			"",
		},
	} {
		r, err := imports.Import("shop", imports.Source{File: "shop.cql", Text: boxTables}, imports.Source{File: "log", Text: c.log})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if diff := gocmp.Diff(c.want, patternLines(r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		var unread []string
		for _, u := range slices.Concat(r.Unread, r.Passed) {
			unread = append(unread, fmt.Sprintf("%d: %s", u.Pos.Line, u.Reason))
		}
		if got := strings.Join(unread, "; "); got != c.unread {
			t.Errorf("%s: not read: %s; want %s", c.name, got, c.unread)
		}
	}
}

// patternLines has the place and the kind of each pattern.
func patternLines(r *imports.Result) (all []string) {
	for _, p := range r.Schema.Patterns {
		line := fmt.Sprintf("%d %s ", p.Imported.Line, p.Kind)
		if p.Kind == schemas.Batch {
			line += p.Atomic.String() + ": "
			for i, part := range p.Parts {
				line += strings.Repeat(", ", min(i, 1)) + part.Pattern.Kind.String() + " " + part.Pattern.Table.Name
			}
		} else {
			line += p.Table.Name
		}
		if p.Limit > 0 {
			line += fmt.Sprintf(" limit %d", p.Limit)
		}
		all = append(all, line)
	}
	slices.SortFunc(all, func(a, b string) int {
		x, y := 0, 0
		fmt.Sscan(a, &x)
		fmt.Sscan(b, &y)
		return cmp.Or(x-y, strings.Compare(a, b))
	})
	return all
}
