package oraclenosql

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/auth"
	"github.com/oracle/nosql-go-sdk/nosqldb/httputil"
	"github.com/oracle/nosql-go-sdk/nosqldb/nosqlerr"
	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers"
)

// slot sends the requests of one goroutine, one at a time, over an SDK client of its own: a client may be used by
// several goroutines only in part (it writes its topology without a lock, client.go setTopologyInfo). The SDK takes no
// context and cannot close its connections, so the client's requests pass through the slot (RoundTrip) to the
// connections of the store. The slot decides which requests are sent again (nosqldb.RetryHandler): the SDK's own
// handler repeats every request, so that an increment whose answer was lost would be applied twice.
type slot struct {
	store  *Store
	client *nosqldb.Client
	meter  *drivers.Meter // counts the requests; nil: nothing does
	token  string         // what the last request said of its user
	row    []drivers.Value

	// The call under way.
	ctx context.Context
	// again: it is a read, or a put of a whole row without a condition.
	again bool
	// uncertain: an attempt may have been applied, so a later refusal proves nothing.
	uncertain bool
	repeats   bool // its next request was sent before
	disturbed bool // others have changed the rows of a write, which is made again
}

var (
	_ http.RoundTripper    = (*slot)(nil)
	_ nosqldb.RetryHandler = (*slot)(nil)
)

// newSlot returns a slot. meter counts its requests, if it is not nil.
func (s *Store) newSlot(meter *drivers.Meter) (*slot, error) {
	endpoint := s.endpoints[int(s.clients.Add(1)-1)%len(s.endpoints)]
	sl := &slot{store: s, meter: meter}
	c := nosqldb.Config{
		Mode: "onprem", Endpoint: endpoint, RetryHandler: sl,
		LoggingConfig: nosqldb.LoggingConfig{DisableLogging: true},
		RequestConfig: nosqldb.RequestConfig{
			RequestTimeout: s.timeout, TableRequestTimeout: s.timeout, Consistency: s.consistency,
		},
	}
	if s.login != nil {
		c.AuthorizationProvider = s.login
	}
	var err error
	if sl.client, err = nosqldb.NewClient(c); err != nil {
		return nil, fmt.Errorf("client of %s: %w", endpoint, err)
	}
	return sl, carry(sl.client.HTTPClient, sl)
}

// call says what an SDK call may do.
type call uint8

const (
	again  call = 1 << iota // it may be sent twice
	writes                  // its errors say what became of it
)

// send sends the requests of one SDK call. All calls of a slot go through it. do gets the time that the call has left.
func send[R any](sl *slot, ctx context.Context, what call, do func(left time.Duration) (R, error)) (R, error) {
	sl.ctx, sl.again, sl.uncertain, sl.repeats = ctx, what&again != 0, false, false
	defer func() { sl.ctx = nil }()
	left := sl.store.timeout
	if at, ok := ctx.Deadline(); ok {
		left = max(min(left, time.Until(at)), time.Millisecond)
	}
	r, err := do(left)
	if l := sl.store.login; l != nil {
		err = l.Hide(err, strings.TrimPrefix(sl.token, auth.BearerToken+" "))
	}
	return r, sl.failure(what, err)
}

// pageKB is how many KB one request of a long read returns at most.
const pageKB = 1024

// request returns a request for a query with the values of its variables.
func (sl *slot) request(q *query, in *inputs) (*nosqldb.QueryRequest, error) {
	own := *q.prepared
	for _, v := range q.variables {
		if err := own.SetVariable(v.name, v.value(in)); err != nil {
			return nil, err
		}
	}
	return &nosqldb.QueryRequest{PreparedStatement: &own, Durability: sl.store.durability, MaxReadKB: pageKB}, nil
}

// query sends a request for a query, and returns the rows of the answer.
func (sl *slot) query(ctx context.Context, request *nosqldb.QueryRequest, what call) ([]*types.MapValue, error) {
	return send(sl, ctx, what, func(left time.Duration) ([]*types.MapValue, error) {
		request.Timeout = left
		answer, err := sl.client.Query(request)
		if err != nil {
			return nil, err
		}
		return answer.GetResults()
	})
}

