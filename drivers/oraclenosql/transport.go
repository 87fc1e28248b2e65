package oraclenosql

import (
	"context"
	"fmt"
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
	ctx      context.Context         // that of the call under way
	stops    []func()                // free what watches ctx
	requests int64
	took     time.Duration
}

// versionHeader is the header with the versions of proxy and store.
const versionHeader = "X-Nosql-Version"

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.requests++
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
	(*http.Client)(inner.UnsafePointer()).Transport = over
	return nil
}
