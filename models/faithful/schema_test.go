package faithful

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/conversation"
	"github.com/mailbench/mailbench/models/datastax"
	"github.com/mailbench/mailbench/models/elasticinbox"
	"github.com/mailbench/mailbench/schemas"
)

var update = flag.Bool("update", false, "rewrite schemas/*.cql")

// ofCassandra are the models whose documents were written for Cassandra.
func ofCassandra() []models.Model {
	return []models.Model{elasticinbox.Model(), datastax.Model(), conversation.Model()}
}

func goldenPath(name string) string { return "../../schemas/" + name + ".cql" }

// goldenOf renders a schema as its golden file has it: what the document is,
// what of all this it does not have, and the CQL that Apply runs.
func goldenOf(t *testing.T, s *schemas.Schema) string {
	t.Helper()
	cql, err := cassandra.CQL(s, cassandra.Replication{Datacenter: "datacenter1", Factor: 1})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	comment(&b, s.Doc)
	comment(&b, "This is the CQL that mailbench creates for it on a cluster of one node, rendered from "+s.Name+
		".yaml by go test ./models/faithful -run Golden -update. The comment of a table is mailbench's mark. Additions to the document:")
	add := func(what, why string) {
		if why != "" {
			comment(&b, "* "+what+": "+why)
		}
	}
	for _, tb := range s.Tables {
		add("table "+tb.Name, tb.Addition)
		for _, c := range slices.Concat(tb.Static, tb.Columns) {
			add("column "+c.Name+" of "+tb.Name, c.Addition)
		}
	}
	for _, p := range s.Patterns {
		add("what pattern "+p.Name+" writes", p.Addition)
	}
	return strings.TrimPrefix(b.String(), "\n") + "\n\n" + cql
}

// comment writes text as lines of about a hundred letters.
func comment(b *strings.Builder, text string) {
	n := 100
	for _, word := range strings.Fields(text) {
		if n += len(word) + 1; n > 100 {
			b.WriteString("\n--")
			n = len(word)
		}
		b.WriteString(" " + word)
	}
}

// TestGolden compares the CQL of each schema with the golden file that people
// compare with the document.
func TestGolden(t *testing.T) {
	for _, m := range ofCassandra() {
		s, err := m.Schema()
		if err != nil {
			t.Fatal(err)
		}
		got := goldenOf(t, s)
		if *update {
			if err := os.WriteFile(goldenPath(m.Name), []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(goldenPath(m.Name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s differs (-is +should be; -update if that is right):\n%s", goldenPath(m.Name), diff)
		}
	}
}

// testCreated asks the server what Apply has created: the tables, columns,
// keys, orders and options of the golden file, and no other table or column.
func testCreated(c *cqlsh) {
	b, err := os.ReadFile(goldenPath(c.model.Name))
	c.must(err)
	_, cql, _ := strings.Cut(string(b), "\n\n")
	golden := shapes(strings.Split(cql, ";\n"))
	described := shapes(column[string](c.query("DESCRIBE KEYSPACE "+c.keyspace), "create_statement"))
	for head, want := range golden {
		for option := range want.options {
			if !described[head].options[option] {
				c.Errorf("%s: the server does not say %q", head, option)
			}
		}
	}
	if diff := cmp.Diff(golden, described, cmp.Comparer(func(a, b shape) bool { return slices.Equal(a.lines, b.lines) })); diff != "" {
		c.Errorf("what the server describes is not the golden file (-golden +server):\n%s", diff)
	}
}

// shape is what a CREATE statement says, without the order of its columns.
type shape struct {
	lines   []string
	options map[string]bool
}

// shapes takes statements apart, by what they create. A golden file and a
// server that describes itself write the same with other quotes and in other lines.
func shapes(stmts []string) map[string]shape {
	all := make(map[string]shape)
	for _, stmt := range stmts {
		stmt = plain.Replace(keyspaceName.ReplaceAllString(strings.TrimSpace(stmt), ""))
		if stmt == "" || strings.HasPrefix(stmt, "CREATE KEYSPACE") {
			continue
		}
		head, body, _ := strings.Cut(stmt, "(\n")
		body, with, _ := strings.Cut(body, "\n) WITH ")
		s := shape{options: make(map[string]bool)}
		for l := range strings.SplitSeq(body, "\n") {
			l = strings.TrimSuffix(strings.TrimSpace(l), ",")
			if name, ok := strings.CutSuffix(l, " PRIMARY KEY"); ok {
				s.lines = append(s.lines, "PRIMARY KEY ("+strings.Fields(name)[0]+")")
				l = name
			}
			s.lines = append(s.lines, l)
		}
		for o := range strings.SplitSeq(with, "\n") {
			switch o = strings.TrimPrefix(strings.TrimSpace(o), "AND "); {
			case strings.HasPrefix(o, "CLUSTERING ORDER"):
				s.lines = append(s.lines, o)
			case !strings.HasPrefix(o, "comment"): // mailbench's mark, which has the namespace in it
				s.options[o] = true
			}
		}
		slices.Sort(s.lines)
		all[strings.TrimSpace(head)] = s
	}
	return all
}

var (
	keyspaceName = regexp.MustCompile(`"?mailbench_\w+"?\.`)
	plain        = strings.NewReplacer(`"`, "", " IF NOT EXISTS", "", " STATIC", " static", ";", "")
)