// RoundTrip implements http.RoundTripper.
func (sl *slot) RoundTrip(r *http.Request) (*http.Response, error) {
	if sl.repeats || sl.disturbed {
		sl.meter.Count(drivers.Cost{Retries: 1})
	} else {
		sl.meter.Count(drivers.Cost{Requests: 1, Unreported: 1}) // Oracle does not report how many rows it scanned for it
	}
	sl.repeats, sl.token = false, r.Header.Get("Authorization")
	begin := time.Now()
	if end, ok := r.Context().Deadline(); ok && sl.ctx != nil {
		ctx, cancel := context.WithDeadline(sl.ctx, end) // the SDK's context has nothing but the deadline
		defer cancel()
		r = r.WithContext(ctx)
	}
	answer, err := bounding{sl.store.base}.RoundTrip(r)
	sl.meter.Did(func(w *drivers.Work) { w.Time += time.Since(begin) })
	if err == nil && sl.store.version.Load() == nil {
		if v := answer.Header.Get(versionHeader); v != "" {
			sl.store.version.Store(&v)
		}
	}
	_, final := errors.AsType[tls.RecordHeaderError](err) // no TLS there
	final = final || errors.Is(err, errAnswer)
	if err != nil && !final && r.Context().Err() == nil && classify(err) == drivers.ErrUnknown {
		err = lost{err}
	}
	return answer, err
}

// lost is the error of a request whose connection was lost. The SDK calls its RetryHandler for temporary errors only.
type lost struct{ error }

func (lost) Temporary() bool { return true }

func (l lost) Unwrap() error { return l.error }

// versionHeader is the header with the versions of proxy and store.
const versionHeader = "X-Nosql-Version"

// MaxNumRetries implements nosqldb.RetryHandler.
func (sl *slot) MaxNumRetries() uint { return uint(sl.store.retries) }

// ShouldRetry implements nosqldb.RetryHandler. The SDK calls it for errors that may pass.
func (sl *slot) ShouldRetry(_ nosqldb.Request, times uint, err error) bool {
	if classify(err) == drivers.ErrTooLarge {
		return false
	}
	refused := refusedForNow(err)
	if is(err, nosqlerr.RetryAuthentication) && sl.store.login != nil {
		sl.store.login.refused(sl.token) // the next attempt logs in again
	}
	if throttles(err) {
		sl.meter.Count(drivers.Cost{Throttled: 1})
	}
	if !refused {
		sl.uncertain = true
	}
	sl.repeats = int(times) < sl.store.retries && (refused || sl.again)
	return sl.repeats
}

// firstDelay is the mean time before the first repetition. Each further one takes twice
// as long, up to maxDelay.
const (
	firstDelay = 20 * time.Millisecond
	maxDelay   = time.Second
)

// Delay implements nosqldb.RetryHandler.
func (sl *slot) Delay(_ nosqldb.Request, times uint, err error) {
	d := min(firstDelay<<min(times, 10), maxDelay)
	d = d/2 + rand.N(d)
	time.Sleep(d)
	if throttles(err) {
		sl.meter.Count(drivers.Cost{Backoff: d})
	}
}

// classify says what became of a write whose request returned an error: nil if it was refused or never sent,
// drivers.ErrTooLarge if it was refused for its size, or drivers.ErrUnknown unless the error proves a refusal.
func classify(err error) error {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" || errors.Is(err, errLogin) {
		return nil
	}
	e, ok := errors.AsType[*nosqlerr.Error](err)
	if !ok {
		if strings.Contains(err.Error(), "error response: 413") { // the proxy takes 64 MiB
			return drivers.ErrTooLarge
		}
		return drivers.ErrUnknown
	}
	if strings.Contains(err.Error(), "exceeds maximum key permissible length") { // a ServerError, "too busy"
		return drivers.ErrTooLarge
	}
	switch e.Code {
	case nosqlerr.RowSizeLimitExceeded, nosqlerr.KeySizeLimitExceeded, nosqlerr.BatchOpNumberLimitExceeded,
		nosqlerr.RequestSizeLimitExceeded:
		return drivers.ErrTooLarge
	case nosqlerr.RequestTimeout:
		if e.Cause != nil && refusedForNow(e.Cause) {
			return nil
		}
		return drivers.ErrUnknown
	case nosqlerr.ServerError, nosqlerr.UnknownError, nosqlerr.IllegalState, nosqlerr.ServiceUnavailable:
		return drivers.ErrUnknown
	}
	return nil
}

