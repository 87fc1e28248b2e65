package trace

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/hbase"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/drivers/null"
	"github.com/mailbench/mailbench/drivers/oraclenosql"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/conversation"
	"github.com/mailbench/mailbench/models/datastax"
	"github.com/mailbench/mailbench/models/elasticinbox"
	"github.com/mailbench/mailbench/models/james"
	"github.com/mailbench/mailbench/models/oracle"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads"
)

// traced runs a model, and returns the costs of its patterns by name.
func traced(t *testing.T, m models.Model, e drivers.Engine, overrides ...string) map[string]Pattern {
	t.Helper()
	w, err := workloads.Parse("trace.yaml", Text, overrides...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), m, e, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Patterns) != len(s.Patterns) || r.Version == "" {
		t.Errorf("%d patterns of %s are told of, of %d declared", len(r.Patterns), r.Version, len(s.Patterns))
	}
	by := make(map[string]Pattern)
	for _, p := range r.Patterns {
		if p.Calls > 0 && p.Failed == 0 && (p.Median == nil || p.Median.Client <= 0) {
			t.Errorf("pattern %+v", p)
		}
		by[p.Name] = p
	}
	return by
}

// TestEmbedded traces a model, whose newest messages are deleted before it lists them.
func TestEmbedded(t *testing.T) {
	by := traced(t, james.Model(), pebble.Engine())
	page, message := by["page"], by["message"]
	if page.Most == nil || page.Median.Rows < 20 || page.Median.Rows != page.Median.Returned || page.Most.Hidden < 2 {
		t.Errorf("page: %+v, %+v; want 20 rows and more, all returned, and hidden entries", page, page.Most)
	}
	// A flag that was put again hides the one before.
	if message.Most == nil || message.Most.Rows != 1 || message.Most.Hidden > 1 || message.Median.Blocks < 1 {
		t.Errorf("message: %+v, %+v; want one row out of one block", message, message.Most)
	}
	if by["uids"].Calls == 0 || by["create"].Calls == 0 {
		t.Errorf("an expunge and a new user: %+v, %+v", by["uids"], by["create"])
	}
	if by["message_put"].Calls != 0 {
		t.Errorf("message_put, which only runs within append: %+v", by["message_put"])
	}
}

// requestsAgree: the requests that a session counts are those of the report's column REQUESTS.
// Cassandra reports these itself, HBase's driver counts answers.
func requestsAgree(t *testing.T, m models.Model, e drivers.Engine, overrides ...string) {
	t.Helper()
	w, err := workloads.Parse("trace.yaml", Text, overrides...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), m, e, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	patterns := map[string]bool{}
	for i := range r.calls {
		c := &r.calls[i]
		patterns[c.runs.Pattern().Name] = true
		counted := c.cost.Requests // a server that refuses a request, which is then sent again, is not in it
		if c.err == nil && counted >= 0 && (counted < c.counted.Requests || counted > c.counted.Requests+c.counted.Retries) {
			t.Errorf("pattern %s: the session counted %+v, the engine reports %+v", c.runs.Pattern().Name, c.counted, c.cost.Work)
		}
	}
	if len(patterns) < 5 {
		t.Errorf("only %d patterns ran", len(patterns))
	}
}

// bundled are the models, and the variant of datastax whose batches are logged.
func bundled(t *testing.T) []models.Model {
	t.Helper()
	logged, err := datastax.Model().Variant(func() (*schemas.Schema, error) { return schemas.Bundled("datastax@logged") })
	if err != nil {
		t.Fatal(err)
	}
	return []models.Model{
		elasticinbox.Model(), james.Model(), datastax.Model(), logged, oracle.Model(), conversation.Model(),
	}
}

// TestRequestsAgree: on each engine, for each pattern of each model that the workload runs.
func TestRequestsAgree(t *testing.T) {
	for _, m := range bundled(t) {
		t.Run(m.Name, func(t *testing.T) { requestsAgree(t, m, pebble.Engine()) })
	}
}

