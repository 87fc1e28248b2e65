package oraclenosql

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// session runs statements for one worker.
type session struct {
	plan.Session[*statement]
	*slot
	// slots are those of requests that run in parallel. The first is the session's own.
	slots []*slot
}

var _ drivers.Session = (*session)(nil)

// Session implements drivers.Store.
func (s *Store) Session() (drivers.Session, error) {
	return plan.Call(&s.gate, "open a session", func() (drivers.Session, error) { return s.session() })
}

func (s *Store) session() (se *session, err error) {
	se = new(session)
	se.Init(&s.gate, se)
	se.slot, err = s.newSlot(&se.Meter)
	se.slots = []*slot{se.slot}
	return se, err
}

// parallel makes the slots of requests of which up to width run in parallel: slots[i%width] is that of number i
// (plan.InOrder).
func (s *session) parallel(width int) error {
	for len(s.slots) < width {
		sl, err := s.store.newSlot(&s.Meter)
		if err != nil {
			return err
		}
		s.slots = append(s.slots, sl)
	}
	return nil
}

// fits checks what only Oracle requires of a call's arguments, before anything is sent. It returns their size.
func (st *statement) fits(l *limits, args []drivers.Value) (size int, err error) {
	key := 0
	for i := range args {
		if err := valid(args[i]); err != nil {
			return 0, fmt.Errorf("argument %s: %w", st.Pattern().Args()[i].Name, err)
		}
		size += args[i].Size()
		if i < len(st.Pattern().By) {
			key += args[i].Size()
		}
	}
	switch {
	case key > l.key:
		err = fmt.Errorf("a key of %d bytes, but %d are the most: %w", key, l.key, drivers.ErrTooLarge)
	case size > l.row:
		err = fmt.Errorf("%d bytes, but a row has at most %d: %w", size, l.row, drivers.ErrTooLarge)
	}
	return size, err
}

// RunRead implements plan.Runner.
func (s *session) RunRead(ctx context.Context, st *statement, args []drivers.Value) error {
	if _, err := st.fits(&s.store.limits, args); err != nil {
		return err
	}
	in := &inputs{args: args, limit: s.Left}
	emit := func(row *types.MapValue) error { return s.emit(st, row) }
	switch {
	case st.Layout.In < 0:
		return s.one(ctx, st, in, emit)
	case st.Pattern().Parallel > 1:
		return s.readParallel(ctx, st, in, emit)
	}
	return s.list(ctx, st, in, emit)
}

// one calls take for each row that one Get or query reads.
func (sl *slot) one(ctx context.Context, st *statement, in *inputs, take func(*types.MapValue) error) error {
	if st.action != doGet {
		return sl.each(ctx, st, st.queries[st.Given(in.args)], in, take)
	}
	row, err := sl.get(ctx, st, in.args, in.element, sl.store.consistency)
	if err != nil || row == nil {
		return err
	}
	sl.count(1, false)
	return take(row.Value)
}

// get reads the row of a key, with its version; nil if there is none.
func (sl *slot) get(
	ctx context.Context, st *statement, args []drivers.Value, element drivers.Value, how types.Consistency,
) (*nosqldb.GetResult, error) {
	key := st.keyOf(args, element)
	r, err := send(sl, ctx, again, func(left time.Duration) (*nosqldb.GetResult, error) {
		return sl.client.Get(&nosqldb.GetRequest{TableName: st.table.full, Key: key, Timeout: left, Consistency: how})
	})
	if err != nil || !r.RowExists() {
		return nil, err
	}
	return r, nil
}

