package cassandra

import (
	"sync/atomic"

	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// compiler compiles the patterns of applied schemas to statements. It needs no cluster.
type compiler struct {
	applied plan.Tables[table]
	queries atomic.Int32 // the number of compiled queries; each gets the next number
}

// table is a table of an applied schema.
type table struct {
	*schemas.Table
	keyspace  string
	qualified string          // its name in statements
	indexed   map[string]bool // the columns that have an index of their own
	// conditional is true if some pattern writes to the table by compare-and-set.
	conditional bool
	newRows     bool              // puts write rows that are not there yet
	options     map[string]string // present values in Cassandra of the options that hints can set
}

// add records the tables, so that patterns can be prepared for them.
func (k *compiler) add(d *ddl.Definition, sch *schemas.Schema, there *ddl.LiveKeyspace) {
	tables := make(map[*schemas.Table]*table)
	for _, td := range d.Tables {
		t := &table{
			Table: td.Table, keyspace: d.Keyspace, qualified: ddl.Quote(d.Keyspace) + "." + ddl.Quote(td.Name),
			indexed: make(map[string]bool),
		}
		t.newRows, _ = ddl.NewRows(td.Table) // Define has checked it
		if live := there.Tables[td.Name]; live != nil {
			t.options = live.Hints()
		}
		for _, x := range td.Indexes {
			t.indexed[x.Column.Name] = true
		}
		for _, p := range sch.Patterns {
			t.conditional = t.conditional || p.Conditional() && p.Table == td.Table
		}
		tables[td.Table] = t
	}
	k.applied.Add(sch, tables)
}

// number returns the number of the next query.
func (k *compiler) number() int { return int(k.queries.Add(1)) - 1 }
