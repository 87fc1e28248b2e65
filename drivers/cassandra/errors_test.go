package cassandra

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/schemas/cql"
)

// refusal is an error of the protocol.
type refusal struct {
	code int
	text string
}

func (r refusal) Code() int       { return r.code }
func (r refusal) Message() string { return r.text }
func (r refusal) Error() string   { return r.text }

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		err  error
		want error
	}{
		{gocql.ErrNoConnections, nil},
		{gocql.ErrNoStreams, nil},
		{fmt.Errorf("wrapped: %w", gocql.ErrSessionClosed), nil},
		{refusal{gocql.ErrCodeUnavailable, "Cannot achieve consistency level QUORUM"}, nil},
		{refusal{gocql.ErrCodeOverloaded, "overloaded"}, nil},
		{refusal{gocql.ErrCodeBootstrapping, "bootstrapping"}, nil},
		{refusal{gocql.ErrCodeInvalid, "Undefined column name"}, nil},
		{refusal{gocql.ErrCodeUnauthorized, "no"}, nil},
		{refusal{gocql.ErrCodeInvalid, "Batch too large"}, drivers.ErrTooLarge},
		{refusal{gocql.ErrCodeInvalid, "Encountered an oversized mutation (17000000/16777216)"}, drivers.ErrTooLarge},
		{refusal{gocql.ErrCodeWriteTimeout, "timed out"}, drivers.ErrUnknown},
		{refusal{gocql.ErrCodeWriteFailure, "failed"}, drivers.ErrUnknown},
		{refusal{gocql.ErrCodeCASWriteUnknown, "unknown"}, drivers.ErrUnknown},
		{refusal{gocql.ErrCodeReadTimeout, "a Paxos round timed out in its read"}, drivers.ErrUnknown},
		{refusal{gocql.ErrCodeServer, "java.lang.RuntimeException"}, drivers.ErrUnknown},
		{gocql.ErrTimeoutNoResponse, drivers.ErrUnknown},
		{gocql.ErrConnectionClosed, drivers.ErrUnknown},
		{io.EOF, drivers.ErrUnknown},
		{&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, drivers.ErrUnknown},
		{context.Canceled, drivers.ErrUnknown},
		{context.DeadlineExceeded, drivers.ErrUnknown},
	} {
		if got := classify(c.err, plainWrite); got != c.want {
			t.Errorf("classify(%v) = %d, want %d", c.err, got, c.want)
		}
		err := writeError(c.err, plainWrite, false)
		if errors.Is(err, drivers.ErrUnknown) != (c.want == drivers.ErrUnknown) || errors.Is(err, drivers.ErrTooLarge) != (c.want == drivers.ErrTooLarge) || !errors.Is(err, c.err) {
			t.Errorf("writeError(%v) = %v", c.err, err)
		}
	}
	if err := writeError(refusal{gocql.ErrCodeUnavailable, "no"}, plainWrite, true); !errors.Is(err, drivers.ErrUnknown) {
		t.Errorf("a refusal after a lost attempt: %v, want unknown", err)
	}
	if err := writeError(gocql.ErrSessionClosed, plainWrite, false); !errors.Is(err, drivers.ErrClosed) {
		t.Errorf("a closed session: %v, want ErrClosed", err)
	}
	if err := writeError(nil, paxosWrite, true); err != nil {
		t.Errorf("no error became %v", err)
	}
}