// each runs a query and calls take for each row, until the query is done.
func (sl *slot) each(
	ctx context.Context, st *statement, q *query, in *inputs, take func(*types.MapValue) error,
) error {
	request, err := sl.request(q, in)
	if err != nil {
		return err
	}
	defer request.Close()
	drops := st.sorts || len(st.Pattern().Filter) > 0 // the engine reads rows that it does not return
	if q.plan != nil && !st.sorts {
		drops = q.plan.filters
	}
	for what := again; ; what = 0 { // the SDK keeps the place of a later page, which a failure may spoil
		rows, err := sl.query(ctx, request, what)
		if err != nil {
			return err
		}
		sl.count(len(rows), drops)
		for _, row := range rows {
			if err := take(row); err != nil {
				return err
			}
		}
		if request.IsDone() {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// count counts rows that were read. drops says that the engine read others too.
func (sl *slot) count(rows int, drops bool) {
	sl.meter.Did(func(w *drivers.Work) {
		switch {
		case drops:
			w.Rows = -1
		case w.Rows >= 0:
			w.Rows += int64(rows)
		}
	})
}

// emit decodes a row and yields it.
func (s *session) emit(st *statement, row *types.MapValue) error {
	s.row = s.row[:0]
	for _, f := range st.out {
		x, ok := row.Map()[f.name]
		if !ok {
			return fmt.Errorf("the answer has no column %s", f.name)
		}
		v, err := f.decode(x)
		if err != nil {
			if !s.Tolerant {
				return fmt.Errorf("column %s: %w", f.name, err)
			}
			v = drivers.Broken([]byte(fmt.Sprint(x)))
		}
		s.row = append(s.row, v)
	}
	if st.Pattern().Element != nil && s.row[0].IsNull() {
		return nil // there is no such element
	}
	return s.Yield(s.row)
}

// keyOf returns the key of a row as the SDK takes it.
func (st *statement) keyOf(args []drivers.Value, element drivers.Value) *types.MapValue {
	m := make(map[string]any, len(st.key))
	for i, f := range st.key {
		v := element
		if i < len(st.Pattern().By) {
			v = args[i]
		}
		m[f.name] = f.encode(v)
	}
	return types.NewMapValue(m)
}

// readParallel reads the rows of several keys, as many at a time as the pattern allows,
// and yields them in the order of the list.
func (s *session) readParallel(
	ctx context.Context, st *statement, in *inputs, emit func(*types.MapValue) error,
) error {
	elems := in.args[st.Layout.In].Elems()
	width := min(st.Pattern().Parallel, len(elems))
	if err := s.parallel(width); err != nil {
		return err
	}
	var left atomic.Int64
	left.Store(in.limit)
	read := func(ctx context.Context, i int) (rows []*types.MapValue, err error) {
		own := &inputs{args: in.args, element: elems[i], limit: left.Load()}
		err = s.slots[i%width].one(ctx, st, own, func(row *types.MapValue) error {
			rows = append(rows, row)
			return nil
		})
		return rows, err
	}
	return plan.ReadEach(ctx, len(elems), width, read, func(row *types.MapValue) error {
		err := emit(row)
		left.Store(s.Left)
		return err
	})
}

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

// list reads the rows of a list, and yields them in the order of the list.
func (s *session) list(ctx context.Context, st *statement, in *inputs, emit func(*types.MapValue) error) error {
	most := mostListed
	if st.inList == nil {
		most = 1
	}
	descends := slices.ContainsFunc(st.Pattern().Order(), func(k schemas.IndexColumn) bool {
		return k.Desc != st.Pattern().Reverse
	})
	for some := range slices.Chunk(in.args[st.Layout.In].Elems(), most) {
		if len(some) == 1 {
			in.element, in.limit = some[0], s.Left
			if err := s.one(ctx, st, in, emit); err != nil {
				return err
			}
			continue
		}
		in.list = distinct(some)
		rows := make(plan.ByElement[*types.MapValue])
		if err := s.find(ctx, st, in, rows); err != nil {
			return err
		}
		for _, own := range rows {
			if descends {
				slices.Reverse(own)
			}
		}
		if err := rows.Each(some, emit); err != nil {
			return err
		}
	}
	return nil
}

// find fills in the rows of each key. If none is in the partition that the store remembers, the
// table may be another one of its name since, so the partition is read again.
func (sl *slot) find(ctx context.Context, st *statement, in *inputs, rows plan.ByElement[*types.MapValue]) error {
	text := []byte(st.table.full)
	for i, c := range st.table.shardKey {
		text = fmt.Appendf(text, "\x00%v", fieldOf(c).encode(in.args[i]))
	}
	key, listed := string(text), fieldOf(st.Pattern().In)
	there := func() error { // the rows that are in the partition
		return sl.each(ctx, st, st.inList, in, func(row *types.MapValue) error {
			v, err := listed.decode(row.Map()[listed.name])
			if err != nil {
				return fmt.Errorf("column %s: %w", listed.name, err)
			}
			rows.Add(v, row)
			return nil
		})
	}
	before, known := sl.store.partitions.Load(key)
	if known {
		in.partition = before.(int)
		if err := there(); err != nil || len(rows) > 0 {
			return err
		}
	}
	found := false
	err := sl.each(ctx, st, st.partition, in, func(row *types.MapValue) error {
		in.partition, found = row.GetInt(partitionName)
		return nil
	})
	if err != nil || !found || before == any(in.partition) {
		return err
	}
	sl.store.partitions.set(key, in.partition)
	return there()
}

// partitions remembers the partitions of shard keys. The zero value is ready.
type partitions struct {
	sync.Map
	changes atomic.Int64
}

func (p *partitions) set(key string, n int) {
	if p.changes.Add(1)%mostPartitions == 0 {
		p.Clear()
	}
	p.Store(key, n)
}

// part returns a part of a scan: a range of the first column of the shard key, if that is text. (Oracle can read
// one hash partition alone, by partition($row) = n, but the proxy does not report how many there are.)
func (s *Store) part(ctx context.Context, scan *statement, from, to []byte) (*statement, error) {
	one := *scan
	one.queries = []*query{one.selection(0, from, to)}
	return &one, s.prepare(ctx, &one)
}

// divide returns the keys at which parts begin.
func (s *Store) divide(ctx context.Context, st *statement, n int) ([][]byte, error) {
	column := st.table.fullKey[0]
	first := fieldOf(column)
	if typ, _ := first.columnType(); typ != "STRING" || n < 2 {
		return nil, nil
	}
	se, err := s.session()
	if err != nil {
		return nil, err
	}
	defer se.Close()
	queries := make(map[string]*query) // by their texts
	return keys.Divide(n, func(key []byte, before bool) (found []byte, err error) {
		b, sign, order := &builder{}, ">=", ""
		if before {
			sign, order = "<", " DESC"
		}
		fmt.Fprintf(b, "SELECT %s FROM %s", first.name, st.table.full)
		if key != nil {
			b.where("%s %s %s", first.name, sign, b.key("low", column, key))
		}
		fmt.Fprintf(b, " ORDER BY %s%s LIMIT 1", names(st.table.shardKey), order)
		q := b.done()
		if known := queries[q.text]; known != nil {
			q.prepared, q.plan = known.prepared, known.plan
		} else if err := s.prepare(ctx, &statement{Plan: st.Plan, queries: []*query{q}}); err != nil {
			return nil, err
		}
		queries[q.text] = q
		err = se.each(ctx, st, q, nil, func(row *types.MapValue) error {
			text, _ := row.GetString(first.name)
			found = []byte(text)
			return nil
		})
		return found, err
	})
}
