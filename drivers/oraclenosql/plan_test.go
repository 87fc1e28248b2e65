package oraclenosql

import (
	"fmt"
	"strings"
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
			p.answers(planned(c.plan))
			stmt, err := st.Prepare(t.Context(), s.Pattern("slice"))
			if err != nil {
				t.Fatal(err)
			}
			if got := stmt.Emulates() != nil; got != c.emulated {
				t.Errorf("emulated: %v, expected %v", got, c.emulated)
			}
			se, err := st.Traced()
			if err != nil {
				t.Fatal(err)
			}
			se.Begin()
			if err := runExample(t, se, stmt); err != nil {
				t.Fatal(err)
			}
			if work, err := se.Work(t.Context()); err != nil || len(work) != 1 || work[0].Rows != c.read {
				t.Errorf("work %v, %v, expected %d rows", work, err, c.read)
			}
		})
	}
}

// TestListPlan: a list is one query where that reads by keys of one partition, and else a request
// for each key.
func TestListPlan(t *testing.T) {
	keys := planOf("primary index", "", "", "%s")
	keys = strings.Replace(keys, `"folder": ""`, `"folder": "", "id": ""`, 1)
	for _, c := range []struct {
		name, plan string
		sent       int
	}{
		{"keys of one partition", keys, 2},
		{"all partitions", strings.Replace(keys, "SINGLE_PARTITION", "ALL_PARTITIONS", 1), 3},
		{"all rows of a folder", planOf("primary index", "", filtered, "%s"), 3},
		{"another index", strings.Replace(keys, "primary index", "by_size", 1), 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, p := asked(t), newProxy(t)
			st := p.store(t, s, nil)
			p.answers(planned(c.plan))
			stmt, err := st.Prepare(t.Context(), s.Pattern("get_in"))
			if err != nil {
				t.Fatal(err)
			}
			se, err := st.session()
			if err != nil {
				t.Fatal(err)
			}
			p.take()
			if err := read(t, se, stmt, severalKeys(stmt.Pattern())); err != nil {
				t.Fatal(err)
			}
			if sent := p.take(); len(sent) != c.sent {
				t.Errorf("%d requests, expected %d: %q", len(sent), c.sent, sent)
			}
		})
	}
}

// planned answers as a server does that has one plan for all queries.
func planned(plan string) func(string, object) any {
	return func(op string, payload object) any {
		if op != "Prepare" {
			return nil
		}
		text := payload[nosqldb.STATEMENT].(string)
		return object{nosqldb.PREPARED_QUERY: []byte("prepared: " + text), nosqldb.QUERY_PLAN_STRING: plan}
	}
}
