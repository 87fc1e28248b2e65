package oraclenosql

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/nosqlerr"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// inTurn returns an answer for each request of the operations, in turn; after them the usual ones.
func inTurn(ops string, answers ...any) func(string, object) any {
	return func(asked string, _ object) any {
		if !slices.Contains(strings.Fields(ops), asked) || len(answers) == 0 {
			return nil
		}
		answer := answers[0]
		answers = answers[1:]
		return answer
	}
}

func failure(code nosqlerr.ErrorCode) object {
	return object{nosqldb.ERROR_CODE: int(code), nosqldb.EXCEPTION: "as the test asked"}
}

// TestAnswers tests what becomes of each kind of answer: the operations that are sent, whether
// a write was applied, its error, and what counts as sent again.
func TestAnswers(t *testing.T) {
	noRow, one := object{nosqldb.QUERY_RESULTS: []any{object{"NumRowsUpdated": 0}}}, object{}
	longKey := failure(nosqlerr.ServerError)
	longKey[nosqldb.EXCEPTION] = "Server too busy: Serialized key length:33005 exceeds maximum key permissible length:32767"
	refused := object{nosqldb.WM_FAILURE: object{nosqldb.WM_FAIL_INDEX: 0}}
	for _, c := range []struct {
		name, pattern string
		op            string // requests of these operations get the answers in turn
		answers       []any
		sent          string // the operations that are sent
		not           bool   // the write is not applied, without an error
		retries       int64
		want          error
		refused       bool // another error
	}{
		{name: "put", pattern: "put", sent: "Put"},
		{name: "there is a row", pattern: "create", op: "PutIfAbsent", answers: []any{one}, sent: "PutIfAbsent", not: true},
		{name: "no row to update", pattern: "put_some", op: "Query", answers: []any{noRow}, sent: "Query PutIfAbsent"},
		{
			name: "others create the row meanwhile", pattern: "put_some", op: "Query PutIfAbsent", answers: []any{noRow, one},
			sent: "Query PutIfAbsent Query", retries: 1,
		},
		{name: "no row to remove from", pattern: "drop_reader", op: "Query", answers: []any{noRow}, sent: "Query"},
		{name: "a condition that does not hold", pattern: "change", op: "Query", answers: []any{noRow}, sent: "Query", not: true},
		{
			name: "a batch whose row changed", pattern: "mark", op: "WriteMultiple", answers: []any{refused},
			sent: "Get WriteMultiple Get WriteMultiple", retries: 2,
		},
		{name: "a put's answer is lost", pattern: "put", op: "Put", answers: []any{hangUp{}}, sent: "Put Put", retries: 1},
		{
			name: "a put's answer is lost, and it is refused then", pattern: "put", op: "Put",
			answers: []any{hangUp{}, failure(nosqlerr.IllegalArgument)}, sent: "Put Put", retries: 1, want: drivers.ErrUnknown,
		},
		{name: "a read's answer is lost", pattern: "get_all", op: "Get", answers: []any{hangUp{}, hangUp{}}, sent: "Get Get Get", retries: 2},
		{name: "half of a read's answer is lost", pattern: "get_all", op: "Get", answers: []any{half{}}, sent: "Get Get", retries: 1},
		{name: "half of an add's answer is lost", pattern: "count", op: "Query", answers: []any{half{}}, sent: "Query", want: drivers.ErrUnknown},
		{name: "an add's answer is lost", pattern: "count", op: "Query", answers: []any{hangUp{}}, sent: "Query", want: drivers.ErrUnknown},
		{name: "a delete's answer is lost", pattern: "drop", op: "Delete", answers: []any{hangUp{}}, sent: "Delete", want: drivers.ErrUnknown},
		{name: "a condition's answer is lost", pattern: "create", op: "PutIfAbsent", answers: []any{hangUp{}}, sent: "PutIfAbsent", want: drivers.ErrUnknown},
		{name: "a batch's answer is lost", pattern: "move", op: "WriteMultiple", answers: []any{hangUp{}}, sent: "WriteMultiple", want: drivers.ErrUnknown},
		{name: "a list's answer is lost", pattern: "add_reader", op: "Query", answers: []any{hangUp{}}, sent: "Query", want: drivers.ErrUnknown},
		{name: "the server fails under an add", pattern: "count", op: "Query", answers: []any{failure(nosqlerr.ServerError)}, sent: "Query", want: drivers.ErrUnknown},
		{name: "the server fails under a read", pattern: "get_all", op: "Get", answers: []any{failure(nosqlerr.ServerError)}, sent: "Get Get", retries: 1},
		{name: "throttled add", pattern: "count", op: "Query", answers: []any{failure(nosqlerr.WriteLimitExceeded), failure(nosqlerr.WriteLimitExceeded)}, sent: "Query Query Query", retries: 2},
		{name: "table busy", pattern: "move", op: "WriteMultiple", answers: []any{failure(nosqlerr.TableBusy)}, sent: "WriteMultiple WriteMultiple", retries: 1},
		{name: "a row too large", pattern: "put", op: "Put", answers: []any{failure(nosqlerr.RowSizeLimitExceeded)}, sent: "Put", want: drivers.ErrTooLarge},
		{name: "a key too large", pattern: "put", op: "Put", answers: []any{longKey}, sent: "Put", want: drivers.ErrTooLarge},
		{name: "a request too large", pattern: "put", op: "Put", answers: []any{status(413)}, sent: "Put", want: drivers.ErrTooLarge},
		{name: "an illegal argument", pattern: "count", op: "Query", answers: []any{failure(nosqlerr.IllegalArgument)}, sent: "Query", refused: true},
		{
			name: "a delete in two steps fails in the second", pattern: "drop_folder", op: "MultiDelete",
			answers: []any{object{nosqldb.NUM_DELETIONS: 9, nosqldb.CONTINUATION_KEY: []byte("on")}, failure(nosqlerr.IllegalArgument)},
			sent:    "MultiDelete MultiDelete", want: drivers.ErrUnknown,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, p := asked(t), newProxy(t)
			st := p.store(t, s, nil)
			se, err := st.session()
			if err != nil {
				t.Fatal(err)
			}
			stmt, err := st.Prepare(t.Context(), s.Pattern(c.pattern))
			if err != nil {
				t.Fatal(err)
			}
			p.answers(inTurn(c.op, c.answers...))
			applied, began := true, time.Now()
			if k := stmt.Pattern().Kind; k.Reads() || k == schemas.Batch {
				err = runExample(t, se, stmt)
			} else {
				var r drivers.Result
				r, err = se.Write(t.Context(), stmt, drivers.Example(stmt.Pattern()))
				applied = r.Applied
			}
			if took := time.Since(began); strings.HasSuffix(c.name, "is lost") && took < time.Duration(c.retries)*firstDelay/2 {
				t.Errorf("sent again after %v", took)
			}
			right := errors.Is(err, c.want)
			if c.refused {
				right = err != nil && !errors.Is(err, drivers.ErrUnknown)
			}
			if !right {
				t.Errorf("error %v, expected %v; refused: %v", err, c.want, c.refused)
			}
			if err == nil && applied == c.not {
				t.Errorf("applied: %v", applied)
			}
			var sent []string
			for _, line := range p.take() {
				op, _, _ := strings.Cut(line, " ")
				sent = append(sent, op)
			}
			if got := strings.Join(sent, " "); got != c.sent {
				t.Errorf("sent %s, expected %s", got, c.sent)
			}
			cost := se.Take()
			if n := int64(len(sent)); cost.Retries != c.retries || cost.Requests != n-c.retries || cost.Unreported != n-c.retries {
				t.Errorf("%d of %d requests count as sent again, expected %d: %+v", cost.Retries, n, c.retries, cost)
			}
			throttled := int64(0)
			if strings.HasPrefix(c.name, "throttled") {
				throttled = c.retries
			}
			if cost.Throttled != throttled || (cost.Backoff > 0) != (throttled > 0) {
				t.Errorf("%d requests count as throttled, with %v waited; expected %d", cost.Throttled, cost.Backoff, throttled)
			}
		})
	}
}