// failure returns the error of a call that ended with err.
func (sl *slot) failure(what call, err error) error {
	ended := sl.ctx.Err()
	if e, ok := errors.AsType[*nosqlerr.Error](err); ok { // of the SDK, at the end of the time for all repetitions
		if cause, ok := errors.AsType[lost](e.Cause); ok {
			err = fmt.Errorf("no answer in time: %w", cause)
		}
	}
	switch {
	case err == nil:
		return nil
	case what&writes == 0:
		return cmp.Or(ended, err)
	}
	became := classify(err)
	if sl.uncertain { // an attempt before may have been applied
		became = drivers.ErrUnknown
	}
	switch {
	case became == nil:
		return err
	case became == drivers.ErrUnknown:
		err = cmp.Or(ended, err)
	}
	return fmt.Errorf("%w: %w", became, err)
}

// is reports whether an error is the server's, with one of the codes.
func is(err error, codes ...nosqlerr.ErrorCode) bool {
	e, ok := errors.AsType[*nosqlerr.Error](err)
	return ok && slices.Contains(codes, e.Code)
}

// throttles reports whether a request was refused because of a rate limit.
func throttles(err error) bool {
	return is(err, nosqlerr.ReadLimitExceeded, nosqlerr.WriteLimitExceeded, nosqlerr.OperationLimitExceeded)
}

// refusedForNow reports whether a request was refused before it did anything, for a
// reason that may pass.
func refusedForNow(err error) bool {
	return throttles(err) || is(err,
		nosqlerr.TableBusy, nosqlerr.TableNotReady, nosqlerr.SecurityInfoUnavailable, nosqlerr.RetryAuthentication)
}

// carry makes a client of the SDK send its requests over a transport. The client's own HTTP
// client is in a field that the SDK does not export, of which carry reads the pointer. It follows no redirects.
func carry(c *httputil.HTTPClient, over http.RoundTripper) error {
	inner := reflect.ValueOf(c).Elem().FieldByName("client")
	if !inner.IsValid() || inner.Type() != reflect.TypeFor[*http.Client]() {
		return fmt.Errorf("this version of the SDK keeps its HTTP client elsewhere: the driver is written for v1.4.7")
	}
	client := (*http.Client)(inner.UnsafePointer())
	client.Transport = over
	client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		return fmt.Errorf("%w: %s redirects to %s://%s, and passwords and rows go only to hosts that you name; use --contact with "+
			"the address of the proxy itself", errAnswer, via[0].URL.Host, r.URL.Scheme, r.URL.Host)
	}
	return nil
}

// Bounds of answers: to calls (a request has at most 64 MiB), to logins and other texts, and of errors. The
// SDK reads all of an answer into memory, and repeats errors.
const (
	mostAnswer = 64 << 20
	mostText   = 64 << 10
	mostError  = 4 << 10
)

// errAnswer is an answer that the driver does not accept.
var errAnswer = errors.New("answer rejected")

// bounding reads the answers of all requests into memory, as the SDK would, as far as they are within the bounds.
type bounding struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounding) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	most, failed := int64(mostAnswer), answer.StatusCode != http.StatusOK
	if failed {
		most = mostError
	} else if r.Method == http.MethodGet {
		most = mostText
	}
	var body []byte
	switch n := answer.ContentLength; {
	case 0 <= n && n <= most:
		body = make([]byte, n)
		_, err = io.ReadFull(answer.Body, body)
	case failed || n < 0: // of an error the beginning is enough
		body, err = io.ReadAll(io.LimitReader(answer.Body, most+1))
	}
	if err != nil {
		return nil, err
	}
	if !failed && max(answer.ContentLength, int64(len(body))) > most {
		return nil, fmt.Errorf("%w: %s answers with more than %d KB (server %q, content %q), and is no proxy of Oracle NoSQL; check --contact",
			errAnswer, r.URL.Host, most/1000, answer.Header.Get("Server"), answer.Header.Get("Content-Type"))
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}