// TestReadError: an error of a read is about the data unless nodes did not answer, or about the key.
func TestReadError(t *testing.T) {
	for _, c := range []struct{ err, want error }{
		{gocql.ErrSessionClosed, drivers.ErrClosed},
		{gocql.ErrNoConnections, drivers.ErrUnreachable},
		{gocql.ErrTimeoutNoResponse, drivers.ErrUnreachable},
		{fmt.Errorf("wrapped: %w", gocql.ErrConnectionClosed), drivers.ErrUnreachable},
		{refusal{gocql.ErrCodeUnavailable, "Cannot achieve consistency level QUORUM"}, drivers.ErrUnreachable},
		{refusal{gocql.ErrCodeReadTimeout, "timed out"}, drivers.ErrUnreachable},
		{refusal{gocql.ErrCodeReadFailure, "failed"}, nil},
		{refusal{gocql.ErrCodeInvalid, "Key length of 70000 is longer than maximum of 65535"}, drivers.ErrTooLarge},
		{refusal{gocql.ErrCodeInvalid, "Key may not be empty"}, nil},
		{errors.New("unmarshal"), nil},
	} {
		err := readError(c.err)
		outage := c.want == drivers.ErrClosed || c.want == drivers.ErrUnreachable
		if !errors.Is(err, c.err) || c.want != nil && !errors.Is(err, c.want) || drivers.IsOutage(err) != outage ||
			c.want == nil && err != c.err {
			t.Errorf("readError(%v) = %v, want %v", c.err, err, c.want)
		}
	}
	allocations := testing.AllocsPerRun(10, func() { // each read calls it before its time is taken
		if err := readError(nil); err != nil {
			t.Errorf("no error became %v", err)
		}
	})
	if allocations > 0 {
		t.Errorf("a read without an error allocates %v times", allocations)
	}
}

// TestRefusalsLeaveOpen: a node may refuse a write that has begun.
func TestRefusalsLeaveOpen(t *testing.T) {
	unavailable, overloaded := refusal{gocql.ErrCodeUnavailable, "unavailable"}, refusal{gocql.ErrCodeOverloaded, "overloaded"}
	for _, c := range []struct {
		err  error
		kind writeKind
		want error
	}{
		{unavailable, plainWrite, nil},
		{overloaded, plainWrite, nil},
		{unavailable, preparedWrite, nil}, // before the batch log is written
		{overloaded, preparedWrite, drivers.ErrUnknown},
		{unavailable, paxosWrite, drivers.ErrUnknown},
		{overloaded, paxosWrite, drivers.ErrUnknown},
		{refusal{gocql.ErrCodeUnauthorized, "no"}, paxosWrite, nil},
	} {
		if got := classify(c.err, c.kind); got != c.want {
			t.Errorf("%v of a write of kind %d: %d, want %d", c.err, c.kind, got, c.want)
		}
		if err := writeError(c.err, c.kind, false); errors.Is(err, drivers.ErrUnknown) != (c.want == drivers.ErrUnknown) {
			t.Errorf("%v of a write of kind %d: %v", c.err, c.kind, err)
		}
	}
}

// TestUnavailable uses a keyspace with more replicas than there are nodes. A
// write that Cassandra then refuses was not applied, but a conditional write may have been, and so may
// some partitions of a batch that is not logged.
func TestUnavailable(t *testing.T) {
	st := openLive(t, nil)
	r := run(t, st, schemaOf(t, "away", `
tables:
  rows: {partition: [p text], columns: {a: text}, hints: {cassandra: {batches: unlogged}}}
patterns:
  put: {put: rows}
  swap: {put-if: rows, columns: a, if: a}
  puts: {batch: [{run: put, each: x}], atomic: none}
`))
	keyspace, err := ddl.Keyspace(st.Namespace, r.schema.Name)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.alter(t.Context(), fmt.Sprintf("ALTER KEYSPACE %s WITH replication = {'class': 'NetworkTopologyStrategy', %s: %d}",
		cql.Quote(keyspace), cql.Literal(st.datacenter), 2*st.nodes.count(st.datacenter)+1)); err != nil {
		t.Fatal(err)
	}
	var paxos string
	if err := st.cluster.session.Query(`SELECT value FROM system_views.settings WHERE name = 'paxos_variant'`).Scan(&paxos); err != nil {
		t.Fatal(err)
	}
	text := drivers.Text("x")
	for pattern, args := range map[string][]drivers.Value{"put": {text, text}, "swap": {text, text, text}} {
		_, err := r.session.Write(t.Context(), r.stmt(pattern), args)
		if pattern == "swap" && err == nil && paxos == "v2" {
			continue // it needs a majority of the existing replicas, not of the configured ones
		}
		if err == nil || errors.Is(err, drivers.ErrUnknown) != (pattern == "swap") {
			t.Errorf("%s that too few replicas can take: %v; only a conditional write may have been applied", pattern, err)
		}
	}
	for _, partitions := range []int{1, 2} {
		parts := []drivers.Call{{Args: []drivers.Value{text, text}}, {Args: []drivers.Value{text, text}}}
		if partitions == 2 {
			parts[1].Args = []drivers.Value{drivers.Text("y"), text}
		}
		err := r.session.Batch(t.Context(), r.stmt("puts"), parts)
		if err == nil || errors.Is(err, drivers.ErrUnknown) != (partitions == 2) {
			t.Errorf("a batch in %d partitions, not logged, that too few replicas can take: %v", partitions, err)
		}
	}
}

