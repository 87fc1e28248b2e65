package ddl

import (
	"fmt"
	"maps"
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
) (*drivers.Comparison, error) {
	m := &comparison{Definition: d, there: there, exact: exact, strategy: strategy}
	c := &drivers.Comparison{Where: "keyspace " + d.Keyspace}
	if there == nil {
		c.Unseen = append(c.Unseen, fmt.Sprintf("Keyspace %s does not exist.", d.Keyspace))
		m.there = &LiveKeyspace{Name: d.Keyspace}
	} else {
		of, err := m.keyspaceDrifts()
		if err != nil {
			return nil, err
		}
		c.Drifts = slices.Concat(of, m.typeDrifts())
	}
	foreign, lost := m.markDrifts()
	c.Drifts = append(c.Drifts, lost...)
	have := m.there.Schema(d.Stored.Name)
	want := d.Stored // addDefaults may change it: define made it for this call
	extra = d.views(want, extra)
	for _, t := range want.Tables {
		if h := have.Table(t.Name); h != nil && !t.Header() {
			c.Unseen = append(c.Unseen, unsaid(t, h)...)
			m.addDefaults(t.Hints[EngineName], h.Hints[EngineName])
		}
	}
	c.Drifts = slices.Concat(c.Drifts, drivers.Drifts(schemas.Diff(want, have)), extra)
	for i := range c.Drifts {
		d := &c.Drifts[i]
		if d.Mend == nil {
			d.Mend = m.statements(d.Difference)
		}
		for i, stmt := range d.Mend {
			if !strings.HasPrefix(stmt, "--") {
				d.Mend[i] += ";"
			}
		}
	}
	if len(foreign) > 0 {
		c.Unseen = append(c.Unseen,
			fmt.Sprintf("Without mailbench's mark Cassandra does not report how %s are nested, which bigint "+
				"counts microseconds, and which key columns an index begins with: that is taken to be as in the schema.",
				strings.Join(foreign, ", ")))
	}
	return c, nil
}

// views takes the materialized views of an imported schema out of it, and those that are there out of what the
// schema does not have.
func (d *Definition) views(want *schemas.Schema, extra []drivers.Drift) []drivers.Drift {
	for _, td := range d.Tables {
		base := td.Table.View()
		if base == "" {
			continue
		}
		want.Tables = slices.DeleteFunc(want.Tables, func(t *schemas.Table) bool { return t.Name == td.Table.Name })
		view := PartName(td.Name, "materialized view", base)
		there := len(extra)
		if extra = slices.DeleteFunc(extra, func(x drivers.Drift) bool { return x.Table == view }); len(extra) == there {
			extra = append(extra, drivers.Drift{
				Difference: schemas.Difference{Kind: schemas.MissingTable, Table: view},
				Mend:       []string{"-- create it by the statement that was imported"},
			})
		}
	}
	return extra
}

// unsaid takes those settings out of a table that the cluster does not have or does not say, and names them. A node
// without CDC says nothing of cdc.
func unsaid(want, have *schemas.Table) (all []string) {
	settings := want.Hints[EngineName]
	for _, name := range CarriedOptions() {
		if _, there := have.Hints[EngineName][name]; !there && settings[name] != "" {
			delete(settings, name)
			all = append(all, fmt.Sprintf("This Cassandra does not report %s of table %s: it is not compared.", name, want.Name))
		}
	}
	return all
}

// PartName is how differences name a materialized view or a trigger of a table.
func PartName(name, what, base string) string { return fmt.Sprintf("%s (%s of %s)", name, what, base) }

// keyspaceDrifts compares what belongs to the whole keyspace: durable_writes, and the replication
// that the schema says under "other", or else the store's own.
func (m *comparison) keyspaceDrifts() (all []drivers.Drift, err error) {
	said, err := replicationOf(m.other)
	if err != nil {
		return nil, err
	}
	if all = m.replicationDrifts(); said != nil {
		all = m.saidReplication(said)
	}
	if want := strconv.FormatBool(durable(m.other)); want != strconv.FormatBool(m.there.Durable) {
		all = append(all, drivers.Drift{
			Difference: keyspaceSetting("durable_writes", want, strconv.FormatBool(m.there.Durable)),
			Harm:       drivers.RowsWrong, // acknowledged writes are lost with the process
			Mend: []string{m.unless(want == "false", "acknowledged writes can be lost",
				fmt.Sprintf("ALTER KEYSPACE %s WITH durable_writes = %s", Quote(m.Keyspace), want))},
		})
	}
	return all, nil
}