// TestRequestsAgreeLive is TestRequestsAgree on real engines.
func TestRequestsAgreeLive(t *testing.T) {
	for _, e := range []drivers.Engine{cassandra.Engine(), hbase.Engine(), oraclenosql.Engine()} {
		t.Run(e.Name, func(t *testing.T) {
			contact := live.Contact(t, e.Name)
			for _, m := range bundled(t) {
				t.Run(m.Name, func(t *testing.T) { requestsAgree(t, m, e, "engines."+e.Name+".contact=\""+contact+"\"") })
			}
		})
	}
}

// TestUntold: an engine that reports nothing is refused.
func TestUntold(t *testing.T) {
	w, err := workloads.Parse("trace.yaml", Text)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Run(t.Context(), james.Model(), null.Engine(), w, nil); err == nil {
		t.Errorf("the null engine tells %+v", r)
	}
}

// TestLive traces models on real engines, which keep nothing of it.
func TestLive(t *testing.T) {
	for _, c := range []struct {
		engine drivers.Engine
		model  models.Model
		check  func(t *testing.T, by map[string]Pattern)
	}{
		{cassandra.Engine(), datastax.Model(), func(t *testing.T, by map[string]Pattern) {
			page, email := by["page"], by["email"]
			if page.Most.Tombstones < 1 || page.Median.Nodes != 1 || page.Median.Time <= 0 {
				t.Errorf("page: %+v; want tombstones, one replica and the coordinator's time", page.Most)
			}
			if email.Most.Tombstones > 0 || email.Median.Rows != 1 {
				t.Errorf("email: %+v; want one row and no tombstone", email.Most)
			}
		}},
		{hbase.Engine(), james.Model(), func(t *testing.T, by map[string]Pattern) {
			page, message := by["page"], by["message"]
			if page.Median.Rows < 20 || page.Most.Rows <= page.Most.Returned || page.Median.Blocks < 1 {
				t.Errorf("page: %+v; want 20 rows and more, some of them deleted, and blocks", page.Most)
			}
			if message.Most.Rows != 1 || message.Median.Cells < 2 || message.Median.Bytes < 1 || message.Most.Blocks >= 0 {
				t.Errorf("message: %+v; want one row of some cells, and nothing of blocks", message.Most)
			}
		}},
		{oraclenosql.Engine(), oracle.Model(), func(t *testing.T, by map[string]Pattern) {
			inbox, read := by["inbox"], by["set_read"]
			if len(inbox.Plan) != 2 || !strings.Contains(inbox.Plan[1], "by index arrival") ||
				!strings.Contains(inbox.Plan[1], "range of createdDate") || strings.Contains(strings.Join(inbox.Plan, ""), "sorts") {
				t.Errorf("plans of inbox: %q; want the index on arrival, a range from the second page on and no sort", inbox.Plan)
			}
			if inbox.Median.Rows != 25 || read.Most.Rows >= 0 {
				t.Errorf("inbox read %d rows, set_read %d; want 25 and not known", inbox.Median.Rows, read.Most.Rows)
			}
		}},
	} {
		t.Run(c.engine.Name, func(t *testing.T) {
			contact := live.Contact(t, c.engine.Name)
			var used string
			e, open := c.engine, c.engine.Open
			e.Open = func(ctx context.Context, o drivers.Options) (drivers.Store, error) {
				used = o.Namespace
				return open(ctx, o)
			}
			c.check(t, traced(t, c.model, e, "engines."+e.Name+".contact=\""+contact+"\""))
			if used == "" || slices.ContainsFunc(namespaces(t, c.engine, contact), func(n drivers.Namespace) bool { return n.Name == used }) {
				t.Errorf("namespace %q is left", used)
			}
		})
	}
}

func namespaces(t *testing.T, e drivers.Engine, contact string) []drivers.Namespace {
	t.Helper()
	st, err := e.Open(t.Context(), drivers.Options{Contact: []string{contact}})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	all, err := drivers.Namespaces(t.Context(), st)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
