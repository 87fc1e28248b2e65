package cassandra

import (
	"bytes"
	"context"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas/cql"
)

// Describe implements drivers.Describer. Cassandra itself writes the statements, since 4.0.
func (s *Store) Describe(ctx context.Context, keyspace string) (string, error) {
	return plan.Call(s.Gate, "describe keyspace "+keyspace, func() (string, error) {
		there, err := readKeyspace(ctx, s.session, keyspace)
		if err == nil && len(there["keyspaces"]) == 0 {
			err = s.absent(ctx, keyspace)
		}
		if err != nil {
			return "", err
		}
		var b strings.Builder
		var in, kind, name, statement string
		err = scan(s.session.Query("DESCRIBE KEYSPACE "+cql.Quote(keyspace)).WithContext(ctx),
			func() { b.WriteString(statement + "\n\n") }, &in, &kind, &name, &statement)
		return b.String(), err
	})
}

// Prepared implements drivers.Describer. system.prepared_statements is a table of each node.
func (s *Store) Prepared(ctx context.Context, keyspace string) (string, error) {
	return plan.Call(s.Gate, "read prepared statements", func() (string, error) {
		var b strings.Builder
		var in, text string
		query := s.session.Query("SELECT logged_keyspace, query_string FROM system.prepared_statements").WithContext(ctx)
		err := scan(query, func() {
			if in == "" || in == keyspace {
				b.WriteString(strings.TrimRight(strings.Join(strings.Fields(text), " "), "; ") + ";\n")
			}
		}, &in, &text)
		return b.String(), readError(err)
	})
}

var _ drivers.TracedSession = (*tracedSession)(nil)

// tracedSession is a session whose requests Cassandra traces.
type tracedSession struct {
	*session
	traces
}

// traces has the ids of traces.
type traces struct {
	mu  sync.Mutex // requests of one call may run in parallel
	ids [][][]byte // those of each piece of work
}

// Traced implements drivers.Tracer.
func (s *Store) Traced() (drivers.TracedSession, error) {
	se, err := s.Session()
	if err != nil {
		return nil, err
	}
	t := &tracedSession{session: se.(*session)}
	t.tracer = t
	return t, nil
}

// Begin implements drivers.TracedSession.
func (t *traces) Begin() { t.ids = append(t.ids, nil) }

// Trace implements gocql.Tracer. It records the id of a request's trace.
func (t *traces) Trace(id []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last := len(t.ids) - 1; last >= 0 {
		t.ids[last] = append(t.ids[last], bytes.Clone(id))
	}
}

// tracesAtOnce is how many pieces of work have their traces read at the same time.
const tracesAtOnce = 16

// Work implements drivers.TracedSession. It reads the traces from the cluster.
func (t *tracedSession) Work(ctx context.Context) ([]drivers.Work, error) {
	return plan.Call(t.store.Gate, "read traces", func() ([]drivers.Work, error) {
		var all []drivers.Work
		err := plan.ReadEach(ctx, len(t.ids), tracesAtOnce, func(ctx context.Context, i int) ([]drivers.Work, error) {
			w, err := t.store.workOf(ctx, t.ids[i])
			return []drivers.Work{w}, err
		}, func(w drivers.Work) error {
			all = append(all, w)
			return nil
		})
		if err == nil {
			t.ids = nil
		}
		return all, err
	})
}

// workOf adds up the traces of one piece of work.
func (c *cluster) workOf(ctx context.Context, ids [][]byte) (drivers.Work, error) {
	w, nodes := drivers.Unreported, make(map[string]bool)
	w.Requests, w.Rows, w.Tombstones, w.Time = 0, 0, 0, 0
	for _, id := range ids {
		arrived, err := c.readTrace(ctx, id, &w, nodes)
		if !arrived || err != nil {
			return drivers.Unreported, err
		}
	}
	w.Nodes = int64(len(nodes))
	return w, nil
}

// traceAtMost is how long readTrace waits for a trace. Nodes write traces after the request,
// and drop them if they are overloaded.
const traceAtMost = 5 * time.Second

// readTrace adds the trace of one request to w, and the replicas that read or wrote to nodes. arrived is false if the
// trace was not there in time.
func (c *cluster) readTrace(
	ctx context.Context, id []byte, w *drivers.Work, nodes map[string]bool,
) (arrived bool, err error) {
	var request string
	var micros *int
	err = drivers.Within(ctx, traceAtMost, func(ctx context.Context) error {
		return poll(ctx, func() (bool, error) {
			err := c.session.Query("SELECT request, duration FROM system_traces.sessions WHERE session_id = ?", id).
				WithContext(ctx).Consistency(gocql.One).Scan(&request, &micros)
			if err == gocql.ErrNotFound {
				err = nil
			}
			return micros != nil, err
		})
	})
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case micros == nil:
		return false, nil
	case err != nil:
		return false, err
	case strings.HasPrefix(request, "Preparing"):
		return true, nil // not a request of ours: a node had to prepare the statement again
	}
	w.Requests++
	w.Time += time.Duration(*micros) * time.Microsecond
	query := c.session.Query("SELECT activity, source, source_port FROM system_traces.events WHERE session_id = ?", id)
	var activity string
	var source net.IP
	var port int
	return true, scan(query.WithContext(ctx).Consistency(gocql.One), func() {
		read := traceOfRead.FindStringSubmatch(activity)
		if read != nil || strings.HasPrefix(activity, traceOfWrite) {
			nodes[net.JoinHostPort(source.String(), strconv.Itoa(port))] = true
		}
		if read != nil {
			w.Rows += number(read[1])
			w.Tombstones += number(read[2])
		}
	}, &activity, &source, &port)
}

// traceOfRead and traceOfWrite are messages in a node's trace of a read (ReadCommand.java) and
// of a write (CommitLog.java).
var traceOfRead = regexp.MustCompile(`^Read (\d+) live rows and (\d+) tombstone`)

const traceOfWrite = "Appending to commitlog"

func number(digits string) int64 {
	n, _ := strconv.ParseInt(digits, 10, 64) // a number that is too large becomes the largest int64
	return n
}
