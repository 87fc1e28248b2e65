package cassandra

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// compileWithout compiles the patterns of a schema as if a cluster had its tables.
func compileWithout(s *schemas.Schema, o drivers.Options) (drivers.Compiler, error) {
	d, err := ddl.Define(s, o.Namespace, ddl.Replication{Datacenter: ddl.AnyDatacenter, Factor: 1})
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", s.Name, err)
	}
	d.Keyspace = cmp.Or(o.Keyspace, d.Keyspace)
	k := new(compiler)
	k.add(d, s, &ddl.LiveKeyspace{})
	return plan.Compiler(k.compile), nil
}

// Explain implements drivers.Explainer. It returns the CQL of each request, and which bounds a
// call must give for it.
func (st *statement) Explain() ([]string, error) {
	if st.Pattern().Kind == schemas.Batch {
		return st.explainBatch(), nil
	}
	var lines []string
	for with, q := range st.queries {
		if q != nil {
			lines = append(lines, q.text+";"+st.note(q, plan.Bounds(with)))
		}
	}
	if st.adding[0] != nil {
		lines = append(lines, st.adding[0].text+";  -- with elements of a set or map")
	}
	for i, q := range st.chains[0] {
		lines = append(lines, fmt.Sprintf("%s;  -- after a row: request %d of %d", q.text, i+1, len(st.chains[0])))
	}
	return lines, nil
}

// note says when a query is sent, and to whom.
func (st *statement) note(q *query, with plan.Bounds) string {
	var words []string
	if with != 0 {
		words = append(words, with.String())
	}
	if st.readsEach() {
		words = append(words, fmt.Sprintf("a request for each element, %d in parallel", st.Pattern().Parallel))
	}
	if len(q.route) == 0 && st.Pattern().Kind.Reads() {
		words = append(words, "no partition key: all nodes are read")
	}
	if q.conditional {
		words = append(words, "a lightweight transaction (Paxos)")
	}
	if len(words) == 0 {
		return ""
	}
	return "  -- " + strings.Join(words, "; ")
}

// explainBatch writes a batch as oneBatch sends it, or its parts if they are separate requests.
func (st *statement) explainBatch() []string {
	p := st.Pattern()
	var head string
	switch {
	case st.unlogged:
		head = "BEGIN UNLOGGED BATCH"
	case p.Atomic == schemas.AtomicNone && p.Parallel > 1:
		head = fmt.Sprintf("-- a request for each part, %d in parallel", p.Parallel)
	case p.Atomic == schemas.AtomicNone:
		head = "-- a request for each part, one after another"
	case p.Conditional():
		head = "BEGIN UNLOGGED BATCH  -- a lightweight transaction (Paxos) of one partition"
	case st.counter:
		head = "BEGIN COUNTER BATCH  -- of one partition"
	default:
		head = "BEGIN BATCH  -- UNLOGGED if all parts are in one partition"
	}
	lines := []string{head}
	for i, part := range st.parts {
		q := part.timed
		if p.Atomic == schemas.AtomicNone && !st.unlogged {
			q = part.queries[0]
		}
		line := "  " + q.text + ";"
		if each := p.Parts[i].Each; each != "" {
			line += "  -- for each " + each
		}
		lines = append(lines, line)
	}
	if p.Atomic != schemas.AtomicNone || st.unlogged {
		lines = append(lines, "APPLY BATCH;")
	}
	return lines
}

// renderCQL writes the statements of Apply in a form that cqlsh takes. Without settings
// they are for a cluster of one node.
func renderCQL(s *schemas.Schema, o drivers.Options) (string, error) {
	set, err := readSettings(o.Settings)
	if err != nil {
		return "", err
	}
	datacenters := append(slices.Sorted(maps.Keys(set.replicas)), ddl.AnyDatacenter)
	r := set.replicationFrom(cmp.Or(set.localDC, datacenters[0]))
	r.Factor = max(1, r.Factor)
	return ddl.Render(s, o.Namespace, r)
}

// Keyspace returns the name of a schema's keyspace in a namespace, which may be "".
func Keyspace(namespace, schema string) (string, error) { return ddl.Keyspace(namespace, schema) }
