package cassandra

import (
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

func (k *compiler) compile(p *schemas.Pattern) (*statement, error) {
	if p.Kind == schemas.Batch {
		return k.compileBatch(p)
	}
	if why := p.CassandraOnly(); why != "" {
		return nil, unsupported("only its own statement does what it asks: it %s", why)
	}
	p, table, err := k.applied.Find(p)
	if err != nil {
		return nil, err
	}
	st := &statement{
		of: k, Plan: plan.Of(p), shape: p, table: table, args: p.Args(), keys: len(p.By), inAt: -1, rowAt: -1,
	}
	if p.Kind.Reads() {
		err = st.compileRead()
	} else {
		err = st.compileWrite()
	}
	return st, err
}

func (k *compiler) compileBatch(p *schemas.Pattern) (*statement, error) {
	parts, err := plan.Compile(p, k.compile)
	if err != nil {
		return nil, err
	}
	counters := 0
	st := &statement{of: k, Plan: plan.Of(p), parts: parts}
	for i, part := range parts {
		if part.counter {
			counters++
		} else if !part.setsTimestamp() {
			st.stamped = append(st.stamped, p.Parts[i].Pattern.Table)
		}
	}
	st.counter = counters > 0
	switch {
	case p.Atomic == schemas.AtomicNone:
		if st.unlogged, err = ddl.UnloggedBatches(p.Parts[0].Pattern.Table); err != nil {
			return nil, err
		}
		st.unlogged = st.unlogged && p.Parallel == 0 && counters == 0
	case counters > 0 && counters < len(st.parts):
		return nil, unsupported("a batch cannot mix counters with other columns")
	case counters > 0 && p.Atomic == schemas.AtomicAll:
		return nil,
			unsupported("counters of several partitions cannot be changed together: a batch of counters is not logged")
	}
	return st, nil
}