// queried is a request as a policy sees it.
type queried struct{ ctx context.Context }

func (queried) Attempts() int                     { return 0 }
func (queried) SetConsistency(gocql.Consistency)  {}
func (queried) GetConsistency() gocql.Consistency { return gocql.Quorum }
func (a queried) Context() context.Context        { return a.ctx }

// attempts runs a request that fails with the errors, one attempt after another,
// as gocql does, and returns which of them was the last.
func attempts(ctx context.Context, r *retries, kind writeKind, errs ...error) (kinds []gocql.RetryType, last error) {
	r.left, r.kind, r.uncertain = r.most, kind, false
	for _, err := range errs {
		last = err
		if err == nil || !r.Attempt(queried{ctx}) {
			return kinds, last
		}
		kind := r.GetRetryType(err)
		kinds = append(kinds, kind)
		if kind == gocql.Rethrow {
			return kinds, last
		}
	}
	return kinds, last
}

func TestRetries(t *testing.T) {
	lost, away := gocql.ErrConnectionClosed, refusal{gocql.ErrCodeUnavailable, "unavailable"}
	r := &retries{most: 2, meter: new(drivers.Meter)}
	began := time.Now()
	if _, last := attempts(context.Background(), r, plainWrite, lost, nil); writeError(last, r.kind, r.uncertain) != nil {
		t.Errorf("an attempt that was lost and one that succeeded: %v", last)
	}
	if kinds, last := attempts(context.Background(), r, plainWrite, lost, lost, lost, nil); !errors.Is(writeError(last, r.kind, r.uncertain), drivers.ErrUnknown) || len(kinds) != 2 {
		t.Errorf("three attempts that were lost: %v after %d retries, want unknown after 2", last, len(kinds))
	}
	if took := time.Since(began); took < firstPause+firstPause+2*firstPause {
		t.Errorf("requests whose connection was lost were sent again after %v", took)
	}
	if _, last := attempts(context.Background(), r, plainWrite, lost, away, away); !errors.Is(writeError(last, r.kind, r.uncertain), drivers.ErrUnknown) {
		t.Errorf("lost, then turned away: %v, want unknown: the first may have been applied", last)
	}
	if _, last := attempts(context.Background(), r, plainWrite, away, away, away); errors.Is(writeError(last, r.kind, r.uncertain), drivers.ErrUnknown) {
		t.Errorf("turned away each time: %v, want a plain error", last)
	}
	if _, last := attempts(context.Background(), r, preparedWrite, refusal{gocql.ErrCodeOverloaded, "overloaded"}, away); !errors.Is(writeError(last, r.kind, r.uncertain), drivers.ErrUnknown) {
		t.Errorf("a logged batch, overloaded, then turned away: %v, want unknown: the batch log may have it", last)
	}
	for _, final := range []error{gocql.ErrTimeoutNoResponse, refusal{gocql.ErrCodeWriteTimeout, "timed out"}, refusal{gocql.ErrCodeInvalid, "no"}, context.Canceled} {
		if kinds, _ := attempts(context.Background(), r, plainWrite, final, nil); len(kinds) != 1 || kinds[0] != gocql.Rethrow {
			t.Errorf("%v was followed by %v, want no retry", final, kinds)
		}
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if kinds, _ := attempts(ended, r, plainWrite, lost, nil); len(kinds) != 0 {
		t.Errorf("a request whose context has ended was sent again")
	}
	slow := &gocql.RequestErrReadTimeout{Received: 2, BlockFor: 2}
	if got := r.GetRetryType(slow); got != gocql.Retry {
		t.Errorf("enough replicas answered, none with the data: %v, want another attempt", got)
	}
	if got := r.GetRetryType(&gocql.RequestErrReadTimeout{Received: 1, BlockFor: 2}); got != gocql.Rethrow {
		t.Errorf("too few replicas answered: %v, want none", got)
	}
}
