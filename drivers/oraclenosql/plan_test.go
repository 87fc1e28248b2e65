package oraclenosql

import (
	"fmt"
	"testing"

	"github.com/oracle/nosql-go-sdk/nosqldb"
)

// planOf writes a plan as the server does, without what readPlan does not look at.
func planOf(index, ranges, more, around string) string {
	table := fmt.Sprintf(`{"iterator kind": "TABLE", "target table": "space:users.mail", "index used": %q,
		"covering index": false, "index scans": [{"equality conditions": {"user": "", "folder": ""},
		"range conditions": {%s}}]%s}`, index, ranges, more)
	return fmt.Sprintf(around, `{"iterator kind": "RECEIVE", "distribution kind": "SINGLE_PARTITION", "input iterator":
		{"iterator kind": "SELECT", "FROM": `+table+`}}`)
}

const (
	ranged   = `"id": {"end value": "", "end inclusive": false}`
	sorted   = `{"iterator kind": "SELECT", "FROM": {"iterator kind": "SORT", "input iterator": %s}}`
	filtered = `, "index filtering predicate": {"iterator kind": "OR"}`
)

func TestPlan(t *testing.T) {
	for _, c := range []struct{ plan, want string }{
		{planOf("primary index", "", "", "%s"), "one partition: users.mail by its primary index, equal folder, user"},
		{
			planOf("arrival", ranged, filtered, "%s"),
			"one partition: users.mail by index arrival, equal folder, user, range of id; leaves some out",
		},
		{planOf("primary index", "", "", sorted), "one partition: users.mail by its primary index, equal folder, user; sorts"},
		{`{"iterator kind": "RECEIVE"}`, ""},
		{"", ""},
		{"[1]", ""},
	} {
		p, ok := readPlan(c.plan)
		got := ""
		if ok {
			got = p.String()
		}
		if got != c.want {
			t.Errorf("the plan\n%s\nis\n%s\nexpected\n%s", c.plan, got, c.want)
		}
	}
}

// TestPlanChecks: a plan that sorts, or that does not begin at the bound of a page, is not what
// the pattern promises. The rows read are known where the plan leaves none out.
func TestPlanChecks(t *testing.T) {
	for _, c := range []struct {
		name, plan string
		emulated   bool
		read       int64
	}{
		{"range", planOf("primary index", ranged, "", "%s"), false, 0},
		{"filter", planOf("primary index", ranged, filtered, "%s"), false, -1},
		{"no range", planOf("primary index", "", "", "%s"), true, 0},
		{"sort", planOf("primary index", ranged, "", sorted), true, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, p := asked(t), newProxy(t)
			st := p.store(t, s, nil)
			p.answers(func(op string, payload object) any {
				if op != "Prepare" {
					return nil
				}
				text := payload[nosqldb.STATEMENT].(string)
				return object{nosqldb.PREPARED_QUERY: []byte("prepared: " + text), nosqldb.QUERY_PLAN_STRING: c.plan}
			})
			stmt, err := st.Prepare(t.Context(), s.Pattern("slice"))
			if err != nil {
				t.Fatal(err)
			}
			if got := stmt.Emulates() != nil; got != c.emulated {
				t.Errorf("emulated: %v, expected %v", got, c.emulated)
			}
			se, err := st.session()
			if err != nil {
				t.Fatal(err)
			}
			if err := runExample(t, se, stmt); err != nil {
				t.Fatal(err)
			}
			if se.slot.read != c.read {
				t.Errorf("rows read: %d, expected %d", se.slot.read, c.read)
			}
		})
	}
}