// TestSlow: a request ends with its timeout or its context, and what became of a write is then
// unknown.
func TestSlow(t *testing.T) {
	s, p := asked(t), newProxy(t)
	st := p.store(t, s, map[string]string{"timeout": "200ms"})
	se, err := st.Session()
	if err != nil {
		t.Fatal(err)
	}
	count, err := st.Prepare(t.Context(), s.Pattern("count"))
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	defer close(release)
	p.answers(func(op string, _ object) any {
		if op == "Query" {
			<-release
		}
		return nil
	})
	args := drivers.Example(count.Pattern())
	begin := time.Now()
	if _, err := se.Write(t.Context(), count, args); !errors.Is(err, drivers.ErrUnknown) {
		t.Errorf("an add without an answer: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := se.Write(ctx, count, args); !errors.Is(err, drivers.ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("an add that was canceled: %v", err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("both took %v, with a timeout of 200 ms", took)
	}
	if n := len(p.take()); n != 2 {
		t.Errorf("%d requests, expected 2: an add is never sent again", n)
	}
}

// TestVersion: results say the versions that the proxy reports.
func TestVersion(t *testing.T) {
	st := newProxy(t).store(t, asked(t), nil)
	if got, want := st.Capabilities().Version, "oraclenosql 9.8.6, proxy 9.8.7"; got != want {
		t.Errorf("version %q, want %q", got, want)
	}
	if e := st.Observe().Settings; e["server_version_kv"] != "9.8.6" || e["sync"] != "no_sync" || e["durability"] != "memory" {
		t.Errorf("settings %v", e)
	}
}

// TestTwoSessions: sessions that use one statement do not see each other's variables.
func TestTwoSessions(t *testing.T) {
	s, p := asked(t), newProxy(t)
	st := p.store(t, s, nil)
	stmt, err := st.Prepare(t.Context(), s.Pattern("by_address"))
	if err != nil {
		t.Fatal(err)
	}
	var requests []*nosqldb.QueryRequest
	for _, address := range []string{"first", "second"} {
		se, err := st.session()
		if err != nil {
			t.Fatal(err)
		}
		r, err := se.request(stmt.(*statement).queries[0], &inputs{args: []drivers.Value{drivers.Text(address)}})
		if err != nil {
			t.Fatal(err)
		}
		requests = append(requests, r)
	}
	p.take()
	if _, err := st.ddl.client.Query(requests[0]); err != nil {
		t.Fatal(err)
	}
	if sent := p.take(); len(sent) != 1 || !strings.Contains(sent[0], `{$address:"first"}`) {
		t.Errorf("the first session sends %q", sent)
	}
}

// TestParallelOrder: parts of a parallel batch that write one row keep their order.
func TestParallelOrder(t *testing.T) {
	s, p := asked(t), newProxy(t)
	st := p.store(t, s, nil)
	se, err := st.Session()
	if err != nil {
		t.Fatal(err)
	}
	stmt, err := st.Prepare(t.Context(), s.Pattern("abreast"))
	if err != nil {
		t.Fatal(err)
	}
	p.answers(func(op string, payload object) any {
		if op == "Put" && payload[nosqldb.VALUE].(object)["address"] == "0" {
			time.Sleep(20 * time.Millisecond) // the others would overtake it
		}
		return nil
	})
	var calls []drivers.Call
	for _, address := range "01234567" {
		calls = append(calls, drivers.Call{Args: []drivers.Value{drivers.Text("ann"), drivers.Text(string(address))}})
	}
	p.take()
	if err := se.Batch(t.Context(), stmt, calls); err != nil {
		t.Fatal(err)
	}
	for i, line := range p.take() {
		if !strings.Contains(line, `address:"`+string(rune('0'+i))+`"`) {
			t.Errorf("request %d is %s", i, line)
		}
	}
}

// The time for all repetitions of a read may end while connections are lost: that is an outage, and no finding about
// the data.
func TestLostUntilTheTimeEnds(t *testing.T) {
	sl := &slot{ctx: t.Context()}
	reset := &url.Error{Op: "Post", URL: "http://localhost", Err: lost{&net.OpError{Op: "read", Err: syscall.ECONNRESET}}}
	err := sl.failure(again, nosqlerr.NewWithCause(nosqlerr.RequestTimeout, reset, "no time left"))
	if !drivers.IsOutage(err) || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v is no outage", err)
	}
}
