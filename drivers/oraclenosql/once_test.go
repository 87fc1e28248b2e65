package oraclenosql

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/launch/live"
)

// cutter carries connections to a server. It lets every nth answer of the server get lost, with
// the connection.
type cutter struct {
	net.Listener
	to      string
	nth     atomic.Int64 // 0: none gets lost
	answers atomic.Int64
}

func newCutter(t *testing.T, to string) *cutter {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, to: to}
	var carrying sync.WaitGroup
	carrying.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			carrying.Go(func() { c.carry(client) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		carrying.Wait()
	})
	return c
}

func (c *cutter) carry(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	go func() {
		defer server.Close()
		io.Copy(server, client)
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		if nth := c.nth.Load(); nth > 0 && c.answers.Add(1)%nth == 0 {
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// TestOnce: where answers get lost, each increment has taken place once if it was acknowledged,
// never if it was refused, and once or not at all if its outcome is unknown. Reads and puts of whole
// rows are sent again, and all succeed.
func TestOnce(t *testing.T) {
	o := liveOptions(t)
	direct, err := open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := drivers.Drop(context.Background(), direct)
		if err := errors.Join(err, direct.Close()); err != nil {
			t.Error(err)
		}
	})
	s := asked(t)
	if err := direct.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	c := newCutter(t, live.Contact(t, engineName))
	o.Contact = []string{c.Addr().String()}
	cut, err := open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := cut.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	statement := func(st drivers.Store, name string) drivers.Statement {
		stmt, err := st.Prepare(t.Context(), s.Pattern(name))
		if err != nil {
			t.Fatal(err)
		}
		return stmt
	}
	next, put, get := statement(cut, "next"), statement(cut, "put"), statement(cut, "get_all")
	c.nth.Store(7)
	const workers, times = 4, 100
	var acknowledged, unknown atomic.Int64
	var working sync.WaitGroup
	for range workers {
		se, err := cut.Session()
		if err != nil {
			t.Fatal(err)
		}
		working.Go(func() {
			defer se.Close()
			user := drivers.Text("ann")
			for range times {
				switch _, err := se.Write(t.Context(), next, []drivers.Value{user, drivers.Bigint(1)}); {
				case err == nil:
					acknowledged.Add(1)
				case errors.Is(err, drivers.ErrUnknown):
					unknown.Add(1)
				default:
					t.Errorf("an increment: %v", err)
				}
				if _, err := se.Write(t.Context(), put, []drivers.Value{user, drivers.Text("ann@example.org")}); err != nil {
					t.Errorf("a put: %v", err)
				}
				if err := read(t, se, get, []drivers.Value{user}); err != nil {
					t.Errorf("a read: %v", err)
				}
			}
		})
	}
	working.Wait()
	if err := cut.Close(); err != nil {
		t.Error(err)
	}
	se, err := direct.Session()
	if err != nil {
		t.Fatal(err)
	}
	r, err := se.Write(t.Context(), statement(direct, "next"), []drivers.Value{drivers.Text("ann"), drivers.Bigint(0)})
	if err != nil {
		t.Fatal(err)
	}
	total, least := r.Row[0].Int64(), acknowledged.Load()
	t.Logf("%d increments were acknowledged, of %d nobody knows, and %d have taken place", least, unknown.Load(), total)
	if total < least || total > least+unknown.Load() || unknown.Load() == 0 || least == 0 {
		t.Errorf("%d increments have taken place", total)
	}
}
