package cassandra

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// RunWrite implements plan.Runner.
func (s *session) RunWrite(ctx context.Context, st *statement, args []drivers.Value) (drivers.Result, error) {
	if err := s.store.fits(st, args); err != nil {
		return drivers.Result{}, err
	}
	if st.Pattern().Conditional() {
		return s.writeIf(ctx, st, args)
	}
	return drivers.Result{Applied: true}, s.write(ctx, st, args, s.store.time(st))
}

// fits checks the size of a write before it is sent.
func (s *Store) fits(st *statement, args []drivers.Value) error {
	if n, most := st.sizeOf(args)+partitionOverhead, s.limits.mutation; n > most {
		return fmt.Errorf("%d bytes, but the cluster accepts at most %d: %w", n, most, drivers.ErrTooLarge)
	}
	return nil
}

// sizeOf returns the size of a write without its partition's overhead. It is at
// least what Cassandra will count.
func (st *statement) sizeOf(args []drivers.Value) int64 {
	n := int64(rowOverhead)
	for i := range args {
		n += int64(args[i].Size())
		if i >= st.keys {
			n += valueOverhead * int64(1+len(args[i].Elems()))
		}
	}
	return n
}

// time returns the timestamp of a write, or 0 if the node sets it.
func (s *Store) time(st *statement) int64 {
	if !st.setsTimestamp() {
		return 0
	}
	return s.clock.next(1)
}

func (s *session) write(ctx context.Context, st *statement, args []drivers.Value, time int64) error {
	uncertain, err := s.send(ctx, st.put(args)[single], &inputs{args: args, time: time}).close()
	_, kind, _ := st.batchType(true) // as of a batch of it alone
	return writeError(err, kind, uncertain)
}

// writeIf sends a conditional write. The answer is the column [applied]; if it was not applied and there is a row, the
// present values of the compared columns follow.
func (s *session) writeIf(ctx context.Context, st *statement, args []drivers.Value) (r drivers.Result, err error) {
	request := s.send(ctx, st.writes[0][single], &inputs{args: args})
	columns, compared := request.it.Columns(), st.Pattern().If
	present, answer := make([]resultValue, len(compared)), make([]any, len(columns)) // gocql skips a nil target
	for i := range columns {
		at := slices.IndexFunc(compared, func(c *schemas.Column) bool { return c.Name == columns[i].Name })
		switch {
		case columns[i].Name == "[applied]":
			answer[i] = &r.Applied
		case at >= 0:
			present[at] = resultValue{typ: compared[at].Type, tolerant: &s.Tolerant}
			answer[i] = &present[at]
		}
	}
	if !request.it.Scan(answer...) {
		err = errors.New("the answer to a conditional write is empty")
	}
	if _, cerr := request.close(); cerr != nil {
		err = cerr
	}
	if err == nil && !r.Applied && len(columns) > 1 {
		for _, p := range present {
			r.Row = append(r.Row, p.v)
		}
	}
	return r, writeError(err, paxosWrite, false)
}

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
	// With one timestamp of a node for all parts their order would be lost. With timestamps of this store's clock a later
	// write of a node after it would be lost.
	sequential := st.Pattern().Atomic == schemas.AtomicNone && !st.unlogged && st.Pattern().Parallel <= 1
	if len(st.stamped) > 0 && !sequential {
		byNode := func(t *schemas.Table) bool { return slices.Contains(st.stamped, t) }
		if err := plan.OrderCounts(st.Pattern(), parts, byNode); err != nil {
			return fmt.Errorf("%w: %w", err, errOneTime)
		}
	}
	switch {
	case st.Pattern().Atomic > schemas.AtomicNone:
		return s.oneBatch(ctx, st, parts)
	case st.unlogged:
		return s.unloggedBatches(ctx, st, parts)
	}
	return s.separateWrites(ctx, st, parts)
}

// errOneTime begins the errors of a batch.
var errOneTime = errors.New("nodes set the timestamps of a table with conditional writes, and all parts of a batch get one: " +
	"two writes of one row need two batches")

// separateWrites sends the parts as separate requests, as many at a time as the pattern allows. The
// timestamps of those that are sent at the same time follow their order, in whichever order they arrive.
func (s *session) separateWrites(ctx context.Context, st *statement, parts []drivers.Call) error {
	width, first := min(st.Pattern().Parallel, len(parts)), int64(0)
	if width > 1 {
		first = s.store.clock.next(int64(len(parts)))
	}
	applied, err := plan.Writes(len(parts), width, func(i int) error {
		p := st.parts[parts[i].Part]
		time := p.timeOf(first, i)
		if width <= 1 {
			time = s.store.time(p)
		}
		return p.Named(s.write(ctx, p, parts[i].Args, time))
	})
	return plan.PartsApplied(err, applied, len(parts))
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
			return plan.PartsApplied(err, done, len(parts))
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
	n, m := len(st.parts[a.Part].table.Partition), len(st.parts[b.Part].table.Partition)
	return slices.EqualFunc(a.Args[:n], b.Args[:m], func(x, y drivers.Value) bool { return compare(x, y) == 0 })
}

