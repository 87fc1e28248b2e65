package cassandra

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// Parameters get the values of rows that one short scan reads: some of each partition, of several
// partitions.
const (
	sampledRows    = 25
	rowsInOne      = 5   // of a partition
	pageOfRows     = 100 // rows of the page of a read
	limitAsked     = 25  // the value of a parameter of LIMIT
	elementsAsked  = 3   // of a list for IN
	tokenParameter = "partition key token"
)

// Query implements drivers.Querier. In CQL only SELECT reads, and a request is one statement.
func (s *Store) Query(ctx context.Context, q drivers.Question) (all []drivers.Queried, err error) {
	err = s.Do(func() (err error) {
		all, err = s.query(ctx, q)
		return err
	})
	return all, err
}

func (s *Store) query(ctx context.Context, q drivers.Question) (all []drivers.Queried, err error) {
	read := cql.Parse("", q.Text).Statements
	if len(read) != 1 || read[0].Kind != cql.Select {
		return nil, fmt.Errorf("%w: it is no SELECT", drivers.ErrReadOnly)
	}
	parameters, err := s.parametersOf(ctx, q.Text, read[0].Parameters())
	if err != nil {
		return nil, err
	}
	sample, err := s.sample(ctx, read[0].Table, q.Partition, parameters)
	if err != nil {
		return nil, err
	}
	tracer := new(traces)
	for _, row := range sample.starts(q.Most) {
		values := make([]any, len(parameters))
		var words []string
		for i, p := range parameters {
			raw := p.value(sample, row)
			values[i] = rawValue(raw)
			words = append(words, p.name+"="+p.text(raw))
		}
		tracer.Begin()
		begin := time.Now()
		request := s.session.Query(q.Text, values...).Consistency(s.settings.consistency).WithContext(ctx).Trace(tracer)
		it := request.PageSize(pageOfRows).PageState(nil).Prefetch(0).Iter() // a page, and no further one
		one := drivers.Queried{
			Work: drivers.Unreported, Args: strings.Join(words, " "), Took: time.Since(begin),
			Returned: int64(it.NumRows()), More: len(it.PageState()) > 0,
		}
		if one.Err = readError(it.Close()); one.Err == nil {
			one.Work, one.Err = s.workOf(ctx, tracer.ids[len(all)])
		}
		one.Err = s.login.Hide(one.Err)
		all = append(all, one)
		if ctx.Err() != nil {
			return all, ctx.Err()
		}
	}
	return all, nil
}

// rawValue is a value as the protocol writes it.
type rawValue []byte

// MarshalCQL implements gocql.Marshaler.
func (v rawValue) MarshalCQL(gocql.TypeInfo) ([]byte, error) { return v, nil }

// UnmarshalCQL implements gocql.Unmarshaler.
func (v *rawValue) UnmarshalCQL(_ gocql.TypeInfo, data []byte) error {
	*v = slices.Clone(data)
	return nil
}

// parameter is a bind marker of a statement, as the cluster names it: after the column that it is
// compared with.
type parameter struct {
	name   string
	typ    gocql.TypeInfo
	column string // whose values it takes; "" if it takes none
	in     string // "in", "value" or "key": a list of them, or one element of it
	end    string // "<" or ">": the upper or lower end of a range that has both
}

// parametersOf reads the parameters of a statement from the cluster, without executing it. If there are not as many as
// the statement says, only the cluster counts.
func (s *Store) parametersOf(ctx context.Context, text string, written []cql.Parameter) (all []parameter, err error) {
	stop := func(info *gocql.QueryInfo) ([]any, error) {
		for _, a := range info.Args {
			p := parameter{name: a.Name, typ: a.TypeInfo, column: a.Name}
			word, rest, ok := strings.Cut(strings.TrimSuffix(a.Name, ")"), "(")
			switch word = strings.ToLower(word); {
			case strings.HasPrefix(a.Name, "["):
				p.column = ""
			case ok && (word == "in" || word == "value" || word == "key"):
				p.in, p.column = word, rest
			}
			all = append(all, p)
		}
		return nil, errPrepared
	}
	if err := s.session.Bind(text, stop).WithContext(ctx).Exec(); !errors.Is(err, errPrepared) {
		return nil, fmt.Errorf("the cluster refuses it: %w", err)
	}
	if len(written) != len(all) {
		return all, nil
	}
	ends := make(map[string]string)
	for i := range all {
		all[i].compared(written[i])
		ends[all[i].column] += strings.Trim(written[i].Op, "=")
	}
	for i := range all {
		if both := ends[all[i].column]; both == "<>" || both == "><" {
			all[i].end = strings.Trim(written[i].Op, "=")
		}
	}
	return all, nil
}

// compared sets what a statement says of a parameter: a parameter with a name of its own has that, not
// the column's.
func (p *parameter) compared(as cql.Parameter) {
	switch {
	case as.Op == "limit":
		p.column = ""
	case as.Token:
		p.column = tokenParameter
	case as.Column == "" || p.in != "":
		return
	default:
		p.column = as.Column
	}
	switch {
	case as.Op == "in" && p.typ.Type() == gocql.TypeList:
		p.in = "in"
	case as.Op == "contains":
		p.in = "value"
	case as.Op == "contains key":
		p.in = "key"
	}
}

// valueOf decodes a value of CQL as a read does; a damaged one stays bytes.
func valueOf(t gocql.TypeInfo, raw []byte) drivers.Value {
	v, err := readTyped(schemas.TypeOfCQL(t.Type().String()), raw)
	if err != nil {
		return drivers.Blob(raw)
	}
	return v
}