func keyspaceSetting(name, want, have string) schemas.Difference {
	return schemas.Difference{Kind: schemas.DifferentSetting, Part: EngineName + "." + name, Want: want, Have: have}
}

// unless returns a statement, as a comment with the reason if it loses something.
func (*comparison) unless(loses bool, what, stmt string) string {
	if loses {
		return "-- " + what + ": " + stmt + ";"
	}
	return stmt
}

const (
	byDatacenter = "NetworkTopologyStrategy"
	classField   = "replication.class"
)

// replicationDrifts compares with the replication that Apply would give the keyspace. More replicas
// than wanted matter only where the setting names their number.
func (m *comparison) replicationDrifts() (all []drivers.Drift) {
	repair := "-- then, on every node: nodetool repair --full " + m.Keyspace
	alter := fmt.Sprintf("ALTER KEYSPACE %s WITH replication = %s", Quote(m.Keyspace), m.Replication.cql())
	class := m.there.class()
	if class != byDatacenter {
		all = append(all, drivers.Drift{
			Difference: keyspaceSetting(classField, byDatacenter, class),
			Harm:       drivers.RowsWrong, // copies may be in one rack or datacenter, and go with it
			Mend: []string{
				m.unless(m.there.more(m.Replication), "removes copies of rows", alter), repair,
			},
		})
	}
	for dc, want := range m.Replication.All() {
		is := m.there.factor(dc)
		n, err := strconv.Atoi(is)
		if err == nil && (n == want || n > want && !m.exact) {
			continue
		}
		all = append(all, drivers.Drift{
			Difference: keyspaceSetting("replication."+dc, strconv.Itoa(want), is), Harm: drivers.RowsWrong,
			Mend: []string{m.unless(n > want, "removes copies of rows", alter), repair},
		})
	}
	return all
}

// saidReplication compares with the class and the replicas that the schema says, which must be just so.
func (m *comparison) saidReplication(said map[string]string) (all []drivers.Drift) {
	alter := fmt.Sprintf("ALTER KEYSPACE %s WITH replication = %s", Quote(m.Keyspace), cqlMap(said))
	loses := false
	for name, is := range m.there.Replication {
		have, _ := strconv.Atoi(is)
		want, _ := strconv.Atoi(said[name])
		loses = loses || have > want
	}
	names := slices.Concat(slices.Collect(maps.Keys(said)), slices.Collect(maps.Keys(m.there.Replication)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		have := m.there.Replication[name]
		if name == "class" {
			have = m.there.class()
		}
		if have != said[name] {
			all = append(all, drivers.Drift{
				Difference: keyspaceSetting("replication."+name, said[name], have), Harm: drivers.RowsWrong,
				Mend: []string{
					m.unless(loses, "removes copies of rows", alter), "-- then, on every node: nodetool repair --full " + m.Keyspace,
				},
			})
		}
	}
	return all
}

// markDrifts names the tables without mailbench's mark. In a keyspace of mailbench's they have lost it, and no run
// uses them.
func (m *comparison) markDrifts() (foreign []string, all []drivers.Drift) {
	for _, td := range m.Tables {
		t := m.there.Tables[td.Name]
		if t == nil || t.Marked {
			continue
		}
		foreign = append(foreign, td.Name)
		if strings.HasPrefix(m.Keyspace, drivers.Prefix) {
			all = append(all, drivers.Drift{
				Difference: schemas.Difference{
					Kind: schemas.DifferentSetting, Table: td.Table.Name,
					Part: EngineName + ".comment", Want: td.Comment, Have: t.Comment,
				},
				Harm: drivers.CostsMore,
				Mend: []string{fmt.Sprintf("ALTER TABLE %s WITH comment = %s", m.Qualified(td.Name), Literal(td.Comment))},
			})
		}
	}
	slices.Sort(foreign)
	return foreign, all
}
