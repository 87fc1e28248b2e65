package cassandra

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// RunBatch implements plan.Runner.
func (s *session) RunBatch(ctx context.Context, st *statement, parts []drivers.Call) error {
	for i := range parts {
		part := st.parts[parts[i].Part]
		if err := s.store.fits(part, parts[i].Args); err != nil {
			return fmt.Errorf("part %s: %w", part.Pattern().Name, err)
		}
	}
	if len(parts) == 1 { // a batch of one is a write
		p := st.parts[parts[0].Part]
		r, err := s.RunWrite(ctx, p, parts[0].Args)
		if err == nil && !r.Applied {
			err = drivers.ErrNotApplied
		}
		return p.Named(err)
	}
	if err := s.ordered(st, parts); err != nil {
		return err
	}
	switch {
	case st.Pattern().Atomic > schemas.AtomicNone:
		return s.oneBatch(ctx, st, parts)
	case st.unlogged:
		return s.unloggedBatches(ctx, st, parts)
	}
	return s.separateWrites(ctx, st, parts)
}

// errOneTime stands before what is wrong with a batch.
var errOneTime = errors.New("nodes set the timestamps of a table with conditional writes, and all parts of a batch get one: " +
	"two writes of one row need two batches")

// ordered refuses parts whose order would be lost, since a node gives them one timestamp. With
// timestamps of this store's clock a later write of a node behind it would be lost.
func (s *session) ordered(st *statement, parts []drivers.Call) error {
	sequential := st.Pattern().Atomic == schemas.AtomicNone && !st.unlogged && st.Pattern().Parallel <= 1
	if len(st.stamped) == 0 || sequential {
		return nil
	}
	byNode := func(t *schemas.Table) bool { return slices.Contains(st.stamped, t) }
	if err := s.order.Counts(st.Pattern(), parts, byNode); err != nil {
		return fmt.Errorf("%w: %w", err, errOneTime)
	}
	return nil
}

// separateWrites sends the parts as separate requests, as many at a time as the pattern allows. The
// timestamps of those that are sent at the same time follow their order, in whichever order they arrive.
func (s *session) separateWrites(ctx context.Context, st *statement, parts []drivers.Call) error {
	slots, first := []*slot{&s.slot}, int64(0)
	if n := min(st.Pattern().Parallel, len(parts)); n > 1 {
		slots, first = s.parallelSlots(n), s.store.clock.next(int64(len(parts)))
	}
	applied, err := plan.Writes(len(parts), len(slots), func(i, on int) error {
		p := st.parts[parts[i].Part]
		time := p.timeOf(first, i)
		if len(slots) == 1 {
			time = s.store.time(p)
		}
		return p.Named(slots[on].write(ctx, p, parts[i].Args, time))
	})
	return plan.Partial(err, applied, len(parts))
}

// unloggedBatches sends the parts, in their order, in as few batches as the cluster takes.
func (s *session) unloggedBatches(ctx context.Context, st *statement, parts []drivers.Call) error {
	for done := 0; done < len(parts); {
		n := s.store.limits.together(st, parts[done:])
		var err error
		if p := st.parts[parts[done].Part]; n == 1 {
			err = p.Named(s.write(ctx, p, parts[done].Args, s.store.time(p)))
		} else {
			err = s.oneBatch(ctx, st, parts[done:done+n])
		}
		if err != nil {
			return plan.Partial(err, done, len(parts))
		}
		done += n
	}
	return nil
}

// together returns how many of the parts, from the first on, one batch without a log holds. It
// is within the cluster's limit. If the parts are in several partitions, puts and the deletes
// behind them are in batches of their own: nodes apply each partition by itself, and a delete
// that is applied without the put before it may lose what was to move.
func (l limits) together(st *statement, parts []drivers.Call) int {
	alone := true
	for i := 1; i < len(parts) && alone; i++ {
		alone = samePartition(st, &parts[i-1], &parts[i])
	}
	size, most := int64(partitionOverhead), l.mutation
	for i := range parts {
		p := st.parts[parts[i].Part]
		size += p.sizeOf(parts[i].Args)
		if i == 0 {
			continue
		}
		if !samePartition(st, &parts[i-1], &parts[i]) {
			size, most = size+partitionOverhead, l.batch
		}
		first := st.parts[parts[0].Part].Pattern().Kind
		splits := !alone && (p.Pattern().Kind == schemas.Delete) != (first == schemas.Delete)
		if splits || size > most || i == gocql.BatchSizeMaximum {
			return i
		}
	}
	return len(parts)
}

// samePartition reports whether two parts of a batch have the same partition key.
func samePartition(st *statement, a, b *drivers.Call) bool {
	n := len(st.parts[a.Part].table.Partition)
	if n != len(st.parts[b.Part].table.Partition) {
		return false
	}
	for k := range n {
		if compare(a.Args[k], b.Args[k]) != 0 {
			return false
		}
	}
	return true
}

var errSeveralPartitions = errors.New(
	"its counters are in several partitions, but Cassandra can only change those of one partition together")

var errSeveralConditions = errors.New(
	"it has conditions and writes to several partitions, but Cassandra checks only those of one partition together")

// executeIf sends a batch with conditions. If they hold, the answer is one column. Otherwise rows of the
// partition follow, and gocql fails to scan them, which leaves applied false.
func (s *session) executeIf(request *gocql.Batch) (applied bool, err error) {
	applied, it, err := s.store.session.ExecuteBatchCAS(request)
	if it != nil {
		_ = it.Close()
	}
	return applied, err
}

