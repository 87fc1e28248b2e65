package hbase

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tsuna/gohbase"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mailbench/mailbench/drivers"
)

const onceSchema = `
schema: 1
name: once
tables:
  rows: {partition: [p text], columns: {v: text, l: list<text>}}
  counts: {partition: [p text], columns: {n: bigint, w: text}}
patterns:
  put: {put: rows, columns: v}
  push: {append: rows, columns: l}
  create: {put-if: rows, columns: v, if: absent}
  change: {put-if: rows, columns: v, if: v}
  count: {increment: counts, columns: n}
  number: {increment: counts, columns: n, returns: new}
  counts: {batch: [{run: count, each: x}], atomic: none}
  list: {get: rows, columns: l}
  total: {get: counts, columns: n}
`

// TestSentOnce: a connection is lost after a region server has executed a change, and before
// its answer came. A request that would take effect twice is sent once, and its outcome is unknown. A
// put, an element of a list and an increment are sent again: they have times of their own, and
// a nonce. They take effect once.
func TestSentOnce(t *testing.T) {
	st := openLive(t, newNamespace(), nil)
	schema := parse(t, onceSchema)
	if err := st.Apply(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	var net cutter
	whole := st.regions
	st.regions = gohbase.NewClient(st.contact[0], append(st.clientOptions(func(error) {}), gohbase.RegionDialer(net.dial))...).(client)
	t.Cleanup(whole.Close)
	w := newWorker(t, st, schema)
	list := drivers.ListOf([]drivers.Value{drivers.Text("a")})
	text, one := drivers.Text, drivers.Bigint(1)
	for _, x := range []struct {
		pattern string
		args    []drivers.Value
		calls   []drivers.Call
		again   bool // it may be sent again
	}{
		{"put", []drivers.Value{text("p"), text("v")}, nil, true},
		{"push", []drivers.Value{text("pushed"), list}, nil, true},
		{"count", []drivers.Value{text("one"), one}, nil, true},
		{"counts", nil, []drivers.Call{{Args: []drivers.Value{text("two"), one}}, {Args: []drivers.Value{text("three"), one}}}, true},
		{"number", []drivers.Value{text("four"), one}, nil, false},
		{"create", []drivers.Value{text("q"), text("v")}, nil, false},
		{"change", []drivers.Value{text("p"), text("w"), text("v")}, nil, false},
	} {
		stmt := w.prepare(x.pattern)
		net.arm()
		var err error
		if x.calls != nil {
			err = w.session.Batch(t.Context(), stmt, x.calls)
		} else {
			_, err = w.session.Write(t.Context(), stmt, x.args)
		}
		switch came := net.disarm(); {
		case x.again && (err != nil || came != 2):
			t.Errorf("%s may be sent again: it was sent %d times, %v", x.pattern, came, err)
		case !x.again && (came != 1 || !errors.Is(err, drivers.ErrUnknown)):
			t.Errorf("%s was sent %d times: %v; want once, and an unknown outcome", x.pattern, came, err)
		}
	}
	for _, key := range []string{"one", "two", "three", "four"} {
		w.read("total", func(row []drivers.Value) {
			if n := row[0].Int64(); n != 1 {
				t.Errorf("counter %s is %d after one increment", key, n)
			}
		}, text(key))
	}
	w.read("list", func(row []drivers.Value) {
		if n := len(row[0].Elems()); n != 1 {
			t.Errorf("a list has %d elements after one was appended", n)
		}
	}, text("pushed"))
}

// read reads the one row that a pattern finds.
func (w *worker) read(pattern string, see func(row []drivers.Value), args ...drivers.Value) {
	w.Helper()
	rows := 0
	err := w.session.Read(w.Context(), w.prepare(pattern), args, func(row []drivers.Value) error {
		rows++
		see(row)
		return nil
	})
	if err != nil || rows != 1 {
		w.Errorf("%s %v: %d rows, %v; want one", pattern, args, rows, err)
	}
}

// cutter is between the client and region servers. It counts the changes that are sent, and cuts
// the connection of one when its answer comes.
type cutter struct {
	mu    sync.Mutex
	armed bool // count changes
	cut   bool // cut the connection of the next one
	came  int  // changes that were sent since arm
}

func (c *cutter) arm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed, c.cut, c.came = true, true, 0
}

// disarm returns how many changes were sent since arm.
func (c *cutter) disarm() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = false
	return c.came
}

// changes counts a change, and reports whether its answer is to be lost.
func (c *cutter) changes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.armed {
		return false
	}
	c.came++
	lost := c.cut
	c.cut = false
	return lost
}

// dial returns a connection of TCP: gohbase writes a request in one step, which others would divide.
func (c *cutter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	server, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	go func() {
		defer l.Close()
		if client, err := l.Accept(); err == nil {
			c.serve(client, server)
		}
	}()
	return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
}

// serve passes on what the client and the server write.
func (c *cutter) serve(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	var cut atomic.Bool
	go func() {
		defer client.Close()
		b := make([]byte, 64<<10)
		for {
			n, err := server.Read(b)
			if err != nil || cut.Load() {
				return
			}
			if _, err := client.Write(b[:n]); err != nil {
				return
			}
		}
	}()
	for size := preambleLen; ; size = 0 { // a connection begins with six bytes more
		size += 4
		b := make([]byte, size)
		if _, err := io.ReadFull(client, b); err != nil {
			return
		}
		b = append(b, make([]byte, binary.BigEndian.Uint32(b[size-4:]))...)
		if _, err := io.ReadFull(client, b[size:]); err != nil {
			return
		}
		if slices.Contains([]string{"Mutate", "Multi"}, methodOf(b[size:])) && c.changes() {
			cut.Store(true)
		}
		if _, err := server.Write(b); err != nil {
			return
		}
	}
}

// preambleLen is how long "HBas", the version and the kind of login are.
const preambleLen = 6

// methodOf is the method of a request: field 3 of its header, which has its length before it.
func methodOf(request []byte) string {
	header, _ := protowire.ConsumeBytes(request)
	for len(header) > 0 {
		number, kind, n := protowire.ConsumeTag(header)
		header = header[max(n, 0):]
		if number == 3 && kind == protowire.BytesType {
			name, _ := protowire.ConsumeBytes(header)
			return string(name)
		}
		if n = protowire.ConsumeFieldValue(number, kind, header); n < 0 {
			break
		}
		header = header[n:]
	}
	return ""
}
