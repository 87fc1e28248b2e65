package oraclenosql

import (
	"fmt"
	"slices"
	"sync"

	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// The rows of several keys below one shard key are one query, with IN. By default Oracle queries
// all partitions of the store for an IN, though the shard key is given; so the query names the
// partition that has the shard key's rows. Only a row has its number: the first list below
// a shard key reads one of them.

const (
	// mostListed is how many keys one query has at most. Their rows are held until all are there.
	mostListed = 100
	// mostPartitions is for how many shard keys a store remembers the partition.
	mostPartitions = 10_000
	// rowVariable is the row that SQL's partition function takes.
	rowVariable = "$row"
	// partitionName is the column of its result.
	partitionName = "number"
)

// lists reports whether the rows of several keys are one query. Patterns that declare parallel
// reads get those, and a limit ends a read key by key.
func (st *statement) lists() bool {
	p := st.Pattern()
	return p.In != nil && !slices.Contains(st.table.shardKey(), p.In) && p.Parallel <= 1 && p.Limit == 0 && !p.LimitArg &&
		p.Index == nil && p.Element == nil && !st.joins() && !st.sorts
}

// listSelection writes the query of the rows of several keys.
func (st *statement) listSelection() *query {
	p, b := st.Pattern(), &builder{}
	columns := p.Columns
	if !slices.Contains(columns, p.In) { // rows are put in the list's order by it
		columns = append(slices.Clone(columns), p.In)
	}
	number := field{partitionName, schemas.Type{Kind: schemas.Int}, false}
	fmt.Fprintf(b, "SELECT %s FROM %s %s", names(columns), st.table.full, rowVariable)
	b.where("partition(%s) = %s", rowVariable, b.variable("partition", bindPartition, number))
	b.whereEqual(p.By, 0, plainName)
	b.where("%s IN %s[]", plainName(p.In), b.variable(identifier(p.In.Name), bindList, fieldOf(p.In)))
	b.whereEqual(p.Filter, st.Layout.Filter, plainName)
	return b.done()
}

// partitionSelection writes the query for the partition of a shard key.
func (st *statement) partitionSelection() *query {
	b := &builder{}
	fmt.Fprintf(b, "SELECT partition(%s) AS %s FROM %s %[1]s", rowVariable, partitionName, st.table.full)
	b.whereEqual(st.table.shardKey(), 0, plainName)
	b.WriteString(" LIMIT 1")
	return b.done()
}

// points reports whether a plan reads by keys that end with the column, in one partition.
func (p *queryPlan) points(c *schemas.Column) bool {
	return p.partitions == distributions["SINGLE_PARTITION"] && p.index == "primary index" &&
		slices.Contains(p.equal, identifier(c.Name))
}

// list reads the rows of a list, and yields them in the order of the list.
func (r *reading) list(elems []drivers.Value) error {
	most := mostListed
	if r.st.inList == nil {
		most = 1
	}
	for some := range slices.Chunk(elems, most) {
		var err error
		if len(some) == 1 {
			r.in.element, r.in.limit = some[0], r.calls.Left()
			err = r.one(r.emit)
		} else {
			err = r.some(some)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// some reads the rows of some keys by one query.
func (r *reading) some(elems []drivers.Value) error {
	r.in.list = r.in.list[:0]
	for _, e := range elems {
		if !slices.ContainsFunc(r.in.list, e.Equal) {
			r.in.list = append(r.in.list, e)
		}
	}
	rows := make(plan.ByElement[*types.MapValue])
	if err := r.find(rows); err != nil {
		return err
	}
	descends := func(k schemas.IndexColumn) bool { return k.Desc != r.st.Pattern().Reverse }
	if slices.ContainsFunc(r.st.Pattern().Order(), descends) {
		for _, own := range rows {
			slices.Reverse(own)
		}
	}
	return rows.Each(elems, r.emit)
}

// find fills in the rows of each key. If none is in the partition that the store remembers, the
// table may be another one of its name since, so the partition is read again.
func (r *reading) find(rows plan.ByElement[*types.MapValue]) error {
	key := r.st.shardText(r.in.args)
	before, known := r.store.partitions.get(key)
	if known {
		r.in.partition = before
		if err := r.findThere(rows); err != nil || len(rows) > 0 {
			return err
		}
	}
	found := false
	err := r.each(r.st.partition, func(row *types.MapValue) error {
		r.in.partition, found = row.GetInt(partitionName)
		return nil
	})
	if err != nil || !found || known && r.in.partition == before {
		return err
	}
	r.store.partitions.set(key, r.in.partition)
	return r.findThere(rows)
}

// findThere fills in the rows that are in the partition.
func (r *reading) findThere(rows plan.ByElement[*types.MapValue]) error {
	in := fieldOf(r.st.Pattern().In)
	return r.each(r.st.inList, func(row *types.MapValue) error {
		v, err := in.decode(row.Map()[in.name])
		if err != nil {
			return fmt.Errorf("column %s: %w", in.name, err)
		}
		rows.Add(v, row)
		return nil
	})
}

// shardText returns a text for the shard key of a call.
func (st *statement) shardText(args []drivers.Value) string {
	id := []byte(st.table.full)
	for i, c := range st.table.shardKey() {
		id = fmt.Appendf(id, "\x00%v", fieldOf(c).encode(args[i]))
	}
	return string(id)
}

// partitions remembers the partitions of shard keys. The zero value is ready.
type partitions struct {
	mu sync.Mutex
	of map[string]int
}

func (p *partitions) get(key string) (n int, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, known = p.of[key]
	return n, known
}

func (p *partitions) set(key string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil || len(p.of) >= mostPartitions {
		p.of = make(map[string]int)
	}
	p.of[key] = n
}
