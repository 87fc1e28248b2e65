package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"github.com/tsuna/gohbase/region"

	"github.com/mailbench/mailbench/drivers"
)

// TestSentTwice holds calls that must not take effect twice to being sent once,
// unless the server has refused them.
func TestSentTwice(t *testing.T) {
	lost := errors.New("connection reset")
	for _, c := range []struct {
		name     string
		once     bool
		failed   error // of the connection that the first sending went over
		answered bool  // the first sending
		want     error
	}{
		{"a put whose connection was lost", false, lost, false, nil},
		{"a put whose answer cannot be read", false, nil, true, nil},
		{"a condition whose connection was lost", true, lost, false, errLost},
		{"a condition whose answer cannot be read", true, nil, true, errLost},
		{"a condition that a region server refused", true, nil, false, nil},
	} {
		conn := &fakeConn{}
		at := &fakeRegion{client: conn}
		sendings := 0
		sl := newFake(sendFunc(func(own *Call) error {
			for range 2 { // as gohbase does
				own.SetRegion(at)
				if err := own.Context().Err(); err != nil {
					return err
				}
				own.ToProto()
				sendings++
				if c.answered {
					own.NewResponse()
				}
				conn.failed = c.failed
				at = &fakeRegion{client: &fakeConn{}}
			}
			return nil
		}), time.Minute)
		e := Edit{Table: []byte("t"), Row: []byte("r")}
		e.Do(Put, "m", []byte("q"), []byte("v"))
		change := newMutation(&e, nil, new(pb.MutationProto_Durability))
		change.once = c.once
		err := sl.Send(t.Context(), change)
		if c.want == nil && (err != nil || sendings != 2) {
			t.Errorf("%s: sent %d times, %v; expected twice", c.name, sendings, err)
		}
		if c.want != nil && (!errors.Is(err, c.want) || !errors.Is(err, drivers.ErrUnknown) || sendings != 1) {
			t.Errorf("%s: sent %d times, %v; expected once, and %v", c.name, sendings, err, drivers.ErrUnknown)
		}
	}
}

// TestOnce: changes that would take effect twice are those that are sent once.
func TestOnce(t *testing.T) {
	put := func(e *Edit) { e.Do(Put, "m", []byte("p"), []byte("v")) }
	drop := func(e *Edit) { e.Do(Delete, "m", []byte("d"), nil) }
	count := func(e *Edit) { e.Do(Increment, "m", []byte("n"), eight(1)) }
	number := func(e *Edit) { e.Once = true }
	for _, c := range []struct {
		name      string
		parts     []func(*Edit)
		condition *pb.Condition
		once      bool
	}{
		{"a put", []func(*Edit){put}, nil, false},
		{"a put and a delete", []func(*Edit){put, drop}, nil, false},
		{"an increment, which has a nonce", []func(*Edit){count}, nil, false},
		{"an increment that returns its number", []func(*Edit){count, number}, nil, true},
		{"an increment and a put", []func(*Edit){count, put}, nil, true},
		{"a put with a condition", []func(*Edit){put}, new(pb.Condition), true},
		{"a put and a delete with a condition", []func(*Edit){put, drop}, new(pb.Condition), true},
	} {
		e := Edit{Table: []byte("t"), Row: []byte("r")}
		for _, part := range c.parts {
			part(&e)
		}
		if change := newMutation(&e, c.condition, new(pb.MutationProto_Durability)); change.once != c.once {
			t.Errorf("%s is sent once: %v, want %v", c.name, change.once, c.once)
		}
	}
}

// TestTimeout bounds calls that HBase does not answer, and says of writes which
// were sent that their outcome is unknown.
func TestTimeout(t *testing.T) {
	send := false
	sl := newFake(sendFunc(func(c *Call) error {
		c.SetRegion(&fakeRegion{client: &fakeConn{}})
		if send {
			c.ToProto()
		}
		<-c.Context().Done()
		return c.Context().Err()
	}), 10*time.Millisecond)
	for _, c := range []struct {
		method        string
		send, unknown bool
	}{{"Get", true, false}, {"Mutate", true, true}, {"Mutate", false, false}} {
		send = c.send
		err := sl.Send(t.Context(), NewCall(c.method, nil, nil))
		if !errors.Is(err, ErrTimeout) || !drivers.IsOutage(err) || errors.Is(err, drivers.ErrUnknown) != c.unknown {
			t.Errorf("%s that was sent (%v) and not answered: %v; outcome unknown should be %v", c.method, c.send, err,
				c.unknown)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	send = true
	go cancel()
	if err := sl.Send(ctx, NewCall("Mutate", nil, nil)); !errors.Is(err, context.Canceled) || !errors.Is(err, drivers.ErrUnknown) {
		t.Errorf("a write that was canceled on its way: %v", err)
	}
}

// TestErrors: answers of HBase have the right error.
func TestErrors(t *testing.T) {
	java := func(class, message string) error {
		return fmt.Errorf("HBase Java exception %s:\n%s: %s\n\tat org.apache.hadoop.hbase.X(X.java:1)\n", class, class,
			message)
	}
	const pkg = "org.apache.hadoop.hbase."
	for _, c := range []struct {
		err    error
		write  bool
		is     error
		isNot  error
		prints string
	}{
		{java(pkg+"DoNotRetryIOException", "Cell with size 10485800 exceeds limit of 10485760 bytes"), true, drivers.ErrTooLarge, drivers.ErrUnknown, "exceeds limit"},
		{java(pkg+"DoNotRetryIOException", "no"), true, nil, drivers.ErrUnknown, "HBase: DoNotRetryIOException: no"},
		{java(pkg+"regionserver.NoSuchColumnFamilyException", "family x"), true, nil, drivers.ErrUnknown, "family x"},
		{java("java.io.IOException", "sync of the log failed"), true, drivers.ErrUnknown, nil, "sync of the log failed"},
		{java("java.io.IOException", "sync of the log failed"), false, nil, drivers.ErrUnknown, "HBase: IOException"},
		{region.ServerError{}, true, drivers.ErrUnknown, nil, ""},
		{gohbase.TableNotFound, true, nil, drivers.ErrUnknown, "apply its schema first"},
		{gohbase.ErrClientClosed, false, drivers.ErrClosed, drivers.ErrUnknown, ""},
	} {
		call := NewCall("Get", nil, nil)
		call.Get, _ = hrpc.NewGet(t.Context(), nil, nil)
		call.sent = true
		if c.write {
			call.method = "Mutate"
		}
		err := explain(t.Context(), call, c.err)
		if c.is != nil && !errors.Is(err, c.is) || c.isNot != nil && errors.Is(err, c.isNot) || !strings.Contains(err.Error(), c.prints) {
			t.Errorf("%v\nis explained as: %v", c.err, err)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("an error of several lines: %q", err)
		}
	}
	scan := NewCall("Scan", nil, nil)
	scan.Get, _ = hrpc.NewGet(t.Context(), nil, nil)
	if !isOne(explain(t.Context(), scan, java(pkg+"UnknownScannerException", "gone")), scannerGone) {
		t.Error("a scanner that is gone is not reported")
	}
}