var errSeveralPartitions = errors.New(
	"its counters are in several partitions, but Cassandra can only change those of one partition together")

var errSeveralConditions = errors.New(
	"it has conditions and writes to several partitions, but Cassandra checks only those of one partition together")

// oneBatch sends the parts as one batch. A batch within one partition is one
// mutation: it is atomic and isolated, needs no batch log, and may be as large as
// the largest mutation. A batch over several partitions is first logged on two more
// nodes, and its size limit is lower. If the statement is unlogged, it is not logged,
// and an error leaves open which of the partitions were written.
func (s *session) oneBatch(ctx context.Context, st *statement, parts []drivers.Call) error {
	request := s.store.session.NewBatch(gocql.LoggedBatch)
	f := s.fill(request, st, parts)
	most, alone := s.store.limits.mutation, f.partitions == 1
	switch {
	case alone:
	case st.counter:
		return errSeveralPartitions
	case st.Pattern().Conditional():
		return errSeveralConditions
	default:
		most = s.store.limits.batch
	}
	typ, kind, _ := st.batchType(alone)
	request.Type = typ
	if f.size > most {
		return fmt.Errorf("%d bytes, but the cluster accepts at most %d: %w", f.size, most, drivers.ErrTooLarge)
	}
	if len(parts) > gocql.BatchSizeMaximum {
		return fmt.Errorf("%d parts, but a batch accepts at most %d: %w",
			len(parts), gocql.BatchSizeMaximum, drivers.ErrTooLarge)
	}
	retry := s.retries(kind)
	if f.idempotent && retry.most > 0 {
		request.RetryPolicy(&retry)
	}
	if ctx.Done() != nil {
		request = request.WithContext(ctx)
	}
	s.Count(oneRequest)
	applied, err := true, error(nil)
	if kind != paxosWrite {
		err = s.store.session.ExecuteBatch(request)
	} else {
		// If the conditions hold, the answer is one column. Otherwise rows of the partition follow, and gocql fails to
		// scan them, which leaves applied false.
		var it *gocql.Iter
		if applied, it, err = s.store.session.ExecuteBatchCAS(request); it != nil {
			_ = it.Close()
		}
	}
	if err == nil && !applied {
		return drivers.ErrNotApplied
	}
	err = writeError(err, kind, retry.uncertain)
	if err != nil && st.unlogged && !alone && !errors.Is(err, drivers.ErrUnknown) {
		err = fmt.Errorf("%w: some partitions of a batch that is not logged: %w", drivers.ErrUnknown, err)
	}
	return err
}

// batchType returns how the parts are sent as one batch, the kind of write that this is, and how CQL begins it. alone:
// they are in one partition.
func (st *statement) batchType(alone bool) (typ gocql.BatchType, kind writeKind, cql string) {
	switch {
	case st.Pattern().Conditional():
		return gocql.UnloggedBatch, paxosWrite, "BEGIN UNLOGGED BATCH  -- a lightweight transaction (Paxos) of one partition"
	case st.counter:
		return gocql.CounterBatch, preparedWrite, "BEGIN COUNTER BATCH  -- of one partition"
	case alone || st.unlogged:
		return gocql.UnloggedBatch, plainWrite, "BEGIN UNLOGGED BATCH"
	}
	return gocql.LoggedBatch, preparedWrite, "BEGIN BATCH  -- UNLOGGED if all parts are in one partition"
}

// filled describes the entries of a batch request.
type filled struct {
	size       int64
	partitions int // 1 if all entries are in one partition; more if not
	idempotent bool
}

