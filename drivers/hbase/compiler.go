package hbase

import (
	"strings"
	"sync"

	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// compiler knows the schemas that were applied to a store, and compiles their patterns.
type compiler struct {
	mu      sync.RWMutex       // guards layouts
	layouts map[string]*layout // by the name of the applied schema
	tables  plan.Tables[table]
}

// add adds an applied schema.
func (c *compiler) add(l *layout) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.layouts == nil {
		c.layouts = make(map[string]*layout)
	}
	c.tables.Add(l.schema, l.tables)
	c.layouts[l.schema.Name] = l
}

// clear forgets all schemas.
func (c *compiler) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tables.Clear()
	clear(c.layouts)
}

// names returns the names of the HBase tables.
func (c *compiler) names() map[string]bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	names := make(map[string]bool)
	for _, l := range c.layouts {
		for _, r := range l.roots {
			names[r.name] = true
		}
	}
	return names
}

// tableOf returns the HBase table of a region. The region's name begins with that of the table.
func tableOf(region string) string {
	table, _, _ := strings.Cut(region, ",")
	return table
}

// compile compiles a pattern of an applied schema.
func (c *compiler) compile(p *schemas.Pattern) (*statement, error) {
	if p.Kind == schemas.Batch {
		return c.compileBatch(p)
	}
	p, table, err := c.tables.Find(p)
	if err != nil {
		return nil, err
	}
	st := &statement{compiler: c, Plan: plan.Of(p), table: table}
	return st, st.compile()
}

// compileBatch compiles a batch. HBase is atomic only within one row, so all parts
// of an atomic batch must write the same HBase row.
func (c *compiler) compileBatch(p *schemas.Pattern) (*statement, error) {
	parts, err := plan.Compile(p, c.compile)
	if err != nil {
		return nil, err
	}
	st := &statement{compiler: c, Plan: plan.Of(p), parts: parts}
	return st, st.checkAtomic()
}