// oneBatch sends the parts as one batch. A batch within one partition is one
// mutation: it is atomic and isolated, needs no batch log, and may be as large as
// the largest mutation. A batch over several partitions is first logged on two more
// nodes, and its size limit is lower. If the statement is unlogged, it is not logged,
// and an error leaves open which of the partitions were written.
func (s *session) oneBatch(ctx context.Context, st *statement, parts []drivers.Call) error {
	b := &s.batch
	f := b.fill(s, st, parts)
	most, alone, kind := s.store.limits.mutation, f.partitions == 1, plainWrite
	switch {
	case st.counter && !alone:
		return errSeveralPartitions
	case st.Pattern().Conditional() && !alone:
		return errSeveralConditions
	case st.Pattern().Conditional():
		b.request.Type, kind = gocql.UnloggedBatch, paxosWrite
	case st.counter:
		b.request.Type, kind = gocql.CounterBatch, preparedWrite
	case alone:
		b.request.Type = gocql.UnloggedBatch
	case st.unlogged:
		b.request.Type, most = gocql.UnloggedBatch, s.store.limits.batch
	default:
		b.request.Type, kind = gocql.LoggedBatch, preparedWrite
		most = s.store.limits.batch
	}
	if f.size > most {
		return fmt.Errorf("%d bytes, but the cluster accepts at most %d: %w", f.size, most, drivers.ErrTooLarge)
	}
	if len(parts) > gocql.BatchSizeMaximum {
		return fmt.Errorf("%d parts, but a batch accepts at most %d: %w",
			len(parts), gocql.BatchSizeMaximum, drivers.ErrTooLarge)
	}
	s.retry.begin(kind)
	b.request.RetryPolicy(nil)
	if f.idempotent && s.retry.most > 0 {
		b.request.RetryPolicy(&s.retry)
	}
	request := b.request
	if ctx.Done() != nil {
		request = request.WithContext(ctx)
	}
	s.requests++
	applied, err := true, error(nil)
	if kind != paxosWrite {
		err = s.store.session.ExecuteBatch(request)
	} else {
		applied, err = s.executeIf(request)
	}
	if b.done(); err == nil && !applied {
		return drivers.ErrNotApplied
	}
	err = writeError(err, kind, s.retry.uncertain)
	if err != nil && st.unlogged && !alone && !errors.Is(err, drivers.ErrUnknown) {
		err = fmt.Errorf("%w: some partitions of a batch that is not logged: %w", drivers.ErrUnknown, err)
	}
	return err
}

// filled describes the entries of a batch request.
type filled struct {
	size       int64
	partitions int // 1 if all entries are in one partition; more if not
	idempotent bool
}

// fill turns the parts into the entries of the request.
func (b *batch) fill(s *session, st *statement, parts []drivers.Call) filled {
	if b.request == nil {
		b.request = s.store.session.NewBatch(gocql.LoggedBatch)
		b.request.SetConsistency(s.store.settings.consistency)
		if s.tracer != nil {
			b.request.Trace(s.tracer)
		}
	}
	n := 0
	for i := range parts {
		n += len(st.parts[parts[i].Part].put(parts[i].Args, true).binds)
	}
	if cap(b.bindValues) < n {
		b.bindValues, b.vals = make([]bindValue, n), make([]any, n)
	}
	b.bindValues, b.vals = b.bindValues[:n], b.vals[:n]
	f := filled{idempotent: true}
	time := s.store.clock.next(int64(len(parts)))
	entries, end := b.request.Entries[:0], 0
	for i := range parts {
		p, args := st.parts[parts[i].Part], parts[i].Args
		q := p.put(args, true)
		begin := end
		for _, from := range q.binds {
			b.vals[end] = &b.bindValues[end]
			switch {
			case from != bindTime:
				b.bindValues[end].v = args[from]
			case p.table.conditional:
				b.vals[end] = gocql.UnsetValue // the node's own time
			default:
				b.bindValues[end].v = drivers.Bigint(time + int64(i))
			}
			end++
		}
		for _, i := range q.optional {
			if absent(&b.bindValues[begin+i].v) {
				b.vals[begin+i] = gocql.UnsetValue
			}
		}
		repeatable := q.repeatable(args)
		entries = append(entries, gocql.BatchEntry{Stmt: q.text, Args: b.vals[begin:end:end], Idempotent: repeatable})
		f.idempotent = f.idempotent && repeatable
		f.size += p.sizeOf(args)
		b.key, b.before = q.partition(b.before[:0], b.bindValues[begin:end]), b.key
		if i == 0 || !bytes.Equal(b.key, b.before) {
			f.partitions++
			f.size += partitionOverhead
		}
	}
	b.request.Entries = entries
	return f
}

// done drops the references to the caller's values.
func (b *batch) done() {
	clear(b.request.Entries)
	for i := range b.bindValues {
		s := &b.bindValues[i]
		s.v = drivers.Value{}
		if cap(s.buf) > maxKeptBytes {
			s.buf = nil
		}
	}
}

// clock makes the timestamps of writes, in microseconds since 1970. No two are
// equal, so writes take effect in the order in which this store got them, whichever
// node they go through. With equal timestamps Cassandra would prefer a delete over
// a put, and the larger of two values.
//
// Tables with conditional writes are the exception: see [statement.setsTimestamp].
type clock struct{ last atomic.Int64 }

// next returns the first of n consecutive timestamps.
func (c *clock) next(n int64) int64 {
	for {
		last := c.last.Load()
		t := max(time.Now().UnixMicro(), last+1)
		if c.last.CompareAndSwap(last, t+n-1) {
			return t
		}
	}
}