// mostWritten is how many characters of a value are written.
const mostWritten = 40

// text writes a parameter's value as CQL would, cut short.
func (p *parameter) text(raw rawValue) string {
	if p.in == "in" && len(raw) >= 4 {
		return fmt.Sprintf("(%d values)", binary.BigEndian.Uint32(raw))
	}
	v := valueOf(p.typ, raw)
	text := string(v.AppendText(nil))
	switch v.Kind() {
	case schemas.Text:
		text = "'" + text + "'"
	case schemas.Blob:
		text = fmt.Sprintf("0x%x", []byte(raw))
	case schemas.Timestamp:
		text = "'" + time.UnixMilli(v.Int64()).UTC().Format(time.RFC3339) + "'"
	}
	if len(text) > mostWritten {
		text = fmt.Sprintf("%.*s… (%d bytes)", mostWritten, text, len(raw))
	}
	return text
}

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

// rows are those that a sample has read.
type rows struct {
	columns []string
	types   []gocql.TypeInfo
	all     [][]rawValue // the last value of each is the token of its partition
}

// same reports whether two rows are of one partition.
func (s *rows) same(i, j int) bool {
	token := len(s.all[i]) - 1
	return string(s.all[i][token]) == string(s.all[j][token])
}

// sample reads rows of the table that have values for all parameters.
func (s *Store) sample(ctx context.Context, of cql.Name, partition []string, parameters []parameter) (*rows, error) {
	r := new(rows)
	var key, selected []string
	for _, column := range partition {
		key = append(key, cql.Quote(column))
	}
	token := "token(" + strings.Join(key, ", ") + ")"
	for _, p := range parameters {
		switch {
		case p.column == "" || slices.Contains(r.columns, p.column):
			continue
		case p.column == tokenParameter:
			selected = append(selected, token)
		case p.in == "" && p.typ.Type() == gocql.TypeTuple:
			return nil, fmt.Errorf("%w: %s is a tuple", drivers.ErrNoValues, p.name)
		default:
			selected = append(selected, cql.Quote(p.column))
		}
		r.columns = append(r.columns, p.column)
	}
	if len(selected) == 0 {
		r.all = [][]rawValue{nil}
		return r, nil
	}
	table := cql.Quote(of.Keyspace) + "." + cql.Quote(of.Name)
	text := fmt.Sprintf("SELECT %s, %s FROM %s PER PARTITION LIMIT %d LIMIT %d",
		strings.Join(selected, ", "), token, table, rowsInOne, sampledRows)
	it := s.session.Query(text).Consistency(s.settings.consistency).WithContext(ctx).Iter()
	for _, col := range it.Columns() {
		r.types = append(r.types, col.TypeInfo)
	}
	row := make([]rawValue, len(selected)+1)
	dest := make([]any, len(row))
	for i := range row {
		dest[i] = &row[i]
	}
	for it.Scan(dest...) {
		if !slices.ContainsFunc(row, func(v rawValue) bool { return v == nil }) {
			r.all = append(r.all, slices.Clone(row))
		}
	}
	if err := it.Close(); err != nil {
		return nil, fmt.Errorf("read values for its parameters: %w", readError(err))
	}
	if len(r.all) == 0 {
		return nil, fmt.Errorf("%w: no row among the first of %s has values of %s", drivers.ErrNoValues, table,
			strings.Join(r.columns, ", "))
	}
	return r, nil
}

// starts returns up to most rows of different partitions, or of fewer if there are no more.
func (s *rows) starts(most int) []int {
	var firsts, others []int
	for i := range s.all {
		if i == 0 || !s.same(i, i-1) {
			firsts = append(firsts, i)
		} else {
			others = append(others, i)
		}
	}
	all := append(firsts, others...)
	return all[:min(len(all), most)]
}

// value returns a parameter's value for a row.
func (p *parameter) value(s *rows, row int) rawValue {
	at := slices.Index(s.columns, p.column)
	switch {
	case at < 0:
		return binary.BigEndian.AppendUint32(nil, limitAsked) // LIMIT, PER PARTITION LIMIT
	case p.in == "in": // the value of the row and a few others
		var elems []drivers.Value
		for i := range s.all {
			v := drivers.Blob(s.all[(row+i)%len(s.all)][at])
			if len(elems) < elementsAsked && !slices.ContainsFunc(elems, v.Equal) {
				elems = append(elems, v)
			}
		}
		return appendValue(nil, drivers.ListOf(elems))
	case p.in != "":
		return element(s.all[row][at], p.in, s.types[at].Type())
	case p.end == "":
		return s.all[row][at]
	}
	best := s.all[row][at]
	for i, other := range s.all {
		if !s.same(i, row) && p.column != tokenParameter {
			continue
		}
		c := compare(valueOf(s.types[at], other[at]), valueOf(s.types[at], best))
		if p.end == "<" && c > 0 || p.end == ">" && c < 0 {
			best = other[at]
		}
	}
	return best
}

// element returns the first element of a collection, or the key or value of the first of a map.
func element(collection rawValue, what string, typ gocql.Type) rawValue {
	m := metadata{rest: collection}
	m.number(4) // of elements
	first, _ := m.value()
	if what == "value" && typ == gocql.TypeMap {
		first, _ = m.value()
	}
	return first
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