// fill turns the parts into the entries of the request.
func (s *session) fill(request *gocql.Batch, st *statement, parts []drivers.Call) filled {
	f := filled{idempotent: true}
	request.SetConsistency(s.store.settings.consistency)
	if s.tracer != nil {
		request.Trace(s.tracer)
	}
	time := s.store.clock.next(int64(len(parts)))
	var key, before []byte // the partition keys of this entry and of the last
	for i := range parts {
		p, args := st.parts[parts[i].Part], parts[i].Args
		q := p.put(args)[inBatch]
		values, given := q.bind(nil, nil, &inputs{args: args, time: time + int64(i)})
		if at := slices.Index(q.binds, bindTime); at >= 0 && p.table.Conditional {
			given[at] = gocql.UnsetValue // the node's own time
		}
		repeatable := q.repeatable(args)
		request.Entries = append(request.Entries, gocql.BatchEntry{Stmt: q.text, Args: given, Idempotent: repeatable})
		f.idempotent = f.idempotent && repeatable
		f.size += p.sizeOf(args)
		key, before = q.partition(before[:0], values), key
		if i == 0 || !bytes.Equal(key, before) {
			f.partitions++
			f.size += partitionOverhead
		}
	}
	return f
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

// writeKind is a kind of write, by what Cassandra may have done with it when it refuses it.
type writeKind uint8

const (
	// plainWrite is refused before a request to any replica.
	plainWrite writeKind = iota
	// preparedWrite is a logged batch or an addition to a counter. When the coordinator
	// refuses it as overloaded, the batch log may have the batch, or one replica may have
	// counted (StorageProxy.mutateAtomically, counterWriteTask).
	preparedWrite
	// paxosWrite is a conditional write. Replicas may have accepted it in one round of
	// Paxos when the next round is refused (StorageProxy.doPaxos, Paxos.cas).
	paxosWrite
	noWrite // no kind
)

// refusals are the codes with which a cluster refuses a request. Writes of the kind open, and of those after it, may
// have been applied all the same. away: too few nodes answered, and others may.
var refusals = map[int]struct {
	open writeKind
	away bool
}{
	gocql.ErrCodeUnavailable:   {paxosWrite, true},
	gocql.ErrCodeOverloaded:    {preparedWrite, true},
	gocql.ErrCodeBootstrapping: {noWrite, true},
	gocql.ErrCodeInvalid:       {noWrite, false},
	gocql.ErrCodeProtocol:      {noWrite, false},
	gocql.ErrCodeCredentials:   {noWrite, false},
	gocql.ErrCodeUnauthorized:  {noWrite, false},
	gocql.ErrCodeSyntax:        {noWrite, false},
	gocql.ErrCodeConfig:        {noWrite, false},
	gocql.ErrCodeAlreadyExists: {noWrite, false},
	gocql.ErrCodeUnprepared:    {noWrite, false},
}

// unsent are the errors of requests that were not sent.
var unsent = []error{
	gocql.ErrNoConnections, gocql.ErrNoStreams, gocql.ErrSessionClosed, gocql.ErrUnavailable, gocql.ErrTooManyStmts,
	drivers.ErrClosed,
}

// isAny reports whether an error is one of several.
func isAny(err error, all []error) bool {
	return slices.ContainsFunc(all, func(e error) bool { return errors.Is(err, e) })
}

// classify says what became of a write that was not acknowledged: nil if it was not applied, drivers.ErrTooLarge if it
// was refused for its size, or drivers.ErrUnknown unless the error proves a refusal: long after a time-out the cluster
// may still replay a batch log, deliver a hint or finish a Paxos round.
func classify(err error, kind writeKind) error {
	var refused gocql.RequestError
	if !errors.As(err, &refused) {
		if isAny(err, unsent) {
			return nil
		}
		return drivers.ErrUnknown
	}
	code := refused.Code()
	switch r, known := refusals[code]; {
	case !known || kind >= r.open:
		return drivers.ErrUnknown
	// The protocol has no error code for a size limit. The driver checks the limits of clusters that show them before
	// it sends anything.
	case (code == gocql.ErrCodeInvalid || code == gocql.ErrCodeProtocol) && containsAny(refused.Message(),
		"Batch too large", "oversized mutation", "is longer than maximum", "too big", "Mutation of"):
		return drivers.ErrTooLarge
	}
	return nil
}

func containsAny(text string, phrases ...string) bool {
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(text, phrase) })
}

// writeError wraps the error of a write that was sent. uncertain is true if an
// earlier attempt may have been applied; then the last refusal proves nothing.
func writeError(err error, kind writeKind, uncertain bool) error {
	if err == nil {
		return nil
	}
	what := classify(err, kind)
	switch {
	case errors.Is(err, gocql.ErrSessionClosed):
		what = drivers.ErrClosed
	case uncertain:
		what = drivers.ErrUnknown
	case what == nil:
		return err
	}
	return fmt.Errorf("%w: %w", what, err)
}

// away are the errors of a read for which too few nodes answered.
var away = []error{gocql.ErrNoConnections, gocql.ErrNoStreams, gocql.ErrTimeoutNoResponse, gocql.ErrConnectionClosed}

// readError wraps the error of a read, if there is one. The time of a read includes it.
func readError(err error) error {
	if err == nil {
		return nil
	}
	var refused gocql.RequestError
	what := error(nil)
	switch {
	case errors.Is(err, gocql.ErrSessionClosed):
		what = drivers.ErrClosed
	case isAny(err, away),
		errors.As(err, &refused) && (refusals[refused.Code()].away || refused.Code() == gocql.ErrCodeReadTimeout):
		what = drivers.ErrUnreachable
	case refused != nil && classify(err, plainWrite) == drivers.ErrTooLarge: // the key
		what = drivers.ErrTooLarge
	default:
		return err
	}
	return fmt.Errorf("%w: %w", what, err)
}
