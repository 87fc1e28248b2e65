package faithful

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

func goldenPath(name string) string { return "../../schemas/" + name + ".cql" }

// testCreated reads from the server what Apply has created: the tables, columns,
// keys, orders and options of the golden file, and no other table or column.
func testCreated(c *cqlsh) {
	b, err := os.ReadFile(goldenPath(c.model.Name))
	c.must(err)
	golden := shapes(strings.Split(comments.ReplaceAllString(string(b), ""), ";\n"))
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

// shape is the content of a CREATE statement, without the order of its columns.
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
	comments     = regexp.MustCompile(`(?m)^--.*\n`)
	keyspaceName = regexp.MustCompile(`"?mailbench_\w+"?\.`)
	plain        = strings.NewReplacer(`"`, "", " IF NOT EXISTS", "", " STATIC", " static", ";", "")
)
