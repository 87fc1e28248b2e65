package oraclenosql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb/httputil"
)

// transport carries the requests of one SDK client. The SDK takes no context and cannot
// close its connections, so each client gets a transport of its own over the connections
// of the store. Every request passes here.
type transport struct {
	base     http.RoundTripper
	version  *atomic.Pointer[string] // what the server says of itself
	retry    *retries
	ctx      context.Context // that of the call under way
	stops    []func()        // free what watches ctx
	requests int64
	took     time.Duration
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

// bounding bounds the answers of all requests.
type bounding struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounding) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body := &boundedBody{ReadCloser: answer.Body, left: mostAnswer}
	switch {
	case answer.StatusCode != http.StatusOK:
		body.left, answer.Body = mostError, body
		return answer, nil
	case r.Method == http.MethodGet:
		body.left = mostText
	}
	body.long = fmt.Errorf("%w: %s answers with more than %d KB (server %q, content %q), and is no proxy of Oracle NoSQL; check --contact",
		errAnswer, r.URL.Host, body.left/1000, answer.Header.Get("Server"), answer.Header.Get("Content-Type"))
	if answer.Body = body; answer.ContentLength > body.left {
		answer.Body.Close()
		return nil, body.long
	}
	return answer, nil
}

// boundedBody is the body of an answer. After left bytes it ends, with the error long if there is one.
type boundedBody struct {
	io.ReadCloser
	left int64
	long error
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return max(0, n+int(b.left)), cmp.Or(b.long, io.EOF)
	}
	return n, err
}

// noRedirect refuses redirects: the password and rows go to the hosts that the user named, and to no other.
func noRedirect(r *http.Request, via []*http.Request) error {
	return fmt.Errorf("%w: %s redirects to %s://%s, and passwords and rows go only to hosts that you name; use --contact with "+
		"the address of the proxy itself", errAnswer, via[0].URL.Host, r.URL.Scheme, r.URL.Host)
}

// versionHeader is the header with the versions of proxy and store.
const versionHeader = "X-Nosql-Version"

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.requests++
	t.retry.count()
	begin := time.Now()
	if end, ok := r.Context().Deadline(); ok && t.ctx != nil && t.ctx.Done() != nil {
		ctx, cancel := context.WithDeadline(t.ctx, end) // the SDK's context has nothing but the deadline
		t.stops = append(t.stops, cancel)
		r = r.WithContext(ctx)
	}
	answer, err := t.base.RoundTrip(r)
	t.took += time.Since(begin)
	if err == nil && t.version.Load() == nil {
		if v := answer.Header.Get(versionHeader); v != "" {
			t.version.Store(&v)
		}
	}
	return answer, err
}

// begin makes the requests that follow end with the context.
func (t *transport) begin(ctx context.Context) { t.ctx = ctx }

// end ends that.
func (t *transport) end() {
	for _, stop := range t.stops {
		stop()
	}
	t.ctx, t.stops = nil, t.stops[:0]
}

// carry makes a client of the SDK send its requests over a transport. The client's own HTTP
// client is in a field that the SDK does not export, of which carry reads the pointer.
func carry(c *httputil.HTTPClient, over http.RoundTripper) error {
	inner := reflect.ValueOf(c).Elem().FieldByName("client")
	if !inner.IsValid() || inner.Type() != reflect.TypeFor[*http.Client]() {
		return fmt.Errorf("this version of the SDK keeps its HTTP client elsewhere: the driver is written for v1.4.7")
	}
	client := (*http.Client)(inner.UnsafePointer())
	client.Transport, client.CheckRedirect = bounding{over}, noRedirect
	return nil
}
