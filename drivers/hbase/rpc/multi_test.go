package rpc

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
)

// failing is a client whose multis end with these errors.
type failing struct {
	gohbase.Client
	errs []error
}

func (f failing) SendBatch(_ context.Context, calls []hrpc.Call) (results []hrpc.RPCResult, ok bool) {
	for _, err := range f.errs {
		results = append(results, hrpc.RPCResult{Error: err})
	}
	return results, false
}

// TestMultiFails: of a multi that fails, what HBase has applied for certain is counted, and its
// outcome is unknown if that of one change is.
func TestMultiFails(t *testing.T) {
	refused := errors.New("HBase Java exception org.apache.hadoop.hbase.RegionTooBusyException:\nbusy")
	lost := errors.New("connection reset")
	for _, c := range []struct {
		name    string
		errs    []error
		done    int
		unknown bool
	}{
		{"one refused", []error{nil, refused, nil}, 2, false},
		{"one lost", []error{nil, lost, nil}, 2, true},
		{"one refused, then one lost", []error{refused, lost, nil}, 1, true},
		{"one lost, then one refused", []error{lost, refused, nil}, 1, true},
		{"nothing sent", []error{refused, gohbase.NotExecutedError, gohbase.NotExecutedError}, 0, false},
	} {
		var calls []*Call
		for range c.errs {
			e := Edit{Table: []byte("t"), Row: []byte("r")}
			e.Do(Put, "m", []byte("q"), []byte("v"))
			calls = append(calls, newMutation(&e, nil, new(pb.MutationProto_Durability)))
		}
		done, err := (&Sender{Client: failing{errs: c.errs}, Timeout: time.Minute}).SendTogether(t.Context(), calls)
		if done != c.done || err == nil || errors.Is(err, drivers.ErrUnknown) != c.unknown {
			t.Errorf("%s: %d done, %v; expected %d done, unknown %v", c.name, done, err, c.done, c.unknown)
		}
	}
}
