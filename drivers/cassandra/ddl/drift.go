package ddl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Compare compares a keyspace with the definition. there is nil if there is no keyspace; extra is
// what was found beside its tables. exact says that more replicas than wanted are a difference too,
// and strategy is the class of the nodes' default compaction, "" if they do not tell one.
func (d *Definition) Compare(
	there *LiveKeyspace, extra []drivers.Drift, exact bool, strategy string,
) *drivers.Comparison {
	m := &comparison{Definition: d, there: there, exact: exact, strategy: strategy}
	c := &drivers.Comparison{Where: "keyspace " + d.Keyspace}
	if there == nil {
		c.Unseen = append(c.Unseen, fmt.Sprintf("There is no keyspace %s.", d.Keyspace))
		m.there = &LiveKeyspace{Name: d.Keyspace}
	} else {
		c.Drifts = append(m.keyspaceDrifts(), m.markDrifts()...)
	}
	have := m.there.Schema(d.Stored.Name)
	want := d.Stored // addDefaults may change it: define made it for this call
	for _, t := range want.Tables {
		if h := have.Table(t.Name); h != nil && !t.Header() {
			m.addDefaults(t.Hints[EngineName], h.Hints[EngineName])
		}
	}
	c.Drifts = slices.Concat(c.Drifts, drivers.Drifts(schemas.Diff(want, have)), extra)
	for i := range c.Drifts {
		if c.Drifts[i].Mend == nil {
			c.Drifts[i].Mend = m.mend(c.Drifts[i].Difference)
		}
	}
	if foreign := m.there.unmarked(d.Tables); len(foreign) > 0 {
		c.Unseen = append(c.Unseen,
			fmt.Sprintf("Without mailbench's mark Cassandra cannot say how %s are nested, which bigint "+
				"counts microseconds, and which key columns an index begins with: that is taken to be as in the schema.",
				strings.Join(foreign, ", ")))
	}
	return c
}

// unmarked returns the tables of a schema that lack mailbench's mark.
func (k *LiveKeyspace) unmarked(definitions []TableDefinition) (names []string) {
	for _, td := range definitions {
		if t := k.Tables[td.Name]; t != nil && !t.Marked {
			names = append(names, td.Name)
		}
	}
	slices.Sort(names)
	return names
}

// keyspaceDrifts compares what belongs to the whole keyspace. More replicas than
// wanted matter only where the setting names their number.
func (m *comparison) keyspaceDrifts() (all []drivers.Drift) {
	for dc, want := range m.Replication.All() {
		is := m.there.factor(dc)
		if n, err := strconv.Atoi(is); err == nil && (n == want || n > want && !m.exact) {
			continue
		}
		all = append(all, drivers.Drift{
			Difference: schemas.Difference{
				Kind: schemas.DifferentSetting, Part: EngineName + ".replication." + dc, Want: strconv.Itoa(want), Have: is,
			},
			Harm: drivers.RowsWrong,
			Mend: []string{
				fmt.Sprintf("ALTER KEYSPACE %s WITH replication = %s;", Quote(m.Keyspace), m.Replication.cql()),
				"-- then, on every node: nodetool repair --full " + m.Keyspace,
			},
		})
	}
	if !m.there.Durable {
		all = append(all, drivers.Drift{
			Difference: schemas.Difference{
				Kind: schemas.DifferentSetting, Part: EngineName + ".durable_writes", Want: "true", Have: "false",
			},
			Harm: drivers.RowsWrong, // acknowledged writes are lost with the process
			Mend: []string{fmt.Sprintf("ALTER KEYSPACE %s WITH durable_writes = true;", Quote(m.Keyspace))},
		})
	}
	return all
}

// markDrifts finds the tables of mailbench that lost their mark. No run uses them.
func (m *comparison) markDrifts() (all []drivers.Drift) {
	if !strings.HasPrefix(m.Keyspace, drivers.Prefix) {
		return nil
	}
	for _, td := range m.Tables {
		t := m.there.Tables[td.Name]
		if t == nil || t.Marked {
			continue
		}
		all = append(all, drivers.Drift{
			Difference: schemas.Difference{
				Kind: schemas.DifferentSetting, Table: td.Table.Name,
				Part: EngineName + ".comment", Want: td.Comment, Have: t.Comment,
			},
			Harm: drivers.CostsMore,
			Mend: []string{fmt.Sprintf("ALTER TABLE %s WITH comment = %s;", m.Qualified(td.Name), Literal(td.Comment))},
		})
	}
	return all
}
